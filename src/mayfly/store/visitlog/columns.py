"""Visits by whole columns: tables that Arrow reads, with names that its code numbers. Only where pyarrow is installed.

Theory of operation: of most rows there is nothing to say, and to split them and look up each of their names is nearly
all of the time that a study takes. So Arrow is given some lines at a time, if all readers of CSV read them alike. What
it refuses, or what must be looked at twice (a row without a page, a time that is no number of seconds), is tried again
in small parts; a part that is still odd comes out as rows, for the code that says what is wrong with a row. So a log
is read the same with Arrow and without it, and one in which everything is odd takes little longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from mayfly.store.clicklog.rows import LONGEST_LINE, Reading
from mayfly.store.clicklog.tables import Batches, CsvHead, csv_rows, parquet_rows
from mayfly.store.visitlog.rows import EARLIEST, LATEST, Block, Coded

Rows: TypeAlias = Iterator[tuple[int, Sequence[Any]]]  # of cells, with their lines
Roles: TypeAlias = Mapping[str, int]  # in which column stands what: page, and at, referrer, visitor, number

ROWS = 1 << 16  # of Parquet, read together
_PIECE = 1 << 21  # bytes of CSV, parsed together
_PART, _PART_ROWS = 1 << 17, 1 << 12  # what of them is tried again
_NUMBERED = 1 << 27  # bytes, whose names are numbered together: the more, the fewer are numbered twice
_NUMBERS = ("at", "number")  # roles; the others are texts
_BOM = b"\xef\xbb\xbf"
_QUOTE, _NEWLINE = b'"\n'


def is_there() -> bool:
    """Whether there is an Arrow."""
    try:
        import pyarrow.csv  # noqa: F401 (165 MB, so an extra, and only where it is used)
    except ImportError:
        return False
    return True


def csv_columns(pieces: Iterable[bytes], head: CsvHead, roles: Roles, how: Reading) -> Iterator[Block | Rows]:
    """What the lines behind a header say, in their order: blocks of visits, and between them rows of what is odd."""
    return _blocks(_csv_tables(iter(pieces), head, roles, how))


def parquet_columns(found: Batches, roles: Roles, how: Reading) -> Iterator[Block | Rows]:
    """The same of Parquet."""
    return _blocks(_parquet_tables(found, roles, how))


def _blocks(found: Iterator[Any]) -> Iterator[Block | Rows]:
    """Tables that follow each other as one block."""
    import pyarrow

    tables: list[Any] = []
    size = 0
    for some in found:
        sound = isinstance(some, pyarrow.Table)
        if sound:
            tables.append(some)
            size += some.nbytes
        if tables and (size > _NUMBERED or not sound):
            yield _block(pyarrow.concat_tables(tables))
            tables, size = [], 0
        if not sound:
            yield some
    if tables:
        yield _block(pyarrow.concat_tables(tables))


def _block(table: Any) -> Block:
    def texts(role: str) -> Coded:
        return _coded(table[role]) if role in table.column_names else Coded([""], np.zeros(len(table), np.int32))

    def numbers(role: str, default: float) -> Any:
        return table[role].to_numpy() if role in table.column_names else np.full(len(table), default)

    return Block(texts("page"), numbers("at", 0.0), texts("referrer"), texts("visitor"), numbers("number", 1.0))


def _coded(column: Any) -> Coded:
    """Arrow's dictionaries are in the order in which names first come, and one for all chunks of a column."""
    import pyarrow

    chunks = column.dictionary_encode().chunks
    names = chunks[-1].dictionary
    try:
        texts = names.cast(pyarrow.string()).to_numpy(zero_copy_only=False).tolist()
    except pyarrow.ArrowInvalid:  # not UTF-8
        texts = [name.decode(errors="surrogateescape") for name in names.to_pylist()]
    return Coded(texts, np.concatenate([chunk.indices.to_numpy() for chunk in chunks]))


def _csv_tables(pieces: Iterator[bytes], head: CsvHead, roles: Roles, how: Reading) -> Iterator[Any]:
    before = head.lines
    for piece in _together(pieces):
        lines = (piece + b"\n").replace(b"\r\n", b"\n") if b"\r" in piece else piece
        if not _cells_end_with_lines(lines, head.mark):
            yield csv_rows(_lines(chain((piece,), pieces)), head, before)  # all that is left, too
            return
        if (table := _csv_table(lines, head, roles, how)) is not None:
            yield table
        else:
            begun = before
            for part in _parts(lines):
                table = _csv_table(part, head, roles, how)
                yield csv_rows(iter(part.split(b"\n")), head, begun) if table is None else table
                begun += part.count(b"\n") + 1
        before += piece.count(b"\n") + 1


def _csv_table(lines: bytes, head: CsvHead, roles: Roles, how: Reading) -> Any:
    """The columns of some lines; None: they must be gone through."""
    import pyarrow
    import pyarrow.csv as arrow

    # Arrow would take a lone \r for the end of a line, and a mark of byte order for none of the text.
    if b"\r" in lines or b"\0" in lines or lines.startswith(_BOM) or _has_long_line(lines):
        return None
    types = {str(place): pyarrow.float64() if role in _NUMBERS else pyarrow.binary() for role, place in roles.items()}
    try:
        table = arrow.read_csv(
            pyarrow.BufferReader(lines),
            arrow.ReadOptions(column_names=[*map(str, range(len(head.cells)))], block_size=len(lines) + 1),
            arrow.ParseOptions(delimiter=head.mark, quote_char='"' if b'"' in lines else False),
            arrow.ConvertOptions(column_types=types, include_columns=[*types], null_values=[]),
        ).rename_columns([*roles])
    except pyarrow.ArrowException:
        return None
    header = head.cells[roles["page"]].encode(errors="surrogateescape")  # of a second file behind the first
    return table if _is_plain(table, how, header) else None


def _parquet_tables(found: Batches, roles: Roles, how: Reading) -> Iterator[Any]:
    before = 0
    for batch in found.batches:
        if (table := _parquet_table(batch, found.places, roles, how)) is not None:
            yield table
        else:
            for low in range(0, len(batch), _PART_ROWS):
                part = batch.slice(low, _PART_ROWS)
                table = _parquet_table(part, found.places, roles, how)
                yield parquet_rows(found._replace(batches=[part]), before + low) if table is None else table
        before += len(batch)


def _parquet_table(batch: Any, places: Sequence[int], roles: Roles, how: Reading) -> Any:
    import pyarrow

    columns = {role: _column(batch.column(places.index(place)), role) for role, place in roles.items()}
    if any(column is None for column in columns.values()):
        return None
    table = pyarrow.table(columns)
    return table if _is_plain(table, how) else None


def _column(given: Any, role: str) -> Any:
    """A column as CSV would have it; None: its rows must be looked at."""
    import pyarrow

    types = pyarrow.types
    kind = given.type.value_type if types.is_dictionary(given.type) else given.type
    whole, text = types.is_integer(kind), types.is_string(kind) or types.is_large_string(kind)
    if role in _NUMBERS:
        known = whole or types.is_floating(kind)
        return given.cast(pyarrow.float64(), safe=False) if known and not given.null_count else None
    if not whole and not text:
        return None
    column = given.cast(kind).cast(pyarrow.string()).cast(pyarrow.binary())
    return column if role == "page" else column.fill_null(b"")


def _is_plain(table: Any, how: Reading, *headers: bytes) -> bool:
    """Whether each row names a page, a time in seconds, and how often above 0."""
    import pyarrow
    from pyarrow import compute

    unusual = compute.is_in(table["page"], value_set=pyarrow.array([b"", b"-", None, *headers], pyarrow.binary()))
    if not len(table) or compute.any(unusual).as_py():
        return False
    limits = {"at": (EARLIEST, min(how.now, LATEST)), "number": (0.0, np.inf)}
    for role in set(_NUMBERS).intersection(table.column_names):
        low, high = limits[role]
        values = table[role].to_numpy()
        if not (low < values.min() and values.max() < high):  # nor is anything that is no number
            return False
    return True


def _together(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces as long as they are best parsed."""
    some, size = list[bytes](), 0
    for piece in pieces:
        some.append(piece)
        size += len(piece)
        if size >= _PIECE:
            yield b"\n".join(some)
            some, size = [], 0
    if some:
        yield b"\n".join(some)


def _parts(lines: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(lines):
        end = lines.find(b"\n", at + _PART)
        end = len(lines) if end < 0 else end
        yield lines[at:end]
        at = end + 1


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield from piece.split(b"\n")


def _has_long_line(lines: bytes) -> bool:
    at = 0
    while at + LONGEST_LINE < len(lines):
        end = lines.rfind(b"\n", at, at + LONGEST_LINE + 1)
        if end < 0:
            return True
        at = end + 1
    return False


def _cells_end_with_lines(lines: bytes, mark: str) -> bool:
    """Whether quotes stand around whole cells, each in one line: so no cell goes on where these lines end.

    >>> [_cells_end_with_lines(line, ",") for line in (b'"a,b",""', b'"a ""b"" c",d', b'a"b",c', b'"a,b')]
    [True, True, False, False]
    """
    if b'"' not in lines:
        return True
    letters = np.frombuffer(b"\n" + lines + b"\n", np.uint8)
    quotes = np.flatnonzero(letters == _QUOTE)
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    twice = opening[1:] == closing[:-1] + 1  # so a quote within a cell is written
    begins, ends = (np.isin(letters[beside], (ord(mark), _NEWLINE)) for beside in (opening - 1, closing + 1))
    begins[1:] |= twice
    ends[:-1] |= twice
    newlines = np.flatnonzero(letters == _NEWLINE)
    alike = np.searchsorted(newlines, opening) == np.searchsorted(newlines, closing)
    return bool(np.all(begins & ends & alike))
