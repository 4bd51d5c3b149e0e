"""Visit logs that are tables with a header: CSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isfinite
from typing import Any, BinaryIO

from mayfly.errors import UsageError
from mayfly.store.clicklog.rows import BadRow, Dropped, Reading, why_bad
from mayfly.store.clicklog.tables import COUNTS, TIMES, csv_head, csv_rows, parquet_table
from mayfly.store.visitlog import columns
from mayfly.store.visitlog.rows import (
    EARLIEST,
    LATEST,
    PAGES,
    REFERRERS,
    TOGETHER,
    VISITORS,
    Block,
    Row,
    Visited,
    Wanted,
    gathered,
    moments,
    told,
)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a table says what; None: nowhere, or it is not wanted."""

    width: int
    page: int
    time: int | None
    referrer: int | None
    visitor: int | None
    count: int | None

    @property
    def roles(self) -> dict[str, int]:
        """Where what stands that does stand somewhere, by the names a block has for it."""
        places = (self.page, self.time, self.referrer, self.visitor, self.count)
        return {role: place for role, place in zip(Block._fields, places, strict=True) if place is not None}


def read_csv(lines: Iterable[bytes], how: Reading, wanted: Wanted) -> Iterator[Visited]:
    """Visits of a table with a header. Lines may come one by one or some together."""
    head, rest = csv_head(lines)
    if head is None:
        return
    places = _places(head.cells, how, wanted)
    if columns.is_there():
        yield from _either(columns.csv_columns(rest, head, places.roles, how), places, how)
    else:
        single = (line for some in rest for line in some.split(b"\n"))
        yield from _blocks(csv_rows(single, head, head.lines), places, how)


def read_parquet(file: BinaryIO, how: Reading, wanted: Wanted) -> Iterator[Visited]:
    """Visits of a Parquet file, of which only the columns that are needed are read."""

    def places(names: Sequence[str]) -> tuple[_Places, Sequence[int]]:
        found = _places(names, how, wanted)
        return found, list(found.roles.values())

    with parquet_table(file, places, columns.ROWS) as (found, batches):
        yield from _either(columns.parquet_columns(batches, found.roles, how), found, how)


def _either(found: Iterable[Block | columns.Rows], places: _Places, how: Reading) -> Iterator[Visited]:
    for some in found:
        if isinstance(some, Block):
            yield some
        else:
            yield from _blocks(some, places, how)


def _blocks(rows: Iterator[tuple[int, Sequence[Any]]], places: _Places, how: Reading) -> Iterator[Visited]:
    """Rows of a table. Nearly always a block has nothing to look at twice, and is made four times as fast."""
    while some := list(islice(rows, TOGETHER)):
        block = _plain_block([cells for _, cells in some], places, how)
        if block is not None:
            yield block
        else:
            yield from gathered(_rows(some, places, how))


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
    # A time that is not a number is neither less nor more than any other: only the sum tells.
    timely = places.time is None or (isfinite(sum(at)) and min(at) > EARLIEST and max(at) < min(how.now, LATEST))
    return Block(page, at, referrer, visitor, count) if texts and named and timely and 0.0 not in count else None


def _rows(rows: Iterable[tuple[int, Sequence[Any]]], places: _Places, how: Reading) -> Iterator[Row | BadRow | Dropped]:
    """The same row by row, with what is wrong with each."""
    moment = moments(how)
    for line, cells in rows:
        try:
            page = told(cells[places.page])
            at = 0.0 if places.time is None else moment(cells[places.time])
            referrer = "" if places.referrer is None else told(cells[places.referrer])
            visitor = "" if places.visitor is None else told(cells[places.visitor])
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
