"""Visit logs: who came from where to which page, and when. The forms are those of click logs, read by the same parsers.

A click log is for the crawl, which knows its pages by one spelling. A visit log is studied as it stands: a page, a
referrer and a visitor are whatever the log calls them, and only lines of a web server are made into addresses. Visits
come in blocks of columns, as there are millions of them.

`rows.py` has what all forms share, `tables.py` CSV and Parquet row by row, `columns.py` the same by whole columns,
`lines.py` the others. To add a form: a line below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mayfly.store.clicklog.rows import Reading
from mayfly.store.visitlog.lines import read_access, read_jsonl, read_w3c
from mayfly.store.visitlog.rows import Block, Coded, Visited, Wanted
from mayfly.store.visitlog.tables import read_csv, read_parquet

__all__ = ["LINES", "Block", "Coded", "Visited", "Wanted", "read_csv", "read_parquet"]

LINES: dict[str, Callable[[Iterable[bytes], Reading, Wanted], Iterator[Visited]]] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "search-console": read_csv,
    "access": read_access,
    "w3c": read_w3c,
}  # all but Parquet, which is no text
