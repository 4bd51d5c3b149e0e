"""Click logs: JSON lines, CSV, Parquet, exports of Search Console, access logs. Each is read as rows to keep, rows that
count for nothing, and what is wrong with the others; no line stops the rest.

What a log is, is told by its beginning. To add a form: a file here, a line below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mayfly.store.clicklog import jsonl
from mayfly.store.clicklog.access import LINE, read_access
from mayfly.store.clicklog.jsonl import read_clicks
from mayfly.store.clicklog.rows import LONGEST_LINE, BadRow, Dropped, Read, Reading
from mayfly.store.clicklog.tables import first_row, header_of, read_csv, read_parquet
from mayfly.store.clicklog.w3c import read_w3c

__all__ = ["LINES", "LONGEST_LINE", "BadRow", "Dropped", "Read", "Reading", "form_of", "read_clicks", "read_parquet"]

LINES: dict[str, Callable[[Iterable[bytes], Reading], Iterator[Read]]] = {
    "jsonl": jsonl.read,
    "csv": read_csv,
    "search-console": read_csv,
    "access": read_access,
    "w3c": read_w3c,
}  # all but Parquet, which is no text


def form_of(beginning: bytes) -> str:
    """Which form a log has, by its first lines; what cannot be told is taken for JSON lines.

    >>> form_of(b'{"url": '), form_of(b"url;at;count"), form_of(b"#Software: IIS"), form_of(b"PAR1")
    ('jsonl', 'csv', 'w3c', 'parquet')
    """
    if beginning.startswith(b"PAR1"):
        return "parquet"
    lines = [line.decode(errors="replace").strip("\ufeff \r") for line in beginning.split(b"\n")]
    lines = [line for line in lines if line]
    for line in lines:
        if line.startswith("{"):
            return "jsonl"
        if line.startswith(("#Fields:", "#Version:", "#Software:", "#Date:")):
            return "w3c"
        if LINE.match(line):
            return "access"
    if not lines:
        return "jsonl"
    if not any(mark in lines[0] for mark in ",;\t|") and header_of(lines[:1]) is None:
        return "jsonl"
    header = header_of(first_row(lines[0])[1])
    return "search-console" if header is not None and header.is_search_console else "csv"
