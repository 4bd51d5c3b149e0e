"""Pages out: as lines of JSON, CSV, Parquet, WARC, or RSS of the newest. Page by page, so that any number fits."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from mayfly.core.model import SourceId
from mayfly.errors import RunError, UsageError
from mayfly.store.records import Outcome, Page
from mayfly.store.store import Store
from mayfly.store.warc import raw_records

Format: TypeAlias = Literal["jsonl", "csv", "parquet", "warc", "rss"]

# `source` is its address: numbers mean nothing outside a home. Times are seconds since 1970.
COLUMNS = (
    "url", "canonical", "source", "anchor", "rank", "published", "published_from", "found_at", "fetched_at", "delay",
    "status", "outcome", "reason", "title", "language", "text", "final_url", "host", "landed",
)  # fmt: skip
_NUMBERS = {"published", "found_at", "fetched_at", "delay"}
_WHOLE = {"rank", "status", "landed"}
_BATCH = 500  # pages read or written together; a text has a few kilobytes
_SUMMARY = 500  # characters of text in RSS
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Exported(NamedTuple):
    """How many pages were written, and how many could not be: no raw answer is kept of them."""

    written: int
    left_out: int = 0


async def settled(
    store: Store,
    after: int = 0,
    *,
    host: str | None = None,
    source: SourceId | None = None,
    outcome: Outcome | None = None,
) -> AsyncIterator[Page]:
    """All pages from behind the cursor, in the order they were settled."""
    while pages := await store.pages(after, _BATCH, host=host, source=source, outcome=outcome):
        for page in pages:
            yield page
        after = pages[-1].landed or after


async def export(pages: AsyncIterable[Page], to: Format, out: BinaryIO, archive: Path | None = None) -> Exported:
    """Write pages in a format; `archive` is the folder of the raw answers, for WARC."""
    if to == "warc":
        return await _to_warc(pages, out, archive)
    return Exported(await _WRITERS[to](pages, out))


async def _to_jsonl(pages: AsyncIterable[Page], out: BinaryIO) -> int:
    number = 0
    async for page in pages:
        out.write(json.dumps(row(page), ensure_ascii=False).encode() + b"\n")
        number += 1
    return number


async def _to_csv(pages: AsyncIterable[Page], out: BinaryIO) -> int:
    text = io.TextIOWrapper(out, "utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    number = 0
    async for page in pages:
        writer.writerow([_defused(value) for value in row(page).values()])
        number += 1
    text.detach()  # what it wraps is not ours to close
    return number


async def _to_parquet(pages: AsyncIterable[Page], out: BinaryIO) -> int:
    try:
        import pyarrow  # 165 MB, so an extra, and only where it is used
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow: pip install 'mayfly[parquet]', or take another format") from None
    kinds = {name: pyarrow.float64() for name in _NUMBERS} | {name: pyarrow.int64() for name in _WHOLE}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in COLUMNS])
    number = 0
    with pyarrow.parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        async for batch in _batches(pages):
            writer.write_table(pyarrow.Table.from_pylist([row(page) for page in batch], schema=schema))
            number += len(batch)
    return number


async def _to_warc(pages: AsyncIterable[Page], out: BinaryIO, archive: Path | None) -> Exported:
    """The records of these pages, as they are on disk."""
    if archive is None:
        raise UsageError("WARC needs the folder of the raw answers")
    written = left_out = 0
    async for page in pages:
        records = _records(archive, page.warc) if page.warc else b""
        out.write(records)
        if records:
            written += 1
        else:
            left_out += 1
    return Exported(written, left_out)


def _records(archive: Path, where: str) -> bytes:
    """An answer and its request, whole; nothing if they are no longer kept."""
    try:
        return b"".join(raw_records(archive, where))
    except RunError:
        return b""


async def to_rss(
    pages: AsyncIterable[Page], out: BinaryIO, title: str = "Mayfly", link: str = "https://localhost/"
) -> int:
    """As they come: ask for the newest."""
    about = _element("title", title) + _element("link", link) + _element("description", "New pages")
    out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0">\n<channel>\n{about}'.encode())
    number = 0
    async for page in pages:
        out.write("".join(_item(page)).encode())
        number += 1
    out.write(b"</channel>\n</rss>\n")
    return number


_WRITERS: dict[str, Callable[[AsyncIterable[Page], BinaryIO], Awaitable[int]]] = {
    "jsonl": _to_jsonl,
    "csv": _to_csv,
    "parquet": _to_parquet,
    "rss": to_rss,
}


async def _batches(pages: AsyncIterable[Page]) -> AsyncIterator[list[Page]]:
    batch: list[Page] = []
    async for page in pages:
        batch.append(page)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def each(pages: Iterable[Page]) -> AsyncIterator[Page]:
    """Pages one has already, for `export`."""
    for page in pages:
        yield page


def row(page: Page) -> dict[str, Any]:
    """A page by column."""
    return {name: page.source_url if name == "source" else getattr(page, name) for name in COLUMNS}


def _defused(value: Any) -> Any:
    """A cell no spreadsheet takes for a formula: titles are written by strangers.

    >>> _defused("=1+1"), _defused("a=1"), _defused(-1.0)
    ("'=1+1", 'a=1', -1.0)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _item(page: Page) -> Iterator[str]:
    said = " ".join(page.text[:_SUMMARY].split()) + ("…" if len(page.text) > _SUMMARY else "")
    at = page.published if page.published is not None else page.found_at
    yield "<item>\n"
    yield _element("title", page.title or page.anchor or page.url)
    yield _element("link", page.url)
    yield _element("guid", page.url, ' isPermaLink="true"')
    yield _element("pubDate", format_datetime(datetime.fromtimestamp(at, UTC)))
    if said:
        yield _element("description", escape(said))  # readers take it for HTML, so it is escaped for them, too
    yield _element("source", page.host, f" url={quoteattr(_xml(page.source_url))}")
    yield "</item>\n"


def _element(name: str, text: str, more: str = "") -> str:
    return f"<{name}{more}>{escape(_xml(text))}</{name}>\n"


def _xml(text: str) -> str:
    """Without the characters XML cannot hold in any spelling."""
    return _NOT_XML.sub("", text)
