"""A store by its tables: what all kinds of databases have in common. Work is done in `tables/`, in one thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.hints import Hint, HintRow, NamedHub, Subscription
from mayfly.store.listings import (
    Beat,
    Believed,
    Counted,
    HostsListed,
    HostYield,
    Listing,
    PageColumns,
    SourcesListed,
    VisitOfSource,
)
from mayfly.store.past import ClockStep, Past
from mayfly.store.records import (
    Candidate,
    ClickRow,
    Clicks,
    ClicksTaken,
    Crawled,
    Estimate,
    Fetched,
    Happened,
    Hinted,
    Host,
    KeptRobots,
    Landed,
    LinkSpan,
    Minute,
    NewSource,
    Outcome,
    Page,
    Rest,
    Source,
    SourceState,
    Suggestion,
    WaitingPage,
)
from mayfly.store.sights import ANY, Candidates, Only, Sight
from mayfly.store.tables import (
    clicks,
    crawls,
    fetches,
    finding,
    hints,
    linked,
    listings,
    pages,
    past,
    reading,
    seen,
    sources,
    tendency,
    watching,
)
from mayfly.store.tables.words import phrases
from mayfly.store.thread import StoreThread

_ESTIMATES = 5000  # written at once, so that nobody waits long


class TableStore:
    """Implements all of `store.Store` that is alike everywhere."""

    def __init__(self, thread: StoreThread[Any]) -> None:
        self._thread = thread
        self._read, self._write = thread.read, thread.write

    async def __aenter__(self) -> Self:
        await self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._thread.stop()

    # What happens

    async def commit(self, happened: Happened) -> Landed:
        return await self._write(lambda database: _land(database, happened))

    async def clock_stepped(self, step: ClockStep) -> None:
        await self._write(lambda database: past.step(database, step))

    async def note_minute(self, minute: Minute) -> None:
        await self._write(lambda database: finding.note_minute(database, minute))

    # Sources

    async def sources(self, ids: Sequence[SourceId] | None = None) -> list[Source]:
        if ids is None:
            return await self._read(sources.all_of)
        return await self._read(lambda database: sources.some(database, ids))

    async def source_at(self, url: str) -> Source | None:
        return await self._read(lambda database: sources.at_url(database, url))

    async def edited(self, after: int) -> list[Source]:
        return await self._read(lambda database: sources.edited(database, after))

    async def add_sources(self, at: Seconds, found: Sequence[NewSource]) -> list[SourceId]:
        return await self._write(lambda database: sources.add(database, at, found))

    async def edit_source(
        self, source: SourceId, *, state: SourceState | None = None, reason: str | None = None
    ) -> None:
        await self._write(lambda database: sources.edit(database, source, state, reason))

    async def pin(self, source: SourceId, every: Seconds | None) -> None:
        await self._write(lambda database: sources.pin(database, source, every))

    async def save_estimates(self, estimates: Sequence[Estimate]) -> None:
        for low in range(0, len(estimates), _ESTIMATES):
            some = estimates[low : low + _ESTIMATES]
            await self._write(partial(sources.save_estimates, estimates=some))

    async def keep_page_values(self, weights: bytes) -> None:
        await self._write(lambda database: sources.keep_page_values(database, weights))

    async def page_values(self, site: str = "") -> bytes | None:
        return await self._read(sources.page_values)

    async def shows(self, sources: Sequence[SourceId]) -> dict[SourceId, frozenset[int]]:
        return await self._read(lambda database: seen.shows(database, sources))

    # Finding

    async def hosts(self) -> list[Host]:
        return await self._read(finding.hosts)

    async def hosts_due(self, searched: Seconds, failed: Seconds) -> list[str]:
        return await self._read(lambda database: finding.hosts_due(database, searched, failed))

    async def add_hosts(self, at: Seconds, hosts: Sequence[str], led_by: str = "") -> None:
        # `led_by` is nobody here: one process asks every site itself.
        await self._write(lambda database: finding.add_hosts(database, at, hosts))

    async def host_searched(self, host: str, at: Seconds, failure: str = "") -> None:
        await self._write(lambda database: finding.host_searched(database, host, at, failure))

    async def note_candidates(self, at: Seconds, host: str, urls: Sequence[str]) -> None:
        await self._write(lambda database: finding.note_candidates(database, at, host, urls))

    async def candidates(self, host: str) -> list[Candidate]:
        return await self._read(lambda database: finding.candidates(database, host))

    async def suggestions(self, first: int) -> list[Suggestion]:
        return await self._read(lambda database: linked.suggestions(database, first))

    # Pages

    async def unseen(self, urls: Sequence[str]) -> list[str]:
        return await self._read(lambda database: seen.unseen(database, urls))

    async def page_at(self, url: str) -> Page | None:
        return await self._read(lambda database: pages.at_url(database, url))

    async def pages(
        self,
        after: int = 0,
        first: int = 1000,
        *,
        host: str | None = None,
        source: SourceId | None = None,
        outcome: Outcome | None = None,
    ) -> list[Page]:
        return await self._read(
            lambda database: pages.settled(database, first, after=after, host=host, source=source, outcome=outcome)
        )

    async def newest(self, first: int, **only: Any) -> list[Page]:
        return await self._read(lambda database: pages.settled(database, first, order="DESC", **only))

    async def search(self, words: str, first: int = 50) -> list[Page]:
        return await self._read(lambda database: pages.search(database, words, first))

    async def page(self, page: PageId) -> Page | None:
        return await self._read(lambda database: pages.by_id(database, page))

    async def freshest(self, first: int, only: Only = ANY) -> Candidates:
        return await self._read(lambda database: reading.freshest(database, first, only))

    async def matching(self, words: str, first: int, only: Only = ANY) -> Candidates:
        return await self._read(lambda database: reading.matching(database, phrases(words), first, only))

    async def sights(self, landed: Sequence[int], words: str = "") -> list[Sight]:
        return await self._read(lambda database: reading.sights(database, landed, phrases(words)))

    async def drop(self, pages: Sequence[PageId], at: Seconds) -> None:
        await self._write(lambda database: fetches.drop(database, pages, at))

    # To rebuild what is known

    async def waiting(self) -> list[WaitingPage]:
        return await self._read(past.waiting)

    async def past(self, since: Seconds) -> AsyncIterator[Past]:
        span = await self._read(lambda database: past.span_since(database, since))
        while span.behind < span.upto:
            told, span = await self._read(partial(past.chunk, span=span))
            for each in told:
                yield each

    async def links(self) -> AsyncIterator[LinkSpan]:
        behind: tuple[int, int] | None = (0, 0)
        while behind is not None:
            some, behind = await self._read(partial(past.links, behind=behind))
            for link in some:
                yield link

    async def crawl_gaps(self) -> dict[SourceId, Seconds]:
        return await self._read(past.crawl_gaps)

    # Clicks

    async def add_clicks(
        self, at: Seconds, rows: Sequence[ClickRow], bin: Seconds = 1200.0, batch: str = ""
    ) -> ClicksTaken:
        told = await asyncio.to_thread(clicks.binned, rows, bin)
        return await self._write(lambda database: clicks.add(database, told, at, batch))

    async def has_batch(self, batch: str) -> bool:
        return await self._read(lambda database: clicks.has_batch(database, batch))

    async def clicks_since(self, cursor: int, most: int = 500_000) -> tuple[Clicks, int]:
        return await self._read(lambda database: clicks.since(database, cursor, most))

    async def clicks_told(self, at: Seconds, cursor: int) -> None:
        await self._write(lambda database: clicks.tell(database, at, cursor))

    async def told(self) -> int:
        return await self._read(clicks.told)

    # What others tell us, and what they are told

    async def add_hints(self, at: Seconds, rows: Sequence[HintRow]) -> None:
        await self._write(lambda database: hints.add(database, at, rows))

    async def hints_since(self, cursor: int) -> tuple[list[Hint], int]:
        return await self._read(lambda database: hints.since(database, cursor))

    async def hints_taken(self, cursor: int) -> None:
        await self._write(lambda database: hints.taken(database, cursor))

    async def hints_cursor(self) -> int:
        return await self._read(hints.cursor)

    async def keep_subscription(self, subscription: Subscription) -> None:
        await self._write(lambda database: hints.keep_subscription(database, subscription))

    async def change_subscription(self, was: Subscription, now: Subscription | None) -> bool:
        return await self._write(lambda database: hints.change_subscription(database, was, now))

    async def subscription(self, id: str) -> Subscription | None:
        return await self._read(lambda database: hints.subscription(database, id))

    async def subscriptions(self) -> list[Subscription]:
        return await self._read(hints.subscriptions)

    async def named_hubs(self) -> list[NamedHub]:
        return await self._read(hints.named_hubs)

    async def told_of(self, topic: str, hub: str) -> list[str]:
        return await self._read(lambda database: hints.told_of(database, topic, hub))

    async def sent(self) -> int | None:
        return await self._read(hints.sent)

    async def note_sent(self, landed: int) -> None:
        await self._write(lambda database: hints.note_sent(database, landed))

    # For whoever watches

    async def list_sources(self, asked: Listing) -> SourcesListed:
        return await self._read(lambda database: listings.sources(database, asked))

    async def list_hosts(self, asked: Listing) -> HostsListed:
        return await self._read(lambda database: listings.hosts(database, asked))

    async def host_yields(self, since: Seconds) -> list[HostYield]:
        return await self._read(lambda database: tendency.yields(database, since))

    async def believed(self) -> Believed:
        return await self._read(watching.believed)

    async def visits(self, source: SourceId, first: int) -> list[VisitOfSource]:
        return await self._read(lambda database: watching.visits(database, source, first))

    async def arrivals(self, source: SourceId) -> list[Seconds]:
        return await self._read(lambda database: watching.arrivals(database, source))

    async def landed_at(self, at: Seconds) -> int:
        return await self._read(lambda database: watching.landed_at(database, at))

    async def fetched_since(self, landed: int) -> PageColumns:
        return await self._read(lambda database: watching.fetched_since(database, landed))

    async def beats(self, since: Seconds, width: Seconds) -> list[Beat]:
        return await self._read(lambda database: watching.beats(database, since, width))

    async def counted_since(self, seq: int | None) -> Counted:
        return await self._read(lambda database: watching.counted_since(database, seq))

    # Robots, settings, care

    async def robots(self, origins: Sequence[str] | None = None) -> list[KeptRobots]:
        return await self._read(lambda database: finding.robots(database, origins))

    async def keep_robots(self, robots: KeptRobots) -> None:
        await self._write(lambda database: finding.keep_robots(database, robots))

    async def note_rest(self, rest: Rest, reason: str) -> None:
        await self._write(lambda database: finding.note_rest(database, rest, reason))

    async def rests(self, now: Seconds) -> list[Rest]:
        return await self._read(lambda database: finding.rests(database, now))

    async def minutes(self, since: Seconds) -> list[Minute]:
        return await self._read(lambda database: finding.minutes(database, since))


def _land(database: Database, happened: Happened) -> Landed:
    match happened:
        case Crawled():
            return crawls.land_crawl(database, happened)
        case Hinted():
            return crawls.land_hint(database, happened)
        case Fetched():
            return fetches.land_fetch(database, happened)
    if happened.rest is not None:
        finding.note_rest(database, happened.rest, happened.reason)
    if happened.kind == "source":
        crawls.land_failure(database, happened)
    else:
        fetches.land_failure(database, happened)
    return None
