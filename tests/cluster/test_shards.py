"""Shards on one database: each its own sites, pages for each other, one budget."""

import asyncio
import time
from itertools import pairwise

import pytest

from mayfly.cluster.lease import Lease
from mayfly.cluster.ledger import Ledger
from mayfly.core.model import DAY
from mayfly.crawl.opening import opened
from mayfly.store.records import ClickRow
from mayfly.testing.messages import Reply

from .conftest import HOSTS, until

ZERO, ONE = (f"http://{HOSTS[number]}" for number in (0, 1))


def test_each_shard_crawls_its_own_sites(land) -> None:
    for paper in land.papers.values():
        paper.show("/")

    async def work() -> None:
        await land.watch(f"{ZERO}/", f"{ONE}/")
        async with land.crawling(land.shard(0)):
            await until(lambda: land.asked(0, "/") > 1)
            assert land.asked(1, "/") == 0
            async with land.crawling(land.shard(1)):
                await until(lambda: land.asked(1, "/") > 1)

    land.run(work)


def test_new_pages_are_fetched_once_though_owners_change(land) -> None:
    """An owner that vanishes gives nothing back; who comes next waits for the lease, and loses nothing."""
    land.papers[0].show("/")

    async def work() -> None:
        await land.watch(f"{ZERO}/")
        async with land.crawling():
            first = land.shard(0, "first")
            task = asyncio.ensure_future(first.run())
            await land.baselined()
            land.papers[0].story("/a", "/b", "/c")
            land.papers[0].show("/", "/a", "/b", "/c")
            await until(lambda: land.asked(0, "/a") + land.asked(0, "/b") + land.asked(0, "/c"))
            first._lease.give_back = first._lease.renew  # as if its process were gone
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            gone = time.time()
            async with land.crawling(land.shard(0, "second")):
                await until(lambda: all(land.asked(0, path) for path in ("/a", "/b", "/c")))
                await until(lambda: land.asked(0, "/") > 3)
            later = [visit.at for visit in land.server.journal.visits() if visit.at > gone]
            assert later[0] >= gone + land.cluster.lease - land.cluster.lease / 6 - 0.5
        assert [land.asked(0, path) for path in ("/a", "/b", "/c")].count(1) >= 2
        assert set((await land.outcomes()).values()) == {"fetched"}

    land.run(work)


def test_a_rest_and_a_pause_a_site_asked_for_outlive_its_owner(land) -> None:
    busy = Reply(b"", 503, headers=(("Retry-After", "4"),))
    land.papers[0].pages["/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 1.5\n", type="text/plain")
    land.papers[0].pages["/"] = busy
    land.papers[1].show("/")

    async def work() -> None:
        await land.watch(f"{ZERO}/", f"{ZERO}/other")
        land.papers[0].show("/other")
        async with land.crawling():
            async with land.crawling(land.shard(0, "first")):
                await until(lambda: land.asked(0, "/") and _rests(land))
            rests = await _rests(land)
            async with land.crawling(land.shard(0, "second")):
                await until(lambda: land.asked(0, "/other") > 2, 20.0)
        visits = sorted(land.server.journal.visits(HOSTS[0]), key=lambda visit: visit.at)
        assert not [visit for visit in visits if rests - 3.0 < visit.at < rests - 0.05]
        gaps = [later.at - visit.at for visit, later in pairwise(visits)]
        assert min(gaps) > 1.45

    async def _rests(land) -> float:
        async with land.store(read_only=True) as store:
            found = await store.rests(time.time())
            return found[0].until if found else 0.0

    land.run(work)


def test_a_rest_that_a_search_was_told_outlives_its_owner(land) -> None:
    land.papers[0].pages["/"] = Reply(b"", 503, headers=(("Retry-After", "600"),))

    async def work() -> None:
        async with land.store() as store:
            await store.add_hosts(time.time(), [HOSTS[0]])
            async with land.crawling(land.shard(0)):
                await until(lambda: store.rests(time.time()))
            assert [rest.site for rest in await store.rests(time.time() + 500)] == [HOSTS[0]]

    land.run(work)


def test_a_pause_that_one_process_heard_of_is_kept_by_a_shard_and_the_other_way_round(land) -> None:
    """They take turns at once, from homes of their own."""
    land.papers[0].pages["/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 2\n", type="text/plain")
    land.papers[0].show("/")

    async def alone(name: str) -> None:
        (land.home / name).mkdir()
        async with opened(land.home / name, land.settings, land.store(crawls=True)) as crawler:
            before = land.asked(0, "/")
            task = asyncio.ensure_future(crawler.run(30.0))
            await until(lambda: land.asked(0, "/") > before)
            crawler.stop()
            await task

    async def work() -> None:
        await land.watch(f"{ZERO}/")
        await alone("here")
        before = land.asked(0, "/")
        async with land.crawling(land.shard(0)):
            await until(lambda: land.asked(0, "/") > before)
        await alone("there")
        times = sorted(visit.at for visit in land.server.journal.visits(HOSTS[0]))
        assert min(later - at for at, later in pairwise(times)) > 1.95

    land.run(work)


def test_a_cluster_is_refused_while_one_process_crawls(land) -> None:
    async def work() -> None:
        async with Ledger(land.url) as ledger:
            assert not await ledger.is_crawled_by_one()
            async with land.store(crawls=True):
                assert await ledger.is_crawled_by_one()
            held = Lease(land.line(), 0, "a", 5.0, 1.0)
            await held.take()
            async with land.store(crawls=True, fence=held):
                assert not await ledger.is_crawled_by_one()  # a shard is no other crawl

    land.run(work)


def test_the_allotments_add_up_to_the_budget_and_what_is_not_used_flows_back(land) -> None:
    for paper in land.papers.values():
        paper.show("/")

    async def work() -> None:
        await land.watch(f"{ZERO}/", f"{ONE}/")
        async with Ledger(land.url) as ledger, land.crawling(land.shard(0, host_delay=2.0), land.shard(1)):

            async def uneven() -> bool:
                rows = await ledger.shards()
                assert sum(row.allotment for row in rows) <= 60.0 * (1 + 1e-9)
                return rows[0].allotment < 10.0 and rows[1].allotment > 45.0

            await until(uneven)

    land.run(work)


@pytest.mark.parametrize("trouble", ["disk", "connections"])
def test_what_a_shard_may_spend_and_cannot_flows_to_the_others(land, trouble) -> None:
    cannot = {"disk": {"free_gigabytes": 1e6}, "connections": {"connections": 0}}[trouble]
    for paper in land.papers.values():
        paper.show("/")

    async def work() -> None:
        await land.watch(f"{ZERO}/", f"{ONE}/")
        async with Ledger(land.url) as ledger, land.crawling(land.shard(0, **cannot), land.shard(1)):

            async def uneven() -> bool:
                rows = await ledger.shards()
                return rows[0].allotment < 10.0 and rows[1].allotment > 45.0

            await until(uneven)

    land.run(work)


def test_a_stop_lands_what_is_in_the_air_and_frees_the_shard(land) -> None:
    land.papers[0].show("/")

    async def work() -> None:
        await land.watch(f"{ZERO}/")
        async with land.crawling(land.shard(0)):
            await land.baselined()
            async with Ledger(land.url) as ledger:
                assert (await ledger.shards())[0].owner == "node/0"
        async with Ledger(land.url) as ledger:
            row = (await ledger.shards())[0]
            assert row.owner == "" and row.lease_left < -DAY
        async with land.store(read_only=True) as store:
            assert await store.check() == []

    land.run(work)


def test_a_database_that_is_restarted_stops_nothing_for_long(land, postgres) -> None:
    land.papers[0].show("/")

    async def work() -> None:
        await land.watch(f"{ZERO}/")
        async with land.crawling(land.shard(0)):
            await land.baselined()
            await asyncio.to_thread(postgres.stop)
            land.papers[0].story("/a")
            land.papers[0].show("/", "/a")
            await asyncio.sleep(0.5)
            await asyncio.to_thread(postgres.start)
            await until(lambda: land.asked(0, "/a"))
            await asyncio.sleep(0.5)
        assert land.asked(0, "/a") == 1
        assert await land.outcomes() == {f"{ZERO}/a": "fetched"}

    land.run(work)


def test_one_process_and_a_cluster_take_turns_on_a_database(land) -> None:
    """Clicks told to one are known to the other, and none is told twice."""
    land.papers[0].show("/")

    async def clicks(number: float) -> None:
        async with land.store() as store:
            await store.add_clicks(time.time(), [ClickRow(f"{ZERO}/a", time.time(), number)])

    async def alone(until_clicks: float) -> None:
        async with opened(land.home, land.settings, land.store(crawls=True)) as crawler:
            task = asyncio.ensure_future(crawler.run(30.0))
            await until(lambda: crawler.parts.scheduler.evidence().clicks > until_clicks - 1)
            await asyncio.sleep(0.7)
            assert crawler.parts.scheduler.evidence().clicks < until_clicks + 1
            crawler.stop()
            await task

    async def work() -> None:
        await land.watch(f"{ZERO}/")
        async with land.crawling(land.shard(0)):
            await land.baselined()
            land.papers[0].story("/a")
            land.papers[0].show("/", "/a")
            await until(lambda: _fetched(land))
            await clicks(50.0)
        await alone(50.0)
        await clicks(30.0)
        await alone(80.0)
        shard = land.shard(0)
        async with land.crawling(shard):
            await until(lambda: shard._crawler and shard._crawler.parts.scheduler.evidence().clicks > 79)
            await asyncio.sleep(0.7)
            assert shard._crawler.parts.scheduler.evidence().clicks < 81

    async def _fetched(land) -> bool:
        return (await land.outcomes()).get(f"{ZERO}/a") == "fetched"

    land.run(work)


def test_why_asks_who_crawls_the_site_what_was_learned_of_its_pages(land) -> None:
    async def work() -> None:
        for number in (0, 1):
            lease = Lease(land.line(), number, "a", 5.0, 0.1)
            await lease.take()
            async with land.store(fence=lease) as store:
                await store.keep_page_values(f"of {number}".encode())
        async with land.store(read_only=True) as store:
            assert [await store.page_values(HOSTS[number]) for number in (0, 1)] == [b"of 0", b"of 1"]

    land.run(work)
