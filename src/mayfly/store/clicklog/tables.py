"""Tables with a header: CSV, exports of Search Console, Parquet.

Columns are found by the names people give them; others are not looked at. A table may have a column of clicks and one
of shows, and then a row of it is two of ours.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import tzinfo
from itertools import chain
from typing import Any, BinaryIO, NamedTuple, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mayfly.errors import UsageError
from mayfly.store.clicklog.rows import LONGEST_LINE, BadRow, Dropped, Memo, Read, Reading, kind, why_bad
from mayfly.store.records import ClickKind, ClickRow

_DELIMITERS = ",;\t|"
_BOM = "\ufeff"
URLS = ("url", "page", "top pages", "address", "landing page", "page location", "loc")
TIMES = ("at", "time", "timestamp", "date", "datetime", "day", "data_date")
COUNTS = ("count", "clicks", "views", "pageviews", "page views", "visits", "hits")
_SHOWS = ("shows", "impressions")
_POSITIONS = ("position", "rank", "average position")
_SEARCH_CONSOLE = "America/Los_Angeles"  # its days are those of California, whoever asks
_ROWS = 10_000  # of Parquet, read together
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Header:
    """Where a table says what; None: nowhere."""

    names: Sequence[str]
    url: int
    time: int | None
    kind: int | None
    position: int | None
    counts: tuple[tuple[int, ClickKind], ...]  # none: each row counts one

    @property
    def is_search_console(self) -> bool:
        return len(self.counts) > 1 and "ctr" in self.names


class CsvHead(NamedTuple):
    """The first line of a table that says something."""

    cells: Sequence[str]
    mark: str  # between cells
    lines: int  # up to it, and with it


class Batches(NamedTuple):
    """Rows of a Parquet file, by columns."""

    batches: Iterable[Any]
    width: int  # of the whole table
    places: Sequence[int]  # of the columns that are read


def header_of(cells: Sequence[str]) -> Header | None:
    """A header, if it has a column of addresses."""
    names = [cell.strip().strip(_BOM).lower() for cell in cells]

    def place(known: Sequence[str]) -> int | None:
        return next((names.index(name) for name in known if name in names), None)

    url, clicks, shows = place(URLS), place(COUNTS), place(_SHOWS)
    if url is None:
        return None
    counts: list[tuple[int, ClickKind]] = []
    if clicks is not None:
        counts.append((clicks, "click"))
    if shows is not None:
        counts.append((shows, "show"))
    return Header(names, url, place(TIMES), place(("kind",)), place(_POSITIONS), tuple(counts))


def first_row(line: str) -> tuple[str, list[str]]:
    """What stands between cells (of the usual marks the most frequent), and the cells of a line.

    >>> first_row("url;at")
    (';', ['url', 'at'])
    """
    mark = max(_DELIMITERS, key=line.count)
    try:
        return mark, next(csv.reader([line], delimiter=mark))
    except csv.Error:
        return mark, [line]


def read_csv(lines: Iterable[bytes], how: Reading) -> Iterator[Read]:
    """Rows of a CSV file with a header."""
    head, rest = csv_head(lines)
    if head is None:
        return
    header = _checked(header_of(head.cells), head.cells, how)
    rows = csv_rows(rest, head, head.lines)
    if header.kind is None and len(header.counts) <= 1:
        yield from _simple(rows, header, how)
    else:
        yield from _full(rows, header, how)


def csv_head(lines: Iterable[bytes]) -> tuple[CsvHead | None, Iterator[bytes]]:
    """The header, None of nothing, and what is behind it. Lines may come one by one or some together."""
    rest, before = iter(lines), 0
    for some in rest:
        single = some.split(b"\n")
        for number, line in enumerate(single, start=1):
            text = line.decode(errors="surrogateescape")
            if text.strip():
                mark, cells = first_row(text)
                behind = [b"\n".join(single[number:])] if single[number:] else []
                return CsvHead(cells, mark, before + number), chain(behind, rest)
        before += len(single)
    return None, rest


def csv_rows(lines: Iterable[bytes], head: CsvHead, before: int) -> Iterator[tuple[int, Sequence[str]]]:
    """Rows with their lines, of which `before` came before these; of one that is broken no cells.

    A header in between is no row: two files were joined. Up to the first line that has a quote lines are split as they
    stand: that takes half of the time.
    """
    texts = (line.decode(errors="surrogateescape") for line in lines)
    line = before
    for text in texts:
        plain = text.removesuffix("\r")
        if '"' in plain or "\r" in plain or "\0" in plain or len(plain) > LONGEST_LINE:
            yield from _quoted(csv.reader(chain((text,), texts), delimiter=head.mark), head.cells, line)
            return
        line += 1
        if plain:
            cells = plain.split(head.mark)
            if cells != head.cells:
                yield line, cells


def read_parquet(file: BinaryIO, how: Reading) -> Iterator[Read]:
    """Rows of a Parquet file."""

    def wanted(names: Sequence[str]) -> tuple[Header, list[int]]:
        header = _checked(header_of(names), names, how)
        places = (header.url, header.time, header.kind, header.position, *(place for place, _ in header.counts))
        return header, [place for place in places if place is not None]

    with parquet_table(file, wanted, _ROWS) as (header, found):
        yield from _full(parquet_rows(found), header, how)


@contextmanager
def parquet_table(
    file: BinaryIO, wanted: Callable[[Sequence[str]], tuple[_T, Sequence[int]]], together: int
) -> Iterator[tuple[_T, Batches]]:
    """What `wanted` made of the names of the columns, and batches of rows; only the columns it names are read."""
    try:
        import pyarrow  # 165 MB, so an extra, and only where it is used
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow: pip install 'mayfly[parquet]', or give CSV") from None
    try:
        table = pyarrow.parquet.ParquetFile(file)
        names = table.schema_arrow.names
        header, places = wanted(names)
        chosen = sorted(set(places))
        batches = table.iter_batches(together, columns=[names[place] for place in chosen])
        yield header, Batches(batches, len(names), chosen)
    except (pyarrow.ArrowException, OSError) as error:
        raise UsageError(f"it is no sound Parquet file: {str(error).splitlines()[0]}") from None


def parquet_rows(found: Batches, before: int = 0) -> Iterator[tuple[int, Sequence[Any]]]:
    """Rows with their numbers, as wide as the table; cells that were not read are None."""
    number = before
    for batch in found.batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            number += 1
            cells: list[Any] = [None] * found.width
            for place, cell in zip(found.places, row, strict=True):
                cells[place] = cell
            yield number, cells


def _checked(header: Header | None, cells: Sequence[str], how: Reading) -> Header:
    if header is None:
        raise UsageError(
            f"its header names no column of addresses (url or page): {', '.join(cells)[:100]}; see --format"
        )
    if header.time is None and how.day is None:
        raise UsageError(
            f"its header names no column of times ({', '.join(TIMES[:4])}); give --date for a day of all rows"
        )
    if header.time is not None:
        how.time_name = cells[header.time].strip().strip(_BOM)
    if header.is_search_console and how.zone is None:
        how.zone = _california()
    return header


def _california() -> tzinfo:
    try:
        return ZoneInfo(_SEARCH_CONSOLE)
    except ZoneInfoNotFoundError:
        raise UsageError(f"this machine knows no zones; give --timezone -08:00 for {_SEARCH_CONSOLE}") from None


def _quoted(reader: Any, header: Sequence[str], before: int) -> Iterator[tuple[int, Sequence[str]]]:
    while True:
        try:
            for cells in reader:
                if cells and cells != header:
                    yield before + reader.line_num, cells
            return
        except csv.Error:
            yield before + reader.line_num, ()


def _simple(rows: Iterable[tuple[int, Sequence[str]]], header: Header, how: Reading) -> Iterator[Read]:
    """Most tables: a row is a row. All is looked up, for this is done a hundred thousand times a second."""
    urls, moments, counts, positions = how.urls, how.moments, how.counts, how.positions
    url_at, time_at, position_at = header.url, header.time, header.position
    count_at: int | None = None
    of_kind: ClickKind = "click"
    if header.counts:
        count_at, of_kind = header.counts[0]
    for line, cells in rows:
        try:
            begin, span = how.whole_day() if time_at is None else moments[cells[time_at]]
            number = 1.0 if count_at is None else counts[cells[count_at]]
            place = 0 if position_at is None else positions[cells[position_at]]
            if number:
                yield ClickRow(urls[cells[url_at]], begin, number, of_kind, place, span)
            else:
                yield Dropped(line, "counts of 0")
        except IndexError:
            yield _short_row(line, cells, header)
        except ValueError as wrong:
            yield why_bad(line, wrong)


def _full(rows: Iterable[tuple[int, Sequence[Any]]], header: Header, how: Reading) -> Iterator[Read]:
    """Tables that say the kind, or have clicks beside shows."""
    kinds = Memo(kind)
    for line, cells in rows:
        try:
            begin, span = how.whole_day() if header.time is None else how.moments[cells[header.time]]
            place = 0 if header.position is None else how.positions[cells[header.position]]
            said = "click" if header.kind is None else kinds[cells[header.kind]]
            numbers = [(how.counts[cells[at]], of) for at, of in header.counts] or [(1.0, said)]
            if header.kind is not None and len(numbers) == 1:
                numbers = [(numbers[0][0], said)]
            url = how.urls[cells[header.url]]
        except IndexError:
            yield _short_row(line, cells, header)
        except ValueError as wrong:
            yield why_bad(line, wrong)
        else:
            yield from (ClickRow(url, begin, number, of, place, span) for number, of in numbers if number)
            if not any(number for number, _ in numbers):
                yield Dropped(line, "counts of 0")


def _short_row(line: int, cells: Sequence[Any], header: Header) -> BadRow:
    if not cells:
        return BadRow(line, "is no row of CSV")
    return BadRow(line, f"has {len(cells)} cells where the header has {len(header.names)}")
