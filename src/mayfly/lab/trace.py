"""A recorded world: what a crawler could have seen, and what people wanted (DESIGN §4).

A trace is a folder of tables and `trace.json`. It is read whole and checked whole; a broken one is refused with file,
row and reason. In memory ids are row numbers, and times are floats.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mayfly.core.model import BoolArray, FloatArray, IntArray, PerSecond, Seconds
from mayfly.core.quality import Interest
from mayfly.errors import TraceError, UsageError
from mayfly.lab.tables import Table, find_table, read_table, write_table

DATED_KINDS = ("feed", "sitemap")  # sources that say when a page was published


@dataclass(frozen=True)
class Trace:
    """Sources, pages, the links between them over time, and the clicks."""

    name: str
    start: Seconds
    end: Seconds
    source_ids: list[str]
    source_urls: list[str]
    hosts: list[str]
    kinds: list[str]
    page_ids: list[str]
    page_urls: list[str]
    published: FloatArray
    link_source: IntArray
    link_page: IntArray
    added: FloatArray
    removed: FloatArray  # inf: still there at the end
    rank: FloatArray | None
    clicks: Interest
    shows: Interest | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def page_rate(self) -> PerSecond:
        """New pages per second; budgets such as 0.22x are shares of it."""
        return len(self.page_ids) / (self.end - self.start)

    def interest(self, value: str) -> Interest:
        """What counts as profit: clicks or shows."""
        if value == "clicks":
            return self.clicks
        if value == "shows":
            if self.shows is None:
                raise UsageError(f"trace {self.name} has no shows; use --value clicks")
            return self.shows
        raise UsageError(f"--value must be clicks or shows, not '{value}'")

    def until(self, end: Seconds) -> Trace:
        """The trace cut at `end`: pages published from then on never were. Later clicks of the others still count."""
        if not self.start < end <= self.end:
            raise UsageError(f"--until must lie in ({self.start}, {self.end}], the time of the trace; got {end}")
        pages = self.published < end
        number = np.cumsum(pages) - 1
        links = pages[self.link_page] & (self.added < end)
        return replace(
            self,
            end=end,
            page_ids=[name for name, stays in zip(self.page_ids, pages, strict=True) if stays],
            page_urls=[url for url, stays in zip(self.page_urls, pages, strict=True) if stays],
            published=self.published[pages],
            link_source=self.link_source[links],
            link_page=number[self.link_page[links]],
            added=self.added[links],
            removed=self.removed[links],
            rank=None if self.rank is None else self.rank[links],
            clicks=_of_pages(self.clicks, pages, number),
            shows=None if self.shows is None else _of_pages(self.shows, pages, number),
        )


def read_trace(folder: Path) -> Trace:
    """Read and check a trace."""
    about = _read_about(folder)
    start, end = (_time_of(about, key) for key in ("start", "end"))
    if not start < end:
        raise TraceError("trace.json", f"end ({end}) must be after start ({start})")
    sources = read_table(folder, "sources")
    source_ids, source_rows = sources.own_ids("source")
    kinds = sources.text("kind")
    pages = read_table(folder, "pages")
    page_ids, page_rows = pages.own_ids("page")
    published = pages.numbers("published")
    pages.refuse((published < start) | (published >= end), f"published must lie in [start, end) = [{start}, {end})")
    links = read_table(folder, "links")
    added, removed = links.numbers("added"), links.numbers("removed", empty=np.inf)
    links.refuse(added < start, f"added is before the start ({start})")
    links.refuse(removed < added, "removed is before added")
    shows = find_table(folder, "shows")
    return Trace(
        name=str(about.get("name", folder.name)),
        start=start,
        end=end,
        source_ids=source_ids,
        source_urls=sources.text("url"),
        hosts=sources.text("host"),
        kinds=kinds,
        page_ids=page_ids,
        page_urls=pages.text("url"),
        published=published,
        link_source=links.ids("source", source_rows, "source"),
        link_page=links.ids("page", page_rows, "page"),
        added=added,
        removed=removed,
        rank=links.numbers("rank", empty=np.inf) if "rank" in links else None,
        clicks=_read_interest(read_table(folder, "clicks"), page_rows, published),
        shows=_read_interest(read_table(folder, "shows"), page_rows, published) if shows else None,
        about=about,
    )


def write_trace(trace: Trace, folder: Path, suffix: str = ".csv.gz") -> None:
    """Write a trace as `read_trace` reads it; the same trace gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    write_table(
        folder,
        "sources",
        {"source": trace.source_ids, "url": trace.source_urls, "host": trace.hosts, "kind": trace.kinds},
        suffix,
    )
    write_table(
        folder,
        "pages",
        {"page": trace.page_ids, "url": trace.page_urls, "published": trace.published.tolist()},
        suffix,
    )
    links: dict[str, Any] = {
        "source": [trace.source_ids[number] for number in trace.link_source.tolist()],
        "page": [trace.page_ids[number] for number in trace.link_page.tolist()],
        "added": trace.added.tolist(),
        "removed": ["" if np.isinf(at) else at for at in trace.removed.tolist()],
    }
    if suffix == ".parquet":
        links["removed"] = [None if cell == "" else cell for cell in links["removed"]]
    if trace.rank is not None:
        links["rank"] = trace.rank.astype(int).tolist()
    write_table(folder, "links", links, suffix)
    for name, interest in (("clicks", trace.clicks), ("shows", trace.shows)):
        if interest is not None:
            page = [trace.page_ids[number] for number in interest.page.tolist()]
            count = interest.number.astype(int).tolist()
            write_table(folder, name, {"page": page, "at": interest.at.tolist(), "count": count}, suffix)
    about = {**trace.about, "name": trace.name, "start": trace.start, "end": trace.end}
    (folder / "trace.json").write_text(json.dumps(about, indent=1) + "\n")


def _read_about(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise TraceError(str(folder), "there is no such folder; a trace is a folder with trace.json and its tables")
    path = folder / "trace.json"
    if not path.exists():
        raise TraceError(str(folder), "there is no trace.json")
    try:
        about = json.loads(path.read_text())
    except ValueError as error:
        raise TraceError("trace.json", f"is not JSON ({error})") from None
    if not isinstance(about, dict):
        raise TraceError("trace.json", "must be a JSON object with name, start and end")
    return about


def _time_of(about: dict[str, Any], key: str) -> Seconds:
    value = about.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise TraceError("trace.json", f"{key} must be a time in seconds, got {json.dumps(value)}")
    return float(value)


def _read_interest(table: Table, page_rows: dict[str, int], published: FloatArray) -> Interest:
    page = table.ids("page", page_rows, "page")
    at, count = table.numbers("at"), table.numbers("count")
    table.refuse(at < published[page], "at is before the page was published")
    table.refuse(count < 0, "count is negative")
    order = np.lexsort((page, at))
    return Interest(page[order], at[order], count[order])


def _of_pages(interest: Interest, pages: BoolArray, number: IntArray) -> Interest:
    kept = pages[interest.page]
    return Interest(number[interest.page[kept]], interest.at[kept], interest.number[kept])
