"""Extended logs of the W3C, as IIS and CloudFront write them: `#Fields` says what stands where; times are UTC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from urllib.parse import unquote

from mayfly.errors import UsageError
from mayfly.store.clicklog.access import views
from mayfly.store.clicklog.rows import LONGEST_LINE, BadRow, Dropped, Read, Reading
from mayfly.store.clicklog.visits import Request, not_read

_HOSTS = ("x-host-header", "cs-host", "cs(host)")
_PURPOSES = ("cs(sec-purpose)", "cs(purpose)", "cs(x-purpose)", "cs(x-moz)")
_NEEDED = ("time", "cs-method", "cs-uri-stem", "sc-status")


def read_w3c(lines: Iterable[bytes], how: Reading) -> Iterator[Read]:
    """Views, by the lines of an extended log."""
    return views(requests(lines), moment, how)


def requests(lines: Iterable[bytes]) -> Iterator[Request | BadRow | Dropped]:
    """What the lines say was read, and which say nothing of the kind."""
    log = _Log()
    for number, raw in enumerate(lines, start=1):
        line = raw.decode(errors="surrogateescape").strip()
        if line.startswith("#"):
            log.directive(line)
        elif line:
            yield log.row(number, line)


def moment(text: str) -> datetime:
    """When it was, as `_Log` writes it."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class _Log:
    """What the directives so far said, and how lines are read by it."""

    def __init__(self) -> None:
        self._fields: list[str] = []
        self._date = ""

    def directive(self, line: str) -> None:
        name, _, said = line[1:].partition(":")
        if name.strip().lower() == "fields":
            self._fields = said.lower().split()
            if missing := [field for field in _NEEDED if field not in self._fields]:
                raise UsageError(f"its #Fields name no {', '.join(missing)}")
        elif name.strip().lower() == "date":
            self._date = said.split()[0] if said.split() else ""

    def row(self, number: int, line: str) -> Request | BadRow | Dropped:
        cells = line.split("\t") if "\t" in line else line.split()
        if not self._fields or len(cells) != len(self._fields) or len(line) > LONGEST_LINE:
            return BadRow(number, f"has {len(cells)} fields where #Fields has {len(self._fields)}")
        said = dict(zip(self._fields, cells, strict=True))
        agent = said.get("cs(user-agent)")
        purpose = " ".join(said.get(name, "") for name in _PURPOSES)
        path, query = said["cs-uri-stem"], said.get("cs-uri-query", "-")
        agent = None if agent is None else unquote(agent.replace("+", " "))
        if why := not_read(said["cs-method"], path, said["sc-status"], agent, purpose):
            return Dropped(number, why)
        host, referrer = _said(said, *_HOSTS), _said(said, "cs(referer)")
        return Request(
            line=number,
            base=f"https://{host}/" if host else None,
            path=path if query in ("-", "") else f"{path}?{query}",
            time=f"{said.get('date', self._date)}T{said['time']}",
            referrer=referrer,
            visitor=_said(said, "c-ip"),
        )


def _said(said: dict[str, str], *names: str) -> str:
    """The first of these fields that says something."""
    return next((said[name] for name in names if said.get(name, "-") != "-"), "")
