"""The home of a crawl: the folder with its settings, database and raw answers, as every command finds it."""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayfly.cli import words
from mayfly.cli.layers import ALL, CLUSTER, FILE, SETTINGS, Origin, Setting, read_file, resolve, resolve_cluster, shown
from mayfly.crawl.checkup import LAST_RUN as LAST_RUN
from mayfly.crawl.checkup import last_run as last_run
from mayfly.crawl.settings import Settings
from mayfly.errors import RunError, UsageError
from mayfly.fetch.agent import user_agent
from mayfly.store.sqlite import SqliteStore
from mayfly.store.store import Store

if TYPE_CHECKING:
    from mayfly.store.postgres import PostgresStore

DEFAULT = Path("mayfly-home")
DATABASE = "mayfly.db"
Home = Annotated[
    Path, typer.Option("--home", envvar="MAYFLY_HOME", help="Folder of the crawl: settings, database, raw answers.")
]

API = "The HTTP API"
GROUPS = {  # the headings of `crawl.settings`, by the setting that follows
    "contact": "Who we are",
    "budget": "How much",
    "value-clicks": "What is worth something",
    "host-delay": "How gently",
    "older-than": "What is found",
    "store": "What is kept",
    "connections": "Limits",
    "allow-private-addresses": "The network",
    "bind": API,
}
_CONTACT_LINE = re.compile(r"^#?[ \t]*contact[ \t]*=.*$", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*\[", re.MULTILINE)
_METAVARS = {"Duration": "DURATION", "int": "NUMBER", "float": "NUMBER", "PerSecond": "NUMBER", "str": "TEXT"}


def all_but(group: str) -> list[str]:
    """Names of the settings that are in other groups than this one."""
    names, heading = [], ""
    for name in SETTINGS:
        heading = GROUPS.get(name, heading)
        if heading != group:
            names.append(name)
    return names


def takes_settings(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command a flag for each of these settings (all, if none is named), in place of its parameter `flags`.

    The command is called with `flags`: what was given, by name, for `resolve` or `ready`.
    """

    def with_flags(command: Callable[..., Any]) -> Callable[..., Any]:
        chosen = [ALL[name] for name in names or SETTINGS]
        options = [
            inspect.Parameter(one.field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_option(one))
            for one in chosen
        ]
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.name != "flags"]

        @functools.wraps(command)
        def run(**given: Any) -> Any:
            return command(flags={one.name: given.pop(one.field) for one in chosen}, **given)

        own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        run.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in [*own, *options]}
        return run

    return with_flags


def _option(setting: Setting) -> Any:
    name, said = f"--{setting.key}", _help(setting)
    if setting.kind == "bool":
        return Annotated[bool | None, typer.Option(f"{name}/--no-{setting.key}", help=said, show_default=False)]
    if setting.kind == "tuple[str, ...]":
        return Annotated[list[str] | None, typer.Option(name, help=f"{said} May be repeated.", show_default=False)]
    return Annotated[str | None, typer.Option(name, help=said, metavar=_METAVARS[setting.kind])]


def _help(setting: Setting) -> str:
    default = shown(setting, setting.default)
    return f"{setting.help[0].upper()}{setting.help[1:]}." + (f" Default: {default}." if default else "")


def existing(home: Path) -> Path:
    """The home, if there is one."""
    if not home.is_dir():
        what = "is no folder" if home.exists() else "is not there"
        raise UsageError(f"the home {home} {what}; `mayfly find HOST…` makes one, --home names another")
    return home


def store_of(home: Path, settings: Settings | None = None, *, read_only: bool = True, crawls: bool = False) -> Store:
    """Where the settings say that all is kept, to be opened with `async with`; `crawls`: to crawl, which one may."""
    address = (settings or resolve(home, {})[0]).store
    if address:
        shards = resolve_cluster(home, {})[0].shards  # of a database that is made here
        return postgres()(address, read_only=read_only, crawls=crawls, shards=shards)
    path = existing(home) / DATABASE
    if read_only and not path.exists():
        raise UsageError(
            f"nothing is kept in {home} yet; mayfly find HOST… looks for sources, mayfly crawl crawls them; if it is "
            f"kept elsewhere, say so: store in {FILE}, or MAYFLY_STORE"
        )
    return SqliteStore(path, read_only=read_only)


def postgres() -> type[PostgresStore]:
    """The store of that kind, if what it needs is installed."""
    try:
        from mayfly.store.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        raise UsageError("to keep it in PostgreSQL asyncpg is needed: pip install mayfly[postgres]") from None
    return PostgresStore


def prepare(home: Path) -> None:
    """Make the folder, and a `mayfly.toml` with every setting commented out, where they are not there yet."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        if not (home / FILE).exists():
            _write(home / FILE, template(), over=False)
    except FileExistsError:
        raise UsageError(f"the home {home} is no folder; --home names another") from None
    except OSError as error:
        raise RunError(f"the home {home} cannot be made: {error.strerror}") from None


def ready(home: Path, flags: Mapping[str, object]) -> tuple[Settings, dict[str, Origin]]:
    """For commands that go out to the web: a home that is there, its settings, and a contact if one is needed."""
    prepare(home)
    settings, origins = resolve(home, flags)
    if not _may_go(settings) and sys.stdin.isatty() and sys.stderr.isatty():
        keep_contact(home, _ask_contact())
        settings, origins = resolve(home, flags)
    require_contact(settings)
    return settings, origins


def require_contact(settings: Settings) -> None:
    """Refuse to go out to the real web without a contact."""
    if not _may_go(settings):
        raise UsageError(
            "contact is not set: whoever runs the sites must be able to reach you; give --contact with a mail address "
            f"or page, or write it in {FILE}"
        )


def _may_go(settings: Settings) -> bool:
    return bool(settings.contact or settings.connect_to or settings.allow_private_addresses)


def _ask_contact() -> str:
    typer.echo("Sites see who fetches their pages. How can they reach you?", err=True)
    while True:
        answer = str(typer.prompt("A mail address or page", err=True)).strip()
        try:
            user_agent(answer, "A contact")
        except UsageError as error:
            words.say(f"{error}.", err=True)
        else:
            return answer


def keep_contact(home: Path, contact: str) -> None:
    """Write the contact into `mayfly.toml`, and leave all else there as it is."""
    path = home / FILE
    text = path.read_text(encoding="utf-8") if path.exists() else template()
    line = f"contact = {json.dumps(contact)}"
    text, found = _CONTACT_LINE.subn(lambda _: line, text, count=1)
    if not found:
        text = _with_line(text, line)
    try:
        _write(path, text, over=True)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    if read_file(home).get("contact") != contact:
        raise RunError(f"{path}: the contact could not be put in; write {line} there")


def _with_line(text: str, line: str) -> str:
    """A line more, before the first table: what stands behind a heading belongs to it."""
    heading = _HEADING.search(text)
    before, after = (text[: heading.start()], text[heading.start() :]) if heading else (text, "")
    return before + ("" if before.endswith("\n") or not before else "\n") + line + "\n" + after


def note_run(home: Path, settings: Settings) -> None:
    """Keep how the last crawl was run, for `lab record`: its flags are known nowhere else."""
    told = {
        "at": time.time(),
        "policy": settings.policy,
        "budget": settings.budget,
        "record_every": settings.record_every,
    }
    _write(home / LAST_RUN, json.dumps(told) + "\n", over=True)


def template() -> str:
    """A `mayfly.toml` that says what may be set, and sets nothing."""
    lines = [
        "# Settings of this home. Take the # from a line to change it; `mayfly config` shows what is in force.",
        "# The same names may be set in the environment (MAYFLY_HOST_DELAY=5s) and as flags (--host-delay 5s), which",
        "# go before this file. Durations are written 90, 90s, 10m, 2h or 3d.",
    ]
    for setting in SETTINGS.values():
        if setting.name in GROUPS:
            lines += ["", "", f"## {GROUPS[setting.name]}"]
        lines += ["", f"# {setting.help}", f"# {setting.name} = {as_toml(setting)}"]
    lines += [
        "",
        "",
        "# Many machines: for `mayfly cluster up`, and nothing else may stand below this heading.",
        "[cluster]",
    ]
    for setting in CLUSTER.values():
        lines += ["", f"# {setting.help}", f"# {setting.key} = {as_toml(setting)}"]
    return "\n".join(lines) + "\n"


def as_toml(setting: Setting) -> str:
    """The default, as it stands in the file."""
    match setting.default:
        case bool():
            return "true" if setting.default else "false"
        case tuple():
            return json.dumps(list(setting.default))
        case float() if setting.kind == "Duration":
            return json.dumps(words.written(setting.default))
        case str():
            return json.dumps(setting.default)
        case _:
            return str(setting.default)


def _write(path: Path, text: str, over: bool) -> None:
    """All of a file or nothing; over another only if that is meant."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if over:
            draft.replace(path)
        else:
            _put_if_new(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _put_if_new(draft: Path, path: Path) -> None:
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        pass  # someone else was quicker
    except OSError:  # no links on this disk
        if not path.exists():
            draft.replace(path)
