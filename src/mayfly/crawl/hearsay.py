"""Hints, as far as they are of sources we watch: those that were sent, and what sources say of themselves and others.

What is made of them is learned in the core (`core/hints.py`). All that is believed or doubted is in the log of the
store, so a restart believes the same.
"""

from __future__ import annotations

from collections.abc import Callable

from mayfly.core import events
from mayfly.core.model import DAY, MINUTE, Seconds
from mayfly.crawl.candidates import is_dull
from mayfly.crawl.parts import Parts
from mayfly.crawl.watched import KnownPage, Watched
from mayfly.fetch.document import Document
from mayfly.store.hints import Hint
from mayfly.store.records import Hinted, LandedCrawl, ShownLink

_SHORTEST_TTL: Seconds = MINUTE
_LONGEST_TTL: Seconds = DAY
_MOST_NAMED = 50  # pages of one source at once


class Hearsay:
    """Tells the scheduler what others say."""

    def __init__(self, parts: Parts, stir: Callable[[], None]) -> None:
        self._parts, self._stir = parts, stir
        self._cursor: int | None = None  # not known yet
        self._due: dict[int, Seconds] = {}  # when sources will have changed, as they say themselves; by number

    async def take(self) -> None:
        """Take in what came since the last look, and what has become due."""
        parts = self._parts
        if self._cursor is None:
            self._cursor = await parts.store.hints_cursor()
        given, cursor = await parts.store.hints_since(self._cursor)
        for number, links in self._by_source(given).items():
            await self._told(parts.sources[number], links, calls=True)
        if cursor != self._cursor:
            await parts.store.hints_taken(cursor)
            self._cursor = cursor
        now = parts.clock.now()
        for number in [number for number, due in self._due.items() if due <= now]:
            del self._due[number]
            await self._told(parts.sources[number], [], calls=False)

    async def read(self, source: Watched, document: Document, at: Seconds) -> None:
        """A feed may say how long it stays as it is, and a sitemap when sources changed."""
        if document.ttl is not None:
            self._due[source.number] = at + min(max(document.ttl, _SHORTEST_TTL), _LONGEST_TTL)
        if document.kind == "sitemap":
            links = document.links
            for place, date in links.dates.items():
                other = self._parts.sources.exactly(links.urls[place])
                if other is not None and other.active and (other.last_crawl or at) < date <= at:
                    await self._told(other, [], calls=False)

    def crawled(self, source: Watched) -> None:
        """What it said before counts no more."""
        self._due.pop(source.number, None)

    def _by_source(self, given: list[Hint]) -> dict[int, list[ShownLink]]:
        """The pages that are named, by the number of their source; none: it is the source that changed."""
        sources = self._parts.sources
        named: dict[int, list[ShownLink]] = {}
        for hint in given:
            source = sources.at(hint.url) if hint.kind == "source" else sources.nearest(hint.url)
            if source is None or not source.active:
                continue
            links = named.setdefault(source.number, [])
            if hint.kind == "page" and self._parts.patterns.page(hint.url) and not is_dull(hint.url):
                links.append(ShownLink(hint.url, source.site))
        return named

    async def _told(self, source: Watched, links: list[ShownLink], calls: bool) -> None:
        parts, now = self._parts, self._parts.clock.now()
        believed = links[:_MOST_NAMED] if parts.scheduler.believes(source.number) else []
        landed = await parts.store.commit(Hinted(source.id, now, believed, calls))
        assert isinstance(landed, LandedCrawl)
        if believed and not landed.new:
            return  # all of it is known
        for page, link in landed.new:
            parts.pages[page] = KnownPage(link.url, link.site, source.number, now)
        parts.tally.found += len(landed.new)
        new = [
            events.NewPage(page, link.site, url=link.url, title=link.anchor, context=link.context)
            for page, link in landed.new
        ]
        parts.scheduler.observe(events.SourceHinted(now, source.number, new, calls))
        self._stir()
