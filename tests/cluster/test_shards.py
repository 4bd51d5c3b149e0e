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


def test_a_page_found_for_another_shard_is_fetched_there_and_counts_for_its_source(land) -> None:
    land.papers[0].feed("/feed.xml")
    land.papers[1].story("/far")

    async def work() -> None:
        await land.watch(f"{ZERO}/feed.xml")
        zero, one = land.shard(0), land.shard(1)
        async with land.crawling(zero, one):
            await land.baselined()
            land.papers[0].feed("/feed.xml", f"{ONE}/far")
            await until(lambda: land.asked(1, "/far"))
            async with land.store() as store:
                await until(lambda: _told(store, f"{ONE}/far"))
                await store.add_clicks(time.time(), [ClickRow(f"{ONE}/far", time.time(), 500.0)])
            for shard in (zero, one):
                await until(lambda shard=shard: shard._crawler.parts.scheduler.evidence().clicks > 100)
        assert land.asked(1, "/far") == 1
        assert await land.outcomes() == {f"{ONE}/far": "fetched"}

    async def _told(store, url: str) -> bool:
        page = await store.page_at(url)
        return page is not None and page.outcome == "fetched"

    land.run(work)


def test_a_page_that_leads_to_another_shards_site_is_fetched_by_that_one(land) -> None:
    land.papers[0].show("/")
    land.papers[1].story("/moved-here")
    land.papers[0].pages["/old"] = Reply(b"", 301, headers=(("Location", f"{ONE}/moved-here"),))

    async def work() -> None:
        await land.watch(f"{ZERO}/")
        shard = land.shard(0)
        async with land.crawling(shard, land.shard(1)):
            await land.baselined()
            land.papers[0].show("/", "/old")
            await until(lambda: land.asked(1, "/moved-here"))
            await asyncio.sleep(1.0)
            known = shard._crawler.parts.scheduler._known.pages.values()
            assert [page.fetched for page in known] == [False, True]  # it counts for the source that led there
        assert land.asked(1, "/moved-here") == 1 and land.asked(0, "/old") == 1
        outcomes = await land.outcomes()
        assert outcomes[f"{ONE}/moved-here"] == "fetched" and outcomes[f"{ZERO}/old"] == "failed"

    land.run(work)


def test_a_page_that_leads_back_to_the_shard_that_found_it_is_fetched_there(land) -> None:
    """As feeds do whose links go by a service that counts clicks."""
    land.papers[0].feed("/feed.xml")
    land.papers[0].story("/article")
    land.papers[1].pages["/short"] = Reply(b"", 302, headers=(("Location", f"{ZERO}/article"),))

    async def work() -> None:
        await land.watch(f"{ZERO}/feed.xml")
        async with land.crawling(land.shard(0), land.shard(1)):
            await land.baselined()
            land.papers[0].feed("/feed.xml", f"{ONE}/short")
            await until(lambda: land.asked(0, "/article"))
            await asyncio.sleep(0.5)
        assert land.asked(0, "/article") == 1 and land.asked(1, "/short") == 1

    land.run(work)


def test_a_page_that_is_settled_while_its_owner_looks_is_not_handed_over(land) -> None:
    land.papers[0].feed("/feed.xml")

    async def work() -> None:
        await land.watch(f"{ZERO}/feed.xml")
        async with land.crawling(land.shard(0)):
            await land.baselined()
            land.papers[0].feed("/feed.xml", f"{ONE}/far")
            async with land.store() as store:
                await until(store.handed_over)
                looked = await store.handed_over()
                assert [page.page for page in await store.handed(looked, waiting=True)] == looked
                await store.drop(looked, time.time())
                assert await store.handed(looked, waiting=True) == []
                assert [page.page for page in await store.handed(looked)] == looked

    land.run(work)


def test_redirects_that_lead_from_shard_to_shard_for_ever_are_followed_for_a_while(land) -> None:
    land.papers[0].feed("/feed.xml")
    for number in range(20):
        to = (ONE, ZERO)[number % 2]
        land.papers[number % 2].pages[f"/hop-{number}"] = Reply(
            b"", 302, headers=(("Location", f"{to}/hop-{number + 1}"),)
        )

    async def work() -> None:
        await land.watch(f"{ZERO}/feed.xml")
        async with land.crawling(land.shard(0), land.shard(1)):
            await land.baselined()
            land.papers[0].feed("/feed.xml", f"{ZERO}/hop-0")
            await until(lambda: land.asked(1, "/hop-5"))
            await asyncio.sleep(1.5)
        assert not land.asked(0, "/hop-6")

    land.run(work)


def test_a_source_that_leads_elsewhere_each_time_makes_one_source_there(land, monkeypatch) -> None:
    monkeypatch.setattr("mayfly.crawl.visits._FIRST_RETRY", 0.1)

    class Sessions(dict):
        def get(self, path: str, missing: Reply) -> Reply:
            if path != "/feed.xml":
                return super().get(path, missing)
            return Reply(b"", 302, headers=(("Location", f"{ONE}/feed.xml?session={land.asked(0, path)}"),))

    land.papers[0].pages = Sessions(land.papers[0].pages)

    async def work() -> None:
        await land.watch(f"{ZERO}/feed.xml")
        async with land.crawling(land.shard(0)):
            await until(lambda: land.asked(0, "/feed.xml") > 3)
        async with land.store(read_only=True) as store:
            assert len(await store.sources()) == 2

    land.run(work)


@pytest.mark.parametrize("named", ["by the other site", "by a page there"])
def test_sources_that_lead_from_shard_to_shard_for_ever_are_not_watched_for_ever(land, monkeypatch, named) -> None:
    monkeypatch.setattr("mayfly.crawl.chores._LOOK_AT_EDITS", 0.3)
    first = "/feed-" if named == "by the other site" else "/list-"

    class Onwards(dict):
        """Each feed of a site leads to one on the other that nobody has seen, or to a page there that names one."""

        def __init__(self, pages: dict[str, Reply], number: int) -> None:
            super().__init__(pages)
            self._to = (ONE, ZERO)[number]

        def get(self, path: str, missing: Reply) -> Reply:
            what, _, hop = path.rpartition("-")
            if what == "/feed":
                return Reply(b"", 302, headers=(("Location", f"{self._to}{first}{int(hop) + 1}"),))
            if what == "/list":
                feed = f'<link rel="alternate" type="application/rss+xml" href="/feed-{hop}">'
                return Reply(f"<!doctype html><html><head>{feed}<title>t</title></head><body></body></html>".encode())
            return super().get(path, missing)

    for number, paper in land.papers.items():
        paper.pages = Onwards(paper.pages, number)

    async def work() -> None:
        await land.watch(f"{ZERO}{first}0")
        async with land.crawling(land.shard(0), land.shard(1)):
            await until(lambda: land.asked(1, "/feed-5"))
            await asyncio.sleep(1.5)  # longer than it takes to notice a source
        async with land.store(read_only=True) as store:
            there = [source.url for source in await store.sources()]
            assert sorted(url[-1] for url in there if "feed" in url) == list("012345")
            assert not [url for url in there if url.endswith("6")]

    land.run(work)


def test_sources_and_hosts_that_lead_to_another_shards_site_are_watched_there(land) -> None:
    land.papers[0].pages["/feed.xml"] = Reply(b"", 302, headers=(("Location", f"{ONE}/feed.xml"),))
    land.papers[0].pages["/"] = Reply(b"", 301, headers=(("Location", f"{ONE}/"),))
    land.papers[0].pages["/robots.txt"] = Reply(b"", 301, headers=(("Location", f"{ONE}/robots.txt"),))
    land.papers[1].feed("/feed.xml")
    land.papers[1].show("/", "/section/")

    async def work() -> None:
        await land.watch(f"{ZERO}/feed.xml")
        async with land.store() as store:
            await store.add_hosts(time.time(), [HOSTS[0]])
        async with land.crawling(land.shard(0), land.shard(1)):
            await until(lambda: land.asked(1, "/feed.xml") > 1 and land.asked(1, "/") > 1)
        async with land.store(read_only=True) as store:
            assert HOSTS[1] in {host.host for host in await store.hosts()}
            assert {f"{ONE}/feed.xml", f"{ONE}/"} <= {source.url for source in await store.sources()}

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


def test_a_robots_txt_that_leads_to_another_shards_site_is_obeyed(land) -> None:
    land.papers[1].pages["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /secret\n", type="text/plain")
    land.papers[0].pages["/robots.txt"] = Reply(b"", 301, headers=(("Location", f"{ONE}/robots.txt"),))
    land.papers[0].story("/secret", "/open")
    for paper in land.papers.values():
        paper.show("/")

    async def work() -> None:
        await land.watch(f"{ONE}/")
        async with land.crawling(land.shard(1)):
            await land.baselined()
        await land.watch(f"{ZERO}/")
        async with land.crawling(land.shard(0)):
            await land.baselined()
            land.papers[0].show("/", "/secret", "/open")
            await until(lambda: land.asked(0, "/open"))
            await until(lambda: _settled(f"{ZERO}/secret"))
        assert not land.asked(0, "/secret")

    async def _settled(url: str) -> bool:
        return (await land.outcomes())[url] != "waiting"

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
