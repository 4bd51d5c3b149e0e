"""Pages that one shard finds and another fetches, as feeds of many sites do.

The page waits in the store under its own shard, from the transaction that found it on. Its owner looks for such pages;
the source that found it is then known to him, too, though he never crawls it: what its pages are worth is learned
there. And who found it is told what became of it, so that clicks on it count for the source.
"""

from __future__ import annotations

from itertools import groupby

from mayfly.core import events
from mayfly.core.model import Fetch, PageId
from mayfly.crawl.parts import Parts
from mayfly.crawl.restoring import announce
from mayfly.crawl.watched import KnownPage, Watched
from mayfly.store.postgres import PostgresStore
from mayfly.store.tables.handing import Fate, Handed

_AT_ONCE = 1000  # pages taken in, so that a great many hold up nothing else


class Handover:
    """Of one shard."""

    def __init__(self, parts: Parts, store: PostgresStore) -> None:
        self._parts, self._store = parts, store
        self._told: set[PageId] = set()  # pages of ours that others found, and that still wait
        self._cursor = 0

    async def take(self) -> bool:
        """Take in what others found for us, and what became of what we found; whether there was anything."""
        waiting = await self._store.handed_over()
        unknown = [page for page in waiting if page not in self._told and page not in self._parts.pages][:_AT_ONCE]
        new = await self._store.handed(unknown) if unknown else []
        self._told = self._told.intersection(waiting).union(unknown)
        for (source, _), pages in groupby(new, key=lambda one: (one.source, one.found_at)):
            self._found(await self._source(source), list(pages))
        since = self._parts.clock.now() - self._parts.settings.keep_history
        fates = await self._store.fates(self._cursor, since)
        for fate in fates:
            self._settled(fate)
        return bool(new or fates)

    async def _source(self, number: int) -> Watched:
        parts = self._parts
        known = parts.sources.of(number)
        if known is None:
            row = (await self._store.sources([number]))[0]
            known = parts.sources.of_another(row)
            announce(parts.scheduler, [known], parts.settings, parts.clock.now())
        return known

    def _found(self, source: Watched, pages: list[Handed]) -> None:
        parts, now = self._parts, self._parts.clock.now()
        for one in pages:
            parts.pages[one.page] = KnownPage(one.url, one.site, source.number, one.found_at, one.tries)
        parts.scheduler.observe(
            events.SourceCrawled(
                min(pages[0].found_at, now),
                source.number,
                [
                    events.NewPage(
                        one.page, one.site, one.published, one.rank or None, one.url, one.anchor, one.context
                    )
                    for one in pages
                ],
            )
        )
        for one in pages:
            if one.retry_at is not None and one.retry_at > now:
                parts.scheduler.observe(events.FetchFailed(now, Fetch("page", one.page), one.retry_at))

    def _settled(self, fate: Fate) -> None:
        scheduler, now = self._parts.scheduler, self._parts.clock.now()
        self._cursor = fate.landed
        if fate.outcome == "fetched":
            scheduler.observe(events.PageFetched(fate.at or now, fate.page))
        elif fate.outcome in ("failed", "dropped"):
            scheduler.observe(events.FetchFailed(now, Fetch("page", fate.page)))
        else:
            scheduler.observe(events.PageRejected(fate.at or now, fate.page))
