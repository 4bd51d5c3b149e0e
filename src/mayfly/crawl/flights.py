"""A fetch from the moment it is given out until the scheduler is told what came of it."""

from __future__ import annotations

import asyncio

from mayfly.core import events
from mayfly.core.model import Fetch, PageId, Seconds
from mayfly.crawl import hubs, retiring
from mayfly.crawl.candidates import shown_by
from mayfly.crawl.finder import likely
from mayfly.crawl.hearsay import Hearsay
from mayfly.crawl.parts import Parts
from mayfly.crawl.restoring import leave_to_others
from mayfly.crawl.visits import Visit, fetched_of, page_retry, rest_of, source_retry
from mayfly.crawl.watched import KnownPage, Watched, memory_of
from mayfly.fetch.answers import Failed, Response
from mayfly.fetch.document import Document
from mayfly.fetch.reasons import Reason
from mayfly.store.records import (
    MOST_LEADS,
    Crawled,
    Fetched,
    FetchFailure,
    Hinted,
    LandedCrawl,
    LandedFetch,
    NewSource,
    ShownLink,
)
from mayfly.urls import canonical, site_of

_FARTHEST = 50  # sources between one that leads away and what people named


class Flights:
    """Crawls sources and fetches pages."""

    def __init__(self, parts: Parts, hearsay: Hearsay) -> None:
        self._parts, self._hearsay = parts, hearsay
        self._writing = asyncio.Lock()  # of WARC, which is done in a thread

    async def fly(self, fetch: Fetch) -> None:
        """Carry out a fetch."""
        if fetch.kind == "source":
            await self._crawl(fetch, self._parts.sources[fetch.id])
        else:
            await self._fetch(fetch)

    # Sources

    async def _crawl(self, fetch: Fetch, source: Watched) -> None:
        parts = self._parts
        listed = source.kind in ("feed", "sitemap")
        visit = await parts.visitor.visit(source.url, "crawl", validators=source.validators, feed=listed, paid=True)
        at = parts.clock.now()
        if isinstance(visit.answer, Failed):
            await self._source_failed(fetch, source, visit.answer, at)
            return
        crawled = self._crawled(source, visit, visit.answer, at)
        steps = parts.clock.steps
        landed = await parts.store.commit(crawled)
        assert isinstance(landed, LandedCrawl)
        self._note(source, crawled, landed)
        self._tell(source, crawled, landed, at + parts.clock.steps - steps)
        await self._move(source, visit.answer)
        self._hearsay.crawled(source)
        if visit.document is not None:
            await self._hearsay.read(source, visit.document, at)
            await self._follow_up(source, visit.document)

    def _crawled(self, source: Watched, visit: Visit, answer: Response, at: Seconds) -> Crawled:
        parts, document = self._parts, visit.document
        source.validators = source.validators.after(answer)
        shown = None
        if document is not None:
            shown = shown_by(
                document,
                source.url,
                source.kind,
                first=source.crawls == 0,
                now=at,
                sources=parts.sources.urls,
                patterns=parts.patterns,
                other_hosts=parts.settings.other_hosts,
                named_by=source.named_by,
            )
        return Crawled(
            source=source.id,
            at=at,
            status=answer.status,
            seconds=answer.seconds,
            wire_bytes=answer.wire_bytes,
            memory=memory_of(source.validators),
            links=shown.links if shown else None,
            note=(document.error or "nothing-read") if document is not None and not document.links else "",
            first=source.crawls == 0,
            dated=shown.dated if shown else 0,
            dated_since=shown.dated_since if shown else None,
            hub=hubs.named(source, answer, document, at),
        )

    def _note(self, source: Watched, crawled: Crawled, landed: LandedCrawl) -> None:
        parts = self._parts
        source.crawls += 1
        source.last_crawl = crawled.at
        source.failures, source.failure = 0, ""
        source.unchanged = source.unchanged + 1 if crawled.links is None else 0
        if landed.new:
            source.last_new = crawled.at
        if crawled.hub is not None:
            source.hub, source.hub_since = crawled.hub, crawled.at
        parts.tally.crawls += 1
        parts.tally.found += len(landed.new)
        for page, link in landed.new:
            if parts.door.territory.ours(link.site):
                parts.pages[page] = KnownPage(link.url, link.site, source.number, crawled.at)

    def _tell(self, source: Watched, crawled: Crawled, landed: LandedCrawl, at: Seconds) -> None:
        """`at` is when it was crawled, by the clock as it is now: it may have been set since."""
        new = [
            events.NewPage(page, link.site, link.published, link.rank or None, link.url, link.anchor, link.context)
            for page, link in landed.new
        ]
        self._parts.scheduler.observe(
            events.SourceCrawled(
                at, source.number, new, landed.known, landed.stayed, landed.gone, crawled.dated,
                crawled.dated_since, [rank or None for rank in landed.known_ranks],
            )
        )  # fmt: skip
        leave_to_others(self._parts.scheduler, at, new, self._parts.door.territory.ours)

    async def _move(self, source: Watched, answer: Response) -> None:
        """A source may be elsewhere now; and come back."""
        store, now = self._parts.store, self._parts.clock.now()
        led = retiring.moved(source, answer)
        there = None if led is None else canonical(led)
        if not retiring.moved_for_good(source, None if there == source.url else there, now) or there is None:
            return
        old = await store.source_at(there)
        if old is not None and old.state == "retired" and old.reason.startswith(retiring.MOVED):
            await store.edit_source(old.id, state="active", reason="")
        await store.add_sources(now, [NewSource(there, source.kind, source.url)])
        await store.edit_source(source.id, state="retired", reason=f"{retiring.MOVED}{there}")

    async def _follow_up(self, source: Watched, document: Document) -> None:
        """A source may name other sources; and say that it is none."""
        parts, store = self._parts, self._parts.store
        found = [
            NewSource(feed, "feed", source.url)
            for feed in document.feeds
            if feed not in parts.sources and site_of(feed) == source.site and parts.patterns.source(feed)
        ]
        if document.sitemaps and not document.links and not source.pinned:
            leaves = [leaf for leaf in document.sitemaps if parts.patterns.source(leaf)]
            found += [NewSource(leaf, "sitemap", source.url) for leaf in likely(leaves, source.site)]
            await store.edit_source(source.id, state="retired", reason="a list of sitemaps, which are watched instead")
        if found:
            of_site = sum(1 for one in parts.sources if one.site == source.site)
            room = max(parts.settings.most_sources - of_site, 0)
            await store.add_sources(parts.clock.now(), found[:room])

    async def _source_failed(self, fetch: Fetch, source: Watched, failed: Failed, at: Seconds) -> None:
        parts = self._parts
        if failed.reason is Reason.STOPPING:
            parts.scheduler.observe(events.FetchFailed(at, fetch, at))
            return
        if failed.reason is Reason.ELSEWHERE:
            await self._led_away(source, failed, at)
        retry_at = at + source_retry(source.failures, failed, parts.luck)
        why = retiring.gone(source, failed.reason)
        steps = parts.clock.steps
        await parts.store.commit(
            FetchFailure(
                "source", source.id, at, failed.reason, failed.detail, failed.status, retry_at, rest_of(failed, at)
            )
        )
        if why:
            await parts.store.edit_source(source.id, state="retired", reason=why)
        source.failures, source.failure = source.failures + 1, failed.reason
        moved = parts.clock.steps - steps
        self._failed(failed, at + moved)
        parts.scheduler.observe(events.FetchFailed(at + moved, fetch, retry_at + moved))

    async def _led_away(self, source: Watched, failed: Failed, at: Seconds) -> None:
        """A source leads to a site of another shard: that one watches it there."""
        there = canonical(failed.url)
        if source.led_away or there is None or there == source.url or not self._parts.patterns.source(there):
            return  # told once: it may lead to another address each time
        source.led_away = True
        if await self._steps(source) < MOST_LEADS:
            await self._parts.store.add_sources(at, [NewSource(there, source.kind, source.url)])

    async def _steps(self, source: Watched) -> int:
        """From site to site by which it was found, as far as it matters."""
        steps, found = 0, await self._parts.store.source_at(source.url)
        for _ in range(_FARTHEST):
            before = None if found is None else await self._parts.store.source_at(found.found_on)
            if found is None or before is None or steps == MOST_LEADS:
                return steps
            steps, found = steps + (before.site != found.site), before
        return MOST_LEADS  # a site may name its own sources for ever

    # Pages

    async def _fetch(self, fetch: Fetch) -> None:
        parts = self._parts
        page = parts.pages.get(fetch.id)
        if page is None:
            parts.scheduler.observe(events.FetchFailed(parts.clock.now(), fetch))
            return
        visit = await parts.visitor.visit(page.url, "page", paid=True, with_text=parts.settings.text, outward=True)
        at = parts.clock.now()
        if isinstance(visit.answer, Failed):
            await self._page_failed(fetch, page, visit.answer, at)
            return
        fetched = fetched_of(fetch.id, page.url, page.found_at, visit, at, await self._archive(visit.answer))
        steps = parts.clock.steps
        landed = await parts.store.commit(fetched)
        assert isinstance(landed, LandedFetch)
        del parts.pages[fetch.id]
        self._settled(fetch.id, fetched, landed, page, at + parts.clock.steps - steps)

    def _settled(self, number: PageId, fetched: Fetched, landed: LandedFetch, page: KnownPage, at: Seconds) -> None:
        parts = self._parts
        if landed.outcome == "fetched":
            parts.tally.pages += 1
            parts.tally.delays.append(max(fetched.at - (fetched.published or page.found_at), 0.0))
            parts.scheduler.observe(events.PageFetched(at, number))
        else:
            parts.tally.rejected += 1
            parts.scheduler.observe(events.PageRejected(at, number))

    async def _page_failed(self, fetch: Fetch, page: KnownPage, failed: Failed, at: Seconds) -> None:
        parts = self._parts
        if failed.reason is Reason.STOPPING:
            parts.scheduler.observe(events.FetchFailed(at, fetch, at))
            return
        wait = page_retry(page.tries, failed, parts.luck)
        if failed.reason is Reason.ELSEWHERE and await self._handed_on(page, failed, at):
            wait = None
        retry_at = None if wait is None else at + wait
        steps = parts.clock.steps
        await parts.store.commit(
            FetchFailure(
                "page", fetch.id, at, failed.reason, failed.detail, failed.status, retry_at, rest_of(failed, at)
            )
        )
        page.tries += 1
        moved = parts.clock.steps - steps
        if retry_at is None:
            del parts.pages[fetch.id]
        self._failed(failed, at + moved)
        parts.scheduler.observe(events.FetchFailed(at + moved, fetch, None if retry_at is None else retry_at + moved))

    async def _handed_on(self, page: KnownPage, failed: Failed, at: Seconds) -> bool:
        """A page leads to a site of another shard: from now on it is a page of that site, and waits there."""
        there = canonical(failed.url)
        if there is None or there == page.url or page.leads >= MOST_LEADS:
            return False
        source, link = self._parts.sources[page.source], ShownLink(there, site_of(there))
        landed = await self._parts.store.commit(Hinted(source.id, at, [link], calls=False, leads=page.leads + 1))
        if not source.elsewhere and isinstance(landed, LandedCrawl):
            new = [events.NewPage(number, link.site, url=link.url) for number, link in landed.new]
            self._parts.scheduler.observe(events.PagesHanded(at, source.number, new))
            leave_to_others(self._parts.scheduler, at, new, self._parts.door.territory.ours)
        return True

    def _failed(self, failed: Failed, at: Seconds) -> None:
        """Count a failure; and leave the whole site alone if it is the site's."""
        parts = self._parts
        parts.tally.failures[failed.reason] += 1
        rest = rest_of(failed, at)
        if rest is not None:
            parts.door.rest(rest.site, rest.until - at)
            parts.scheduler.observe(events.SitePaced(at, rest.site, rests_until=rest.until))

    async def _archive(self, answer: Response) -> str:
        archive = self._parts.archive
        if archive is None:
            return ""
        async with self._writing:
            return await asyncio.to_thread(archive.write, answer)
