"""Settings by layers: `mayfly.toml`, then the environment, then flags. One name and one reading for all three.

A value is read as its field in `crawl.settings` is declared, or in `cluster.settings`: those stand in the file's table
`[cluster]`, are `MAYFLY_CLUSTER_…` in the environment, and flags of `mayfly cluster up` alone. What does not exist is
refused with the nearest that does; what is wrong is refused with where it stands and what would be right.
"""

from __future__ import annotations

import difflib
import math
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mayfly.cli import words
from mayfly.cluster.settings import ClusterSettings
from mayfly.core.estimates import ESTIMATORS
from mayfly.core.policies import POLICIES
from mayfly.crawl.settings import Settings
from mayfly.errors import UsageError
from mayfly.fetch.agent import user_agent
from mayfly.store.address import is_postgres, without_password
from mayfly.store.postgres_schema import MOST_SHARDS

Origin: TypeAlias = Literal["default", "file", "environment", "flag"]
Value: TypeAlias = str | float | int | bool | tuple[str, ...]

FILE = "mayfly.toml"
PREFIX = "MAYFLY_"
_NO_SETTINGS = {"MAYFLY_HOME"}  # variables of this name that say something else
_TABLE = "cluster"
_IN_ORDER = ("fetch-seconds", "margin", "lease")  # the shorter first
_AUTH = ("token", "disabled")
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")

# Settings that must lie within bounds other than "0 or more": the least (None: more than 0) and the most.
_RANGES: dict[str, tuple[float | None, float]] = {
    "budget": (None, math.inf),
    "replan": (None, math.inf),
    "log_push": (None, math.inf),
    "bin": (None, math.inf),
    "history": (3, 10),
    "probe": (0, 1),
    "find_every": (None, math.inf),
    "most_sources": (1, math.inf),
    "other_hosts": (0, 1),
    "keep_history": (None, math.inf),
    "keep_text": (None, math.inf),
    "keep_pages": (None, math.inf),
    "keep_warc": (None, math.inf),
    "warc_gigabytes": (None, math.inf),
    "connections": (1, math.inf),
    "readers": (1, math.inf),
    "fetch_seconds": (None, math.inf),
    "body_megabytes": (None, math.inf),
    "clicks_per_second": (None, math.inf),
    "shards": (1, MOST_SHARDS),
    "lease": (None, math.inf),
    "margin": (None, math.inf),
    "price_every": (None, math.inf),
    "price_grid": (2, 16_385),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One of the settings: what it is called, and how it is read."""

    field: str  # in `Settings` or `ClusterSettings`
    kind: str  # as declared there: Duration, PerSecond, float, int, bool, str, tuple[str, ...]
    default: Any
    help: str
    secret: bool = False  # never shown
    password: bool = False  # one may stand in it, which is not shown
    table: str = ""  # of the file, in which it stands

    @property
    def key(self) -> str:
        """As it stands in the file and, with two dashes, as a flag."""
        return self.field.rstrip("_").replace("_", "-")

    @property
    def name(self) -> str:
        """As people call it: with its table, where it has one."""
        return f"{self.table}.{self.key}" if self.table else self.key

    @property
    def variable(self) -> str:
        """The environment's name for it."""
        return PREFIX + self.name.upper().replace(".", "_").replace("-", "_")


def _declared(settings: type[Settings] | type[ClusterSettings], table: str = "") -> dict[str, Setting]:
    found = (Setting(one.name, str(one.type), one.default, table=table, **one.metadata) for one in fields(settings))
    return {one.name: one for one in found}


SETTINGS = _declared(Settings)
CLUSTER = _declared(ClusterSettings, _TABLE)
ALL = SETTINGS | CLUSTER


def resolve(home: Path, flags: Mapping[str, object]) -> tuple[Settings, dict[str, Origin]]:
    """Settings in force, and where each comes from, by the names people write.

    `flags` are by name as well, as text (or lists of it, or booleans); None is a flag that was not given.
    """
    values, origins = _layered(home, flags)
    settings = Settings(**{one.field: values[one.name] for one in SETTINGS.values() if one.name in values})  # type: ignore[arg-type]
    return settings, {name: origins[name] for name in SETTINGS}


def resolve_cluster(home: Path, flags: Mapping[str, object]) -> tuple[ClusterSettings, dict[str, Origin]]:
    """The same for the settings of a cluster; refused if a fetch could outlive the right to make it."""
    values, origins = _layered(home, flags)
    found = ClusterSettings(**{one.field: values[one.name] for one in CLUSTER.values() if one.name in values})  # type: ignore[arg-type]
    if not found.fetch_seconds < found.margin < found.lease:
        said = [f"{name} {words.written(getattr(found, name.replace('-', '_')))}" for name in _IN_ORDER]
        raise UsageError(
            f"[{_TABLE}]: a fetch must end within the margin, and the margin within the lease, or two machines could "
            f"ask one site; set {' < '.join(_IN_ORDER)}, not {', '.join(said)}"
        )
    return found, {name: origins[name] for name in CLUSTER}


def _layered(home: Path, flags: Mapping[str, object]) -> tuple[dict[str, Value], dict[str, Origin]]:
    values: dict[str, Value] = {}
    origins: dict[str, Origin] = dict.fromkeys(ALL, "default")
    for layer, found in (("file", _in_file(home)), ("environment", _in_environment()), ("flag", _in_flags(flags))):
        values |= found
        origins |= dict.fromkeys(found, layer)  # type: ignore[arg-type]
    return values, origins


def shown(setting: Setting, value: Value) -> str:
    """A value as people write it; of a secret, that there is one."""
    if setting.secret and value:
        return "…"
    if setting.password:
        return without_password(str(value)) if value else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    if setting.kind == "Duration":
        return words.written(float(value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def named(name: str, where: str) -> Setting:
    """The setting people mean by this name."""
    found = ALL.get(name.replace("_", "-"))
    if found is None:
        near = difflib.get_close_matches(name.replace("_", "-").lower(), ALL, n=1, cutoff=0.0)
        raise UsageError(f"{where}: there is no setting '{name}'; the nearest is '{near[0]}'")
    return found


def read_file(home: Path) -> dict[str, Any]:
    """What is in `mayfly.toml`; nothing if there is none."""
    path = home / FILE
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8; write it anew with an editor that keeps UTF-8") from None
    except ValueError as error:
        raise UsageError(f'{path} is not TOML: {error}; a line is: host-delay = "5s"') from None


def _in_file(home: Path) -> dict[str, Value]:
    path, found = home / FILE, dict[str, Value]()
    for key, value in _flat(read_file(home), path):
        setting = named(key, str(path))
        if setting.name in found:
            raise UsageError(
                f"{path}: '{setting.name}' stands there twice, once with a dash and once without; keep one"
            )
        found[setting.name] = _from_toml(setting, value, f"{path}: {key}")
    return found


def _flat(read: dict[str, Any], path: Path) -> Iterator[tuple[str, Any]]:
    """All that is set, by its full name."""
    for key, value in read.items():
        if not isinstance(value, dict):
            yield key, value
        elif key != _TABLE:
            raise UsageError(f"{path}: [{key}] is a table; settings stand one a line, under no heading but [{_TABLE}]")
        else:
            for inner, said in value.items():
                if inner.replace("_", "-") in SETTINGS and f"{_TABLE}.{inner.replace('_', '-')}" not in CLUSTER:
                    raise UsageError(f"{path}: '{inner}' stands under [{_TABLE}]; move it above that line")
                yield f"{_TABLE}.{inner}", said


def _in_environment() -> dict[str, Value]:
    found: dict[str, Value] = {}
    for variable, text in sorted(os.environ.items()):
        if not variable.startswith(PREFIX) or variable in _NO_SETTINGS:
            continue
        setting = next((one for one in ALL.values() if one.variable == variable), None)
        if setting is None:
            near = difflib.get_close_matches(variable, [one.variable for one in ALL.values()], n=1, cutoff=0.0)
            raise UsageError(f"the environment: there is no setting '{variable}'; the nearest is '{near[0]}'")
        found[setting.name] = _from_text(setting, text, variable)
    return found


def _in_flags(flags: Mapping[str, object]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, given in flags.items():
        if given is None:
            continue
        setting = named(name, "flags")
        where = f"--{setting.key}"
        if isinstance(given, list | tuple):
            given = ",".join(str(part) for part in given)
        if isinstance(given, bool) and setting.kind == "bool":
            found[setting.name] = given
        else:
            found[setting.name] = _from_text(setting, str(given), where)
    return found


def _from_toml(setting: Setting, value: Any, where: str) -> Value:
    """A value of the file: it has a type of its own, which must be the right one."""
    match setting.kind:
        case "bool" if isinstance(value, bool):
            return value
        case "bool":
            raise UsageError(f"{where} must be true or false, not {_quoted(value)}")
        case "str":
            if not isinstance(value, str):
                raise UsageError(f'{where} must be text in quotes ("…"), not {_quoted(value)}')
            return _checked(setting, value, where)
        case "tuple[str, ...]":
            if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
                raise UsageError(f'{where} must be a list such as ["…", "…"], not {_quoted(value)}')
            return _checked(setting, tuple(value), where)
        case "Duration" if isinstance(value, str):
            return _from_text(setting, value, where)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{where} must be {_wanted(setting)}, not {_quoted(value)}")
    return _from_text(setting, repr(value), where)


def _from_text(setting: Setting, text: str, where: str) -> Value:
    """A value of the environment or of a flag."""
    match setting.kind:
        case "bool":
            if text.lower() not in _YES + _NO:
                raise UsageError(f"{where} must be true or false, not '{text}'")
            return text.lower() in _YES
        case "str":
            return _checked(setting, text, where)
        case "tuple[str, ...]":
            return _checked(setting, tuple(part.strip() for part in text.split(",") if part.strip()), where)
        case "Duration" if not _is_number(text):
            return _checked(setting, words.duration(text, where), where)
    try:
        number = int(text) if setting.kind == "int" else float(text)
    except ValueError:
        raise UsageError(f"{where} must be {_wanted(setting)}, not '{text}'") from None
    return _checked(setting, number, where)


def _checked(setting: Setting, value: Value, where: str) -> Value:
    """The value, if it may be that."""
    match setting.name, value:
        case "policy", str() if value not in POLICIES:
            raise UsageError(f"{where}: there is no policy '{value}'; there are {', '.join(POLICIES)}")
        case "estimator", str() if value not in ESTIMATORS:
            raise UsageError(f"{where}: there is no estimator '{value}'; there are {', '.join(ESTIMATORS)}")
        case "contact", str():
            user_agent(value, where)
        case "token" | "webhook-secret", str() if value and not _is_secret(value):
            raise UsageError(f"{where} must have 16 letters or more, plain ASCII without blanks")
        case "webhook-url" | "public-url", str() if value and not value.startswith(("http://", "https://")):
            raise UsageError(f"{where} must be an address such as https://example.com/new-pages, not '{value}'")
        case "store", str() if value and not is_postgres(value):
            raise UsageError(f"{where} must be empty, or an address such as postgresql://user@host/database")
        case "bind", str():
            host_and_port(value, where)
        case "cluster.address", str() if value:
            host_and_port(value, where)
        case "cluster.auth", str() if value not in _AUTH:
            raise UsageError(f"{where} must be {' or '.join(_AUTH)}, not '{value}'")
        case "allow-private-addresses", tuple():
            for block in value:
                _check_network(block, where)
        case "connect-to", tuple():
            for rule in value:
                _check_rule(rule, where)
        case _, float() | int():
            least, most = _RANGES.get(setting.field, (0, math.inf))
            inside = (value > 0 if least is None else value >= least) and value <= most and value != math.inf
            if not inside:
                raise UsageError(f"{where} must be {_wanted(setting)}, not {value}")
    return value


def host_and_port(text: str, where: str = "bind") -> tuple[str, int]:
    """Where to listen.

    >>> host_and_port("127.0.0.1:8642"), host_and_port("[::1]:0")
    (('127.0.0.1', 8642), ('::1', 0))
    """
    host, _, port = text.rpartition(":")
    bare = host.startswith("[") == (":" in host) == host.endswith("]")
    if not host or not bare or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"{where} must be HOST:PORT such as 127.0.0.1:8642 or [::1]:8642, not '{text}'")
    return host.strip("[]"), int(port)


def _is_secret(text: str) -> bool:
    """Whether it can stand in a header and is too long to be tried out."""
    return len(text) >= 16 and text.isascii() and text.isprintable() and " " not in text


def _check_network(block: str, where: str) -> None:
    try:
        ip_network(block, strict=False)
    except ValueError:
        raise UsageError(f"{where}: '{block}' is no network; write one as 127.0.0.0/8 or fd00::/8") from None


def _check_rule(rule: str, where: str) -> None:
    from mayfly.fetch.addresses import ConnectTo  # takes a third of a second

    try:
        ConnectTo.parse(rule)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _wanted(setting: Setting) -> str:
    least, most = _RANGES.get(setting.field, (0, math.inf))
    kind = {"Duration": "a duration such as 90, 90s, 10m, 2h or 3d", "int": "a whole number"}
    bound = (
        "above 0" if least is None else f"of {least:g} or more" if most == math.inf else f"from {least:g} to {most:g}"
    )
    return f"{kind.get(setting.kind, 'a number')} {bound}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
