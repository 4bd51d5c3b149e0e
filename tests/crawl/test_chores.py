"""What is done beside fetching."""

import asyncio
import time

import pytest

from mayfly.crawl.clock import Clock
from mayfly.crawl.lock import holder, locked
from mayfly.errors import BeingCrawled, RunError
from mayfly.store.records import ClickRow, NewSource
from mayfly.store.sqlite import SqliteStore


def run(house, script, seconds=20.0, clock=None, **other):
    """Crawl while `script(crawler, store)` does things from outside; it ends the crawl."""

    async def main():
        async with house.opened(clock, **other) as crawler, SqliteStore(house.home / "mayfly.db") as store:
            task = asyncio.ensure_future(crawler.run(seconds))
            try:
                return await asyncio.wait_for(script(crawler, store), seconds)
            finally:
                crawler.stop()
                await task

    return asyncio.run(main())


async def until(check, seconds=10.0):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it never happened"
        await asyncio.sleep(0.02)


def test_edits_from_outside_are_taken_in_within_seconds(found, paper):
    paper.show("/weather/")

    async def script(crawler, store):
        await until(lambda: len(crawler.parts.sources) == 3 and all(one.crawls for one in crawler.parts.sources))
        [number] = await store.add_sources(time.time(), [NewSource("http://paper.test/weather/", "category")])
        await until(lambda: any(one.id == number and one.crawls for one in crawler.parts.sources))
        sport = next(one for one in crawler.parts.sources if one.url.endswith("/sport/"))
        await store.edit_source(sport.id, state="blocked", reason="dull")
        await until(lambda: not sport.active)
        await asyncio.sleep(0.3)
        crawls = sport.crawls
        await asyncio.sleep(1.0)
        assert sport.crawls == crawls
        await store.edit_source(sport.id, state="active", reason="")
        await until(lambda: sport.crawls > crawls)

    run(found, script)


def test_hosts_added_while_it_runs_are_searched(house, paper):
    paper.show("/", "/news/")
    paper.show("/news/")

    async def script(crawler, store):
        await asyncio.sleep(0.5)
        await store.add_hosts(time.time(), ["paper.test"])
        await until(lambda: len(crawler.parts.sources) == 2, 15.0)

    run(house, script, seconds=25.0)
    kept = {source.url for source in house.ask(lambda store: store.sources())}
    assert kept == {"http://paper.test/", "http://paper.test/news/"}


def test_a_host_that_failed_is_looked_at_again_before_a_day_is_over(house, paper, monkeypatch):
    assert house.find("paper.test")[0].failure
    paper.show("/", "/news/")
    paper.show("/news/")
    monkeypatch.setattr("mayfly.crawl.chores._SEARCH_AGAIN", 0.1)
    monkeypatch.setattr("mayfly.crawl.chores._LOOK_FOR_OLD_HOSTS", 0.1)
    crawler = house.crawl(15.0, until=lambda crawler: len(crawler.parts.sources) == 2)
    assert len(crawler.parts.sources) == 2


def test_clicks_handed_in_beside_it_raise_what_a_source_is_worth(found, paper):
    stories = [f"/the-loved-story-number-{number}-of-today" for number in range(4)]
    dull = [f"/the-dull-story-number-{number}-of-today" for number in range(4)]
    for path in stories + dull:
        paper.story(path)

    async def script(crawler, store):
        await until(lambda: len(crawler.parts.sources) == 3 and all(one.crawls for one in crawler.parts.sources))
        paper.show("/news/", *stories)
        paper.show("/sport/", *dull)
        await until(lambda: crawler.parts.tally.pages == 8)
        rows = [ClickRow(f"http://paper.test{path}", time.time(), 50) for path in stories]
        await store.add_clicks(time.time(), rows, 0.5)
        profit = {}

        def higher():
            beliefs = crawler.parts.scheduler.beliefs
            for one in crawler.parts.sources:
                profit[one.url[-6:]] = beliefs.page_profit[one.number]
            return profit["/news/"] > 1.1 * profit["sport/"]  # in seconds nobody can show to be dull

        await until(higher)
        raised.update(profit)

    raised = {}
    run(found, script, bin=0.5, log_push=0.5, replan=0.5)
    assert raised["/news/"] > 1.1 * raised["sport/"]


@pytest.mark.parametrize("by", [-3600.0, 3600.0])
def test_a_step_of_the_clock_makes_no_burst_and_no_stall(found, paper, by):
    step = 0.0

    async def script(crawler, store):
        nonlocal step
        await until(lambda: crawler.parts.tally.crawls >= 6)
        before = sum(crawler.parts.door.requests.values())
        step = by
        await asyncio.sleep(3.0)
        return sum(crawler.parts.door.requests.values()) - before

    clock = Clock(lambda: time.time() + step)
    made = run(found, script, clock=clock, budget=10.0)
    assert 10 <= made <= 10 * 3.5 + 6


def test_without_room_on_disk_it_pauses_and_says_so(found):
    async def script(crawler, store):
        await until(lambda: crawler.chores.paused)
        before = sum(crawler.parts.door.requests.values())
        await asyncio.sleep(0.5)
        return crawler.chores.paused, sum(crawler.parts.door.requests.values()) - before

    paused, made = run(found, script, free_gigabytes=1e9)
    assert "free on disk" in paused
    assert made <= 1


def test_a_home_has_one_crawl(tmp_path):
    with locked(tmp_path):
        assert "process" in holder(tmp_path)
        with pytest.raises(BeingCrawled, match="process"), locked(tmp_path):
            raise AssertionError
    assert holder(tmp_path) == ""
    with locked(tmp_path):
        pass


def test_a_home_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(RunError, match="cannot write"), locked(tmp_path / "nowhere"):
        raise AssertionError


def test_a_home_that_goes_away_ends_the_crawl_in_a_sentence(found, monkeypatch):
    def gone(path):
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr("mayfly.crawl.chores.shutil.disk_usage", gone)
    with pytest.raises(RunError, match=r"cannot be looked at any more: No such file"):
        found.crawl(seconds=5.0)


def test_a_store_that_fails_ends_the_crawl_with_its_words(found, monkeypatch):
    async def full(self, happened):
        raise RunError("the disk is full")

    monkeypatch.setattr(SqliteStore, "commit", full)
    with pytest.raises(RunError, match="the disk is full"):
        found.crawl(seconds=10.0)


def test_recording_crawls_every_source_at_its_interval(found):
    begin = time.time()
    found.crawl(seconds=5.0, record_every=1.0)
    for path in ("/", "/news/", "/sport/"):
        times = [visit.at for visit in found.server.journal.visits("paper.test", path) if visit.at > begin]
        assert len(times) >= 4
