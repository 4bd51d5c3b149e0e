"""Visit logs: who came from where to which page, and when. The forms are those of click logs, read by the same parsers.

A click log is for the crawl, which knows its pages by one spelling. A visit log is studied as it stands: a page, a
referrer and a visitor are whatever the log calls them, and only lines of a web server are made into addresses. Visits
come in blocks of columns, as there are millions of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from mayfly.core.model import Seconds
from mayfly.errors import UsageError
from mayfly.store.clicklog import access, jsonl, w3c
from mayfly.store.clicklog.rows import BadRow, Dropped, Memo, Reading, as_float, is_number, why_bad
from mayfly.store.clicklog.tables import COUNTS, TIMES, URLS, csv_table, parquet_table
from mayfly.store.clicklog.visits import Request
from mayfly.urls import canonical


class Block(NamedTuple):
    """Some visits. What is not told, or was not asked for, is 0 or empty; a dash is as good as empty."""

    page: Sequence[str]
    at: Sequence[Seconds]
    referrer: Sequence[str]
    visitor: Sequence[str]
    number: Sequence[float]  # how often


_Row: TypeAlias = tuple[str, Seconds, str, str, float]  # of a block
Visited: TypeAlias = Block | BadRow | Dropped
Requests: TypeAlias = Iterable[Request | BadRow | Dropped]

PAGES = ("page", "page_url", *URLS)
REFERRERS = ("referrer", "referer", "referrer_url", "referer_url", "source", "from")
VISITORS = ("visitor", "visitor_id", "user", "user_id", "client", "ip")
_NOBODY = ("", "-", None)  # as logs write that there is none
_TOGETHER = 2_000  # rows of a block
_EARLIEST = 1e9  # seconds of 2001: a smaller number may be a day such as 20260131, and is looked at again


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a visit is asked for: times take as long to read as all else, and not every study needs them."""

    times: bool = True
    referrers: bool = True
    visitors: bool = False


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a table says what; None: nowhere, or it is not wanted."""

    width: int
    page: int
    time: int | None
    referrer: int | None
    visitor: int | None
    count: int | None

    def __iter__(self) -> Iterator[int]:
        for place in (self.page, self.time, self.referrer, self.visitor, self.count):
            if place is not None:
                yield place


def read_csv(lines: Iterable[bytes], how: Reading, wanted: Wanted) -> Iterator[Visited]:
    """Visits of a table with a header."""
    cells, rows = csv_table(lines)
    if cells:
        yield from _blocks(rows, _places(cells, how, wanted), how)


def read_parquet(file: BinaryIO, how: Reading, wanted: Wanted) -> Iterator[Visited]:
    """Visits of a Parquet file, of which only the columns that are needed are read."""

    def places(names: Sequence[str]) -> tuple[_Places, Sequence[int]]:
        found = _places(names, how, wanted)
        return found, list(found)

    with parquet_table(file, places) as (found, rows):
        yield from _blocks(rows, found, how)


def read_jsonl(lines: Iterable[bytes], how: Reading, wanted: Wanted) -> Iterator[Visited]:
    """Visits, a JSON object each, by the names that columns have."""
    return _gathered(_of_objects(lines, how, wanted))


def read_access(lines: Iterable[bytes], how: Reading, wanted: Wanted) -> Iterator[Visited]:
    """Visits by the lines of an access log, those of bots and of assets left out."""
    return _gathered(_of_requests(access.requests(lines), access.moment, how, wanted))


def read_w3c(lines: Iterable[bytes], how: Reading, wanted: Wanted) -> Iterator[Visited]:
    """The same of an extended log."""
    return _gathered(_of_requests(w3c.requests(lines), w3c.moment, how, wanted))


LINES: dict[str, Callable[[Iterable[bytes], Reading, Wanted], Iterator[Visited]]] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "search-console": read_csv,
    "access": read_access,
    "w3c": read_w3c,
}


def _of_objects(lines: Iterable[bytes], how: Reading, wanted: Wanted) -> Iterator[_Row | BadRow | Dropped]:
    moment = _moments(how)
    times = TIMES if wanted.times else ()
    for number, said in jsonl.objects(lines):
        if isinstance(said, BadRow):
            yield said
            continue
        page = _first(said, PAGES)
        if page is None:
            yield BadRow(number, f"has no {PAGES[0]}")
            continue
        try:
            at = moment(_first(said, times)) if times else 0.0
            count = _first(said, COUNTS)
            yield (
                str(page),
                at,
                _told(_first(said, REFERRERS)) if wanted.referrers else "",
                _told(_first(said, VISITORS)) if wanted.visitors else "",
                1.0 if count is None else how.counts[count if is_number(count) else str(count)],
            )
        except ValueError as wrong:
            yield why_bad(number, wrong)


def _of_requests(
    asked: Requests, moment: Callable[[str], datetime], how: Reading, wanted: Wanted
) -> Iterator[_Row | BadRow | Dropped]:
    moments = Memo(lambda text: how.moment(moment(text))[0])
    addresses = Memo(lambda where: access.address(*where))
    # In one spelling, as the pages are: or a page would not be known when it is where somebody came from.
    referrers = Memo(lambda text: canonical(text) or "")
    for one in asked:
        if not isinstance(one, Request):
            yield one
            continue
        try:
            page = addresses[access.site_of(one, how), one.path]
            at = moments[one.time] if wanted.times else 0.0
            yield page, at, referrers[one.referrer] if one.referrer else "", one.visitor, 1.0
        except ValueError as wrong:
            yield why_bad(one.line, wrong)


def _gathered(rows: Iterator[_Row | BadRow | Dropped]) -> Iterator[Visited]:
    """Rows as blocks; what is no visit comes by itself."""
    while some := list(islice(rows, _TOGETHER)):
        visits = []
        for row in some:
            if isinstance(row, BadRow | Dropped):
                yield row
            else:
                visits.append(row)
        if visits:
            yield Block(*zip(*visits, strict=True))


def _blocks(rows: Iterator[tuple[int, Sequence[Any]]], places: _Places, how: Reading) -> Iterator[Visited]:
    """Rows of a table. Nearly always a block has nothing to look at twice, and is made four times as fast."""
    while some := list(islice(rows, _TOGETHER)):
        block = _plain_block([cells for _, cells in some], places, how)
        if block is not None:
            yield block
        else:
            yield from _gathered(_rows(some, places, how))


def _plain_block(rows: Sequence[Sequence[Any]], places: _Places, how: Reading) -> Block | None:
    """Visits of rows that are all sound and have texts as texts, times in seconds; None: they must be gone through."""
    blank = [""] * len(rows)
    try:
        page = [cells[places.page] for cells in rows]
        referrer = blank if places.referrer is None else [cells[places.referrer] for cells in rows]
        visitor = blank if places.visitor is None else [cells[places.visitor] for cells in rows]
        at = [0.0] * len(rows) if places.time is None else [float(cells[places.time]) for cells in rows]
        count = [1.0] * len(rows) if places.count is None else [how.counts[cells[places.count]] for cells in rows]
    except (IndexError, ValueError, TypeError):
        return None
    texts = all(set(map(type, column)) == {str} for column in (page, referrer, visitor))
    named = "" not in page and "-" not in page
    timely = places.time is None or (min(at) > _EARLIEST and max(at) < min(how.now, 1e11))
    return Block(page, at, referrer, visitor, count) if texts and named and timely and 0.0 not in count else None


def _rows(
    rows: Iterable[tuple[int, Sequence[Any]]], places: _Places, how: Reading
) -> Iterator[_Row | BadRow | Dropped]:
    """The same row by row, with what is wrong with each."""
    moment = _moments(how)
    for line, cells in rows:
        try:
            page = _told(cells[places.page])
            at = 0.0 if places.time is None else moment(cells[places.time])
            referrer = "" if places.referrer is None else _told(cells[places.referrer])
            visitor = "" if places.visitor is None else _told(cells[places.visitor])
            count = 1.0 if places.count is None else how.counts[cells[places.count]]
        except IndexError:
            has = f"has {len(cells)} cells where the header has {places.width}"
            yield BadRow(line, has if cells else "is no row of CSV")
        except ValueError as wrong:
            yield why_bad(line, wrong)
        else:
            if not page:
                yield BadRow(line, "names no page")
            elif not count:
                yield Dropped(line, "counts of 0")
            else:
                yield page, at, referrer, visitor, count


def _places(cells: Sequence[str], how: Reading, wanted: Wanted) -> _Places:
    names = [cell.strip().strip("\ufeff").lower() for cell in cells]

    def place(known: Sequence[str]) -> int | None:
        return next((names.index(name) for name in known if name in names), None)

    page, time = place(PAGES), place(TIMES) if wanted.times else None
    has = ", ".join(cells)[:100]
    if page is None:
        raise UsageError(f"its header names no column of pages (page or url): {has}")
    if wanted.times and time is None:
        raise UsageError(f"its header names no column of times ({', '.join(TIMES[:4])}): {has}")
    if time is not None:
        how.time_name = names[time]
    referrer = place(REFERRERS) if wanted.referrers else None
    visitor = place(VISITORS) if wanted.visitors else None
    return _Places(len(names), page, time, referrer, visitor, place(COUNTS))


def _moments(how: Reading) -> Callable[[Any], Seconds]:
    """When it was, or when the day began, as `Reading.moment` says it; but plain seconds are read at once."""
    slow, limit = how.moments, min(how.now, 1e11)

    def moment(given: Any) -> Seconds:
        try:
            at = as_float(given) if is_number(given) else float(given)
            if _EARLIEST < at < limit:
                return at
        except (TypeError, ValueError):
            pass
        return slow[given][0]

    return moment


def _first(said: dict[str, Any], names: Sequence[str]) -> Any:
    return next((said[name] for name in names if said.get(name) is not None), None)


def _told(given: Any) -> str:
    return "" if given in _NOBODY else str(given)
