"""`mayfly lab record`: what a home has seen, as a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mayfly.cli import home as homes
from mayfly.cli import words
from mayfly.cli.lab import Suffix, new_folder
from mayfly.cli.layers import resolve
from mayfly.cli.pages import Only, in_order
from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.core.quality import Interest
from mayfly.errors import RunError
from mayfly.fetch.loop import run
from mayfly.lab.trace import Trace, write_trace
from mayfly.store.records import Clicks, LinkSpan, Source, WaitingPage
from mayfly.store.store import Store

_NO_NEW_PAGES = {"old", "duplicate", "soft-404", "log-in"}  # outcomes of what was no new page after all


@dataclass(frozen=True)
class History:
    """What a home has seen."""

    sources: Sequence[Source]
    pages: dict[PageId, tuple[str, Seconds]]  # url, published
    links: Sequence[LinkSpan]
    clicks: Clicks
    gaps: dict[SourceId, Seconds]
    start: Seconds
    end: Seconds


def record(
    out: Annotated[Path, typer.Argument(help="Folder for the trace; must be new or empty.", metavar="OUT")],
    home: homes.Home = homes.DEFAULT,
    name: Annotated[str | None, typer.Option(help="Of the trace. Default: that of its folder.")] = None,
    form: Annotated[Suffix, typer.Option("--format", help="csv, csv.gz or parquet.")] = Suffix.gz,
) -> None:
    """Write what a home has seen as a trace: sources, new pages, links as they came and went, clicks.

    A record made with `mayfly crawl --record-every 10m` knows every link that stood for so long. One made by a policy
    knows what that policy looked at, and `mayfly lab run` says so.

    Example: mayfly lab record --home mayfly-home traces/mine
    """
    new_folder(out)
    settings, _ = resolve(home, {})
    last = homes.last_run(home)
    history = run(_read(home))
    about: dict[str, Any] = {
        "origin": "recorded",
        "gaps": {str(source): gap for source, gap in sorted(history.gaps.items())},
        "policy": last.get("policy", settings.policy),
    }
    if every := float(last.get("record_every", settings.record_every)):
        about["record_every"] = every
    trace = as_trace(history, name or out.name, about)
    write_trace(trace, out, f".{form.value}")
    words.say(
        f"{out}: {len(trace.source_ids):,} sources, {len(trace.page_ids):,} new pages, {len(trace.added):,} links, "
        f"{trace.clicks.number.sum():,.0f} clicks in {words.about(trace.end - trace.start)}"
    )


async def _read(home: Path) -> History:
    async with homes.store_of(home) as store:
        sources = await store.sources()
        start = await _first_crawl(store)
        end = max((source.last_crawl for source in sources if source.last_crawl is not None), default=None)
        if start is None or end is None or end <= start:
            raise RunError("there is no history to record yet: a trace needs two crawls at least")
        gaps = await store.crawl_gaps()
        pages = {page.page: (page.url, _published(page, gaps)) for page in await store.waiting()}
        async for page in in_order(store, Only(None, None, None), 0):
            if page.outcome not in _NO_NEW_PAGES:
                pages[page.id] = page.url, page.published if page.published is not None else page.found_at
        links = [link async for link in store.links()]
        return History(sources, pages, links, await _clicks(store), gaps, start, end)


def _published(page: WaitingPage, gaps: dict[SourceId, Seconds]) -> Seconds:
    """Where nothing says when, half a usual gap before a crawl showed it."""
    if page.published is not None:
        return page.published
    return page.found_at - gaps.get(page.sources[0], 0.0) / 2


async def _first_crawl(store: Store) -> Seconds | None:
    async for happened in store.past(0.0):
        return happened.at
    return None


async def _clicks(store: Store) -> Clicks:
    parts: list[Clicks] = []
    cursor = -1
    behind = 0
    while behind != cursor:
        cursor = behind
        some, behind = await store.clicks_since(cursor)
        parts.append(some)
    return Clicks(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def as_trace(history: History, name: str, about: dict[str, Any]) -> Trace:
    """The part of a history that makes a trace: pages published while it was kept, and what concerns them."""
    start, end = history.start, history.end
    pages = {page: said for page, said in history.pages.items() if start <= said[1] < end}
    row_of_page = {page: row for row, page in enumerate(pages)}
    row_of_source = {source.id: row for row, source in enumerate(history.sources)}
    published = np.array([at for _, at in pages.values()], dtype=float)
    links = [link for link in history.links if link.page in row_of_page and start <= link.added]
    ranks = np.array([link.rank for link in links], dtype=float)
    return Trace(
        name=name,
        start=start,
        end=end,
        source_ids=[str(source.id) for source in history.sources],
        source_urls=[source.url for source in history.sources],
        hosts=[source.host for source in history.sources],
        kinds=[source.kind for source in history.sources],
        page_ids=[str(page) for page in pages],
        page_urls=[url for url, _ in pages.values()],
        published=published,
        link_source=np.array([row_of_source[link.source] for link in links], dtype=np.int64),
        link_page=np.array([row_of_page[link.page] for link in links], dtype=np.int64),
        added=np.array([link.added for link in links], dtype=float),
        removed=np.array([np.inf if link.removed is None else link.removed for link in links], dtype=float),
        rank=np.where(ranks > 0, ranks, ranks.max() + 1) if ranks.any() else None,
        clicks=_interest(history.clicks, row_of_page, published),
        about=about,
    )


def _interest(clicks: Clicks, row_of_page: dict[PageId, int], published: Any) -> Interest:
    """Clicks of these pages. Only the middle of a bin is known, which may lie before the page did."""
    rows = np.array([row_of_page.get(page, -1) for page in clicks.page.tolist()], dtype=np.int64)
    kept = (rows >= 0) & ~clicks.show
    page = rows[kept]
    at = np.maximum(clicks.at[kept], published[page])
    order = np.lexsort((page, at))
    return Interest(page[order], at[order], np.rint(clicks.number[kept])[order])
