"""What the store knows, told to a new scheduler: it learns all of it again, in the order it happened.

So there is no second copy of what is believed that could disagree with what is kept. History is bounded by retention.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mayfly.core import events
from mayfly.core.model import Fetch, PageId, Seconds, SourceId
from mayfly.core.scheduler import Scheduler
from mayfly.crawl.interest import Interest
from mayfly.crawl.settings import Settings
from mayfly.crawl.watched import KnownPage, Pages, Sources, Watched
from mayfly.store.past import ClockStep, Past, PastClicks, PastCrawl, PastFetch, PastHanded, PastHint, PastPage
from mayfly.store.records import Outcome
from mayfly.store.store import Store
from mayfly.urls import host_of


async def restore(
    store: Store,
    scheduler: Scheduler,
    interest: Interest,
    settings: Settings,
    now: Seconds,
    told: Callable[[], None] = lambda: None,
    ours: Callable[[str], bool] = lambda site: True,
) -> tuple[Sources, Pages]:
    """Bring a scheduler up to date, calling `told` for each thing that happened. Returns sources and waiting pages."""
    sources, kept = Sources(), await store.sources()
    announce(scheduler, sources.take(kept)[0], settings, now - settings.keep_history)  # what is older is not known
    async for past in store.past(now - settings.keep_history):
        if isinstance(past, PastHanded):
            await known_source(past.source, store, scheduler, sources, settings, past.at)
        event = _as_event(past, sources, interest)
        if event is not None:
            scheduler.observe(event)
        if isinstance(event, events.SourceCrawled):
            leave_to_others(scheduler, event.at, event.new_pages, ours)
        elif isinstance(event, events.PagesHanded):
            leave_to_others(scheduler, event.at, event.pages, ours)
        elif isinstance(event, events.ClicksCounted):  # some times a day, and nobody plans meanwhile
            scheduler.forget(event.at)
        told()
    for row in kept:
        failed = sources.of(row.id)
        if failed is not None and row.retry_at is not None and row.retry_at > now:
            scheduler.observe(events.FetchFailed(now, Fetch("source", failed.number), row.retry_at))
    pages: Pages = {}
    told_of = scheduler.waiting()
    known = set(told_of)
    for page in await store.waiting():
        first = next((one for one in map(sources.of, page.sources) if one is not None), None)
        if page.found_at < now - settings.keep_history:  # nothing tells the scheduler of it any more
            scheduler.dropped.add(page.page)
        elif first is not None and page.page in known:  # else others found it, and it is handed over
            pages[page.page] = KnownPage(page.url, page.site, first.number, page.found_at, page.tries)
            if page.retry_at is not None and page.retry_at > now:
                scheduler.observe(events.FetchFailed(now, Fetch("page", page.page), page.retry_at))
    for page_id in told_of:
        if page_id not in pages:  # given up, or dropped
            scheduler.observe(events.FetchFailed(now, Fetch("page", page_id)))
    return sources, pages


def announce(scheduler: Scheduler, new: Sequence[Watched], settings: Settings, now: Seconds) -> None:
    """Tell the scheduler of sources it does not know yet."""
    if not new:
        return
    hosts, sites, kinds, ids = zip(*((host_of(one.url), one.site, one.kind, one.id) for one in new), strict=True)
    scheduler.observe(events.SourcesAdded(now, hosts, sites, kinds, ids))
    idle = [one.number for one in new if not one.active]
    if idle:
        scheduler.observe(events.SourcesRetired(now, idle))
    for one in new:
        every = one.pinned or settings.record_every or None
        if every is not None and one.active:
            scheduler.observe(events.SourcesPinned(now, [one.number], every))


async def known_source(
    source: SourceId, store: Store, scheduler: Scheduler, sources: Sources, settings: Settings, now: Seconds
) -> Watched:
    """One of ours; or one of another crawler that found pages for us, known from now on."""
    known = sources.of(source)
    if known is None:
        known = sources.of_another((await store.sources([source]))[0])
        announce(scheduler, [known], settings, now)
    return known


def settled(page: PageId, outcome: Outcome, was_read: bool, at: Seconds) -> events.Event:
    """What became of a page, as the scheduler is told of it."""
    if outcome == "fetched":
        return events.PageFetched(at, page)
    if was_read:
        return events.PageRejected(at, page)
    return events.FetchFailed(at, Fetch("page", page))  # which says nothing against its source


def leave_to_others(
    scheduler: Scheduler, at: Seconds, pages: Sequence[events.NewPage], ours: Callable[[str], bool]
) -> None:
    """Pages of sites that are not ours are fetched by whose they are: they are known, and never compete."""
    for page in pages:
        if page.site is not None and not ours(page.site):
            scheduler.observe(events.FetchFailed(at, Fetch("page", page.page), math.inf))


def _as_event(past: Past, sources: Sources, interest: Interest) -> events.Event | None:
    if isinstance(past, PastCrawl):
        source = sources.of(past.source)
        if source is None:
            return None
        return events.SourceCrawled(
            past.at, source.number, _new(past.new), past.known, past.stayed, past.gone, past.dated,
            past.dated_since, [rank or None for rank in past.known_ranks],
        )  # fmt: skip
    if isinstance(past, PastHint):
        source = sources.of(past.source)
        if source is None:
            return None
        if past.new and not past.calls:  # where a page of it led to
            return events.PagesHanded(past.at, source.number, _new(past.new))
        return events.SourceHinted(past.at, source.number, _new(past.new), past.calls)
    if isinstance(past, PastHanded):
        source = sources.of(past.source)
        return None if source is None else events.PagesHanded(past.at, source.number, _new(past.new))
    if isinstance(past, PastFetch):
        return settled(past.page, past.outcome, past.was_read, past.at)
    if isinstance(past, ClockStep):
        return events.ClockStepped(past.at, past.by)
    assert isinstance(past, PastClicks)
    return interest.counted(past.at, past.clicks)


def _new(pages: Sequence[PastPage]) -> list[events.NewPage]:
    return [
        events.NewPage(page, site, published, rank or None, url, anchor, context)
        for page, site, published, rank, url, anchor, context in pages
    ]
