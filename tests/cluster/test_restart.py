"""What a shard knows when it begins again: all that was found and fetched for it and by it, wherever that was."""

import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mayfly.cluster.handover import Handover
from mayfly.cluster.lease import Lease
from mayfly.core import events
from mayfly.core.model import DAY
from mayfly.crawl.opening import opened
from mayfly.crawl.territory import Territory
from mayfly.store.postgres import PostgresStore
from mayfly.store.postgres_schema import shard_of
from mayfly.store.records import ClickRow, Crawled, Fetched, Hinted, Memory, NewSource, ShownLink
from mayfly.urls import site_of

from .conftest import HOSTS

ZERO, ONE = (f"http://{HOSTS[number]}" for number in (0, 1))
FEED, FRONT = 0, 1  # of shard 0: the one finds pages of shard 1, the other its own
DAYS, A_DAY, CLICKS = 20, 10, 5.0
HASHES = iter(range(1 << 60))


def crawled(source: int, at: float, *urls: str) -> Crawled:
    links = [ShownLink(url, site_of(url), published=at) for url in urls]
    return Crawled(source, at, 200, 0.1, 1000, Memory(), links)


def fetched(page: int, at: float, url: str) -> Fetched:
    return Fetched(page, at, "fetched", 200, 0.1, 1000, url, body_hash=next(HASHES))


class Owners:
    """Both shards, owned by the test."""

    def __init__(self, land: Any, leases: list[Lease], stores: list[PostgresStore]) -> None:
        self.land, self.leases, self.stores = land, leases, stores

    async def begun(self, number: int, look: Callable[[Any, Handover], Coroutine[Any, Any, None]]) -> None:
        """A shard that has learned again what it knew."""
        store = self.land.store(fence=self.leases[number], crawls=True)
        territory = Territory(lambda site: shard_of(site, 2) == number, taken=True, fetch_seconds=1.0)
        async with opened(self.land.home, self.land.settings, store, territory) as crawler:
            handover = Handover(crawler.parts, store, await store.landed())
            await crawler.begin()
            await look(crawler, handover)


@pytest.fixture
def owners(land) -> Callable[[Callable[[Owners], Coroutine[Any, Any, None]]], None]:
    def run(work: Callable[[Owners], Coroutine[Any, Any, None]]) -> None:
        async def main() -> None:
            now = time.time()
            async with land.store() as store:
                feed, front = NewSource(f"{ZERO}/feed.xml", "feed"), NewSource(f"{ZERO}/", "front")
                await store.add_sources(now - DAYS * DAY, [feed, front, NewSource(f"{ONE}/", "front")])
            leases = [Lease(land.line(), number, "test", 600.0, 1.0) for number in (0, 1)]
            for lease in leases:
                assert await lease.take()
            async with AsyncExitStack() as stack:
                stores = [await stack.enter_async_context(land.store(fence=lease, crawls=True)) for lease in leases]
                await work(Owners(land, leases, stores))

        land.run(main)

    return run


def profits(crawler: Any) -> list[float]:
    estimator = crawler.parts.scheduler._estimator
    return estimator.beliefs(crawler.parts.clock.now()).page_profit.tolist()


def push(crawler: Any) -> None:
    """Of a log in which nobody has clicked since."""
    nobody = np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    crawler.parts.scheduler.observe(events.ClicksCounted(time.time(), *nobody))


async def lived(zero: PostgresStore, one: PostgresStore) -> None:
    """The feed and the front page show as many pages, fetched as soon, clicked as often; those of the feed are far."""
    number = 0
    for day in range(DAYS):
        at = time.time() - (DAYS - day) * DAY
        far = [f"{ONE}/far-{number + many}" for many in range(A_DAY)]
        near = [f"{ZERO}/near-{number + many}" for many in range(A_DAY)]
        number += A_DAY
        for source, urls, store in (FEED, far, one), (FRONT, near, zero):
            for page, link in (await zero.commit(crawled(source, at, *urls))).new:
                await store.commit(fetched(page, at + 60, link.url))
        await zero.add_clicks(at + DAY / 2, [ClickRow(url, at + DAY / 4, CLICKS) for url in far + near], bin=60.0)
        for store in zero, one:
            await store.clicks_told(at + DAY / 2, (await store.clicks_since(await store.told()))[1])


def test_a_source_is_worth_the_same_whoever_fetches_its_pages(owners) -> None:
    async def same(crawler: Any, handover: Handover) -> None:
        for _ in range(2):
            feed, front, *_others = profits(crawler)
            assert feed == pytest.approx(front, rel=0.01)
            assert feed > CLICKS
            await handover.take()
            push(crawler)

    async def work(owners: Owners) -> None:
        await lived(*owners.stores)
        await owners.begun(0, same)

    owners(work)


def test_who_fetches_pages_of_anothers_source_knows_again_what_they_are_worth(owners) -> None:
    async def knows(crawler: Any, handover: Handover) -> None:
        feed = crawler.parts.sources.of(FEED)
        assert feed is not None and feed.elsewhere
        assert not await handover.take()
        push(crawler)
        own = profits(crawler)[0]
        assert profits(crawler)[feed.number] > 5 * own

    async def work(owners: Owners) -> None:
        await lived(*owners.stores)
        for day in range(DAYS):  # its own source has pages that nobody wants
            at, urls = time.time() - (DAYS - day) * DAY, [f"{ONE}/own-{day}-{many}" for many in range(A_DAY)]
            for page, link in (await owners.stores[1].commit(crawled(2, at, *urls))).new:
                await owners.stores[1].commit(fetched(page, at + 60, link.url))
        await owners.begun(1, knows)

    owners(work)


def test_a_page_that_two_shards_found_at_once_is_not_forgotten(owners) -> None:
    """The crawl of the one has the smaller number, the page was kept by the other."""

    async def waits(crawler: Any, handover: Handover) -> None:
        await handover.take()
        assert [page.url for page in crawler.parts.pages.values()] == [f"{ONE}/story"]
        assert len(crawler.parts.scheduler.waiting()) == 1

    async def work(owners: Owners) -> None:
        now = time.time()
        await owners.stores[0].commit(crawled(FEED, now - 50))
        await owners.stores[1].commit(crawled(2, now - 49, f"{ONE}/story"))
        line = owners.land.line()
        first = (await line.rows("SELECT min(seq) FROM log WHERE kind = 'crawl'"))[0][0]
        await line.rows("INSERT INTO links VALUES ($1, 0, $2, 1, $3, NULL, 1, 0)", first, FEED, now - 50)
        await owners.begun(1, waits)

    owners(work)


def test_a_page_of_another_that_was_no_page_is_not_learned_from_again(owners) -> None:
    """A copy, which our own source shows later, too."""

    async def knows(crawler: Any, handover: Handover) -> None:
        assert not crawler.parts.scheduler._known.pages and not crawler.parts.pages

    async def work(owners: Owners) -> None:
        zero, one = owners.stores
        now, url = time.time(), f"{ONE}/copy"
        page = (await zero.commit(crawled(FEED, now - 50, url))).new[0].page
        await one.commit(replace(fetched(page, now - 40, url), outcome="old"))
        await one.commit(crawled(2, now - 30, url))
        await owners.begun(1, knows)

    owners(work)


def test_pages_of_others_that_our_feeds_show_too_are_no_business_of_ours(owners) -> None:
    async def knows(crawler: Any, handover: Handover) -> None:
        assert not crawler.parts.scheduler._known.pages
        assert [source.elsewhere for source in crawler.parts.sources] == [False, False]

    async def work(owners: Owners) -> None:
        now, url = time.time(), f"{ONE}/story"
        await owners.stores[1].commit(crawled(2, now - 50, url))
        await owners.stores[0].commit(crawled(FEED, now - 40, url))
        await owners.begun(0, knows)

    owners(work)


def test_how_many_redirects_led_to_a_page_is_known_again(owners) -> None:
    async def knows(crawler: Any, handover: Handover) -> None:
        await handover.take()
        assert [page.leads for page in crawler.parts.pages.values()] == [3]

    async def work(owners: Owners) -> None:
        link = ShownLink(f"{ZERO}/end", site_of(ZERO))
        await owners.stores[1].commit(Hinted(FEED, time.time() - 9, [link], calls=False, leads=3))
        await owners.stores[0].commit(crawled(FRONT, time.time() - 8, link.url))
        await owners.begun(0, knows)

    owners(work)


@pytest.mark.parametrize("first", [ZERO, ONE])
def test_where_a_page_led_to_counts_for_the_source_that_showed_it(owners, first) -> None:
    """Its own page leads to another shard's site, or another's to one of its own."""

    async def worth(crawler: Any, handover: Handover) -> None:
        feed, front, *_others = profits(crawler)
        assert feed == pytest.approx(front, rel=0.05)
        hints = crawler.parts.scheduler._wants.hints
        assert not hints.given or hints.trust()[FEED] == 0.5  # nobody has hinted at it

    async def work(owners: Owners) -> None:
        zero, one = owners.stores
        second, leads, fetches = (ONE, zero, one) if first == ZERO else (ZERO, one, zero)
        for number in range(40):
            at = time.time() - (DAYS - number / 4) * DAY
            goal = f"{second}/article-{number}"
            landed = await zero.commit(crawled(FEED, at, f"{first}/short-{number}"))
            brought = await leads.commit(Hinted(FEED, at + 1, [ShownLink(goal, site_of(goal))], calls=False, leads=1))
            await leads.drop([landed.new[0].page], at + 1)
            await fetches.commit(fetched(brought.new[0].page, at + 60, goal))
            near = f"{ZERO}/near-{number}"
            page = (await zero.commit(crawled(FRONT, at, near))).new[0].page
            await zero.commit(fetched(page, at + 60, near))
            await zero.add_clicks(at + DAY / 2, [ClickRow(url, at + DAY / 4, CLICKS) for url in (goal, near)], bin=60.0)
            await zero.clicks_told(at + DAY / 2, (await zero.clicks_since(await zero.told()))[1])
        await owners.begun(0, worth)

    owners(work)
