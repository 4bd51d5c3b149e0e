"""Pages that one shard finds and another fetches, as feeds of many sites do.

The page waits in the store under its own shard, from the transaction that found it on. Its owner looks for such pages;
the source that found it is then known to him, too, though he never crawls it: what its pages are worth is learned
there. And who found it is told what became of it, so that clicks on it count for the source. A restart is told all of
this again (`store/tables/past.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from mayfly.core import events
from mayfly.core.model import Fetch, PageId
from mayfly.crawl.parts import Parts
from mayfly.crawl.restoring import known_source, leave_to_others, settled
from mayfly.crawl.watched import KnownPage
from mayfly.store.postgres import PostgresStore
from mayfly.store.tables.handing import Fate, Handed

_AT_ONCE = 1000  # pages taken in, so that a great many hold up nothing else


class Handover:
    """Of one shard."""

    def __init__(self, parts: Parts, store: PostgresStore, cursor: int) -> None:
        """`cursor`: behind what was settled before the past is told again; what is told twice does no harm."""
        self._parts, self._store, self._cursor = parts, store, cursor
        self._told: set[PageId] = set()  # pages of ours that others found, and that still wait
        self._begun = False

    async def take(self) -> bool:
        """Take in what others found for us, and what became of what we found; whether there was anything."""
        if not self._begun:  # a start does not tell by how many redirects pages were found
            for page, leads in await self._store.leads():
                if page in self._parts.pages:
                    self._parts.pages[page].leads = leads
            self._begun = True
        waiting = await self._store.handed_over()
        unknown = [page for page in waiting if page not in self._told and page not in self._parts.pages][:_AT_ONCE]
        new = await self._store.handed(unknown, waiting=True) if unknown else []
        self._told = self._told.intersection(waiting).union(unknown)
        await self._found(new)
        self._try_later(new)
        since = self._parts.clock.now() - self._parts.settings.keep_history
        fates = await self._store.fates(self._cursor, since)
        if brought := [fate.page for fate in fates if fate.by_others]:
            await self._found(await self._store.handed(brought))
        for fate in fates:
            self._settled(fate)
        return bool(new or fates)

    async def _found(self, pages: Sequence[Handed]) -> None:
        """Tell the scheduler of pages that others found; those of our sites wait from now on."""
        parts, ours = self._parts, self._parts.door.territory.ours
        for (source, found_at), some in groupby(pages, key=lambda one: (one.source, one.found_at)):
            known = await known_source(source, parts.store, parts.scheduler, parts.sources, parts.settings, found_at)
            at, new = min(found_at, parts.clock.now()), []
            for one in some:
                text = one.url, one.anchor, one.context
                new.append(events.NewPage(one.page, one.site, one.appeared, one.rank or None, *text))
                if ours(one.site):
                    parts.pages[one.page] = KnownPage(one.url, one.site, known.number, found_at, one.tries, one.leads)
            parts.scheduler.observe(events.PagesHanded(at, known.number, new))
            leave_to_others(parts.scheduler, at, new, ours)

    def _try_later(self, pages: Sequence[Handed]) -> None:
        """Those that failed where they were fetched before."""
        scheduler, now = self._parts.scheduler, self._parts.clock.now()
        for one in pages:
            if one.retry_at is not None and one.retry_at > now:
                scheduler.observe(events.FetchFailed(now, Fetch("page", one.page), one.retry_at))

    def _settled(self, fate: Fate) -> None:
        scheduler, now = self._parts.scheduler, self._parts.clock.now()
        self._cursor = fate.landed
        scheduler.observe(settled(fate.page, fate.outcome, fate.at is not None, fate.at or now))
