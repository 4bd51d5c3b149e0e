"""Extended logs of the W3C, as IIS and CloudFront write them: `#Fields` says what stands where; times are UTC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from urllib.parse import unquote

from mayfly.errors import UsageError
from mayfly.store.clicklog.access import address
from mayfly.store.clicklog.rows import LONGEST_LINE, BadRow, Dropped, Memo, Read, Reading, why_bad
from mayfly.store.clicklog.visits import not_read
from mayfly.store.records import ClickRow

_HOSTS = ("x-host-header", "cs-host", "cs(host)")
_PURPOSES = ("cs(sec-purpose)", "cs(purpose)", "cs(x-purpose)", "cs(x-moz)")
_NEEDED = ("time", "cs-method", "cs-uri-stem", "sc-status")


def read_w3c(lines: Iterable[bytes], how: Reading) -> Iterator[Read]:
    """Views, by the lines of an extended log."""
    log = _Log(how)
    for number, raw in enumerate(lines, start=1):
        line = raw.decode(errors="surrogateescape").strip()
        if line.startswith("#"):
            log.directive(line)
        elif line:
            yield log.row(number, line)


class _Log:
    """What the directives so far said, and how lines are read by it."""

    def __init__(self, how: Reading) -> None:
        self._how = how
        self._fields: list[str] = []
        self._date = ""
        self._moments = Memo(lambda text: how.moment(datetime.fromisoformat(text).replace(tzinfo=UTC))[0])

    def directive(self, line: str) -> None:
        name, _, said = line[1:].partition(":")
        if name.strip().lower() == "fields":
            self._fields = said.lower().split()
            if missing := [field for field in _NEEDED if field not in self._fields]:
                raise UsageError(f"its #Fields name no {', '.join(missing)}")
        elif name.strip().lower() == "date":
            self._date = said.split()[0] if said.split() else ""

    def row(self, number: int, line: str) -> Read:
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
        try:
            where = address(self._base(said), path if query in ("-", "") else f"{path}?{query}")
            return ClickRow(where, self._moments[f"{said.get('date', self._date)}T{said['time']}"])
        except ValueError as wrong:
            return why_bad(number, wrong)

    def _base(self, said: dict[str, str]) -> str:
        host = next((said[name] for name in _HOSTS if said.get(name, "-") != "-"), None)
        if host is not None:
            return f"https://{host}/"
        if self._how.host is None:
            raise UsageError("its lines do not say of which host they are: give --host https://example.com")
        return self._how.host
