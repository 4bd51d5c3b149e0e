"""What a shard finds for another, and what leads from one to another: pages, sources, hosts, robots.txt."""

import asyncio
import time

import pytest

from mayfly.store.records import ClickRow
from mayfly.testing.messages import Reply

from .conftest import HOSTS, until

ZERO, ONE = (f"http://{HOSTS[number]}" for number in (0, 1))


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
