"""The line of a running crawl: what it says in each state, on a terminal and in a log."""

import asyncio
import io
import logging
import re
import sys
from collections.abc import Callable

import pytest

from mayfly.cli import status, words
from mayfly.cli.crawl import opened
from mayfly.cli.home import prepare
from mayfly.cli.layers import resolve
from mayfly.cli.status import Status, watching
from mayfly.crawl.crawler import Crawler

STORY = "/the-first-new-story-of-the-day"


@pytest.fixture
def crawling(home, site):
    """Crawl the site until a test has seen enough; what `look` says of the crawler then."""
    prepare(home)

    def crawl(enough: Callable[[Crawler], bool], look: Callable[[Crawler], str]) -> str:
        async def work() -> str:
            async with opened(home, resolve(home, {})[0]) as crawler:
                await crawler.parts.store.add_hosts(0.0, [site.host])
                running = asyncio.ensure_future(crawler.run(30.0))
                while not enough(crawler) and not running.done():
                    await asyncio.sleep(0.02)
                said = look(crawler)
                crawler.stop()
                await running
                return said

        return asyncio.run(work())

    return crawl


def line(crawler: Crawler) -> str:
    return Status(crawler).line()


def baselined(crawler: Crawler) -> bool:
    sources = crawler.parts.sources
    return len(sources) > 1 and all(source.crawls for source in sources) and crawler.parts.scheduler.beliefs is not None


def test_without_sources_it_says_what_it_waits_for(crawling) -> None:
    said = crawling(lambda crawler: crawler.learning is None, line)
    assert " · no sources yet: " in said


def test_while_only_baselines_were_read_it_says_when_the_first_page_is_expected(crawling, site) -> None:
    site.show("/", "/news/")
    site.show("/news/", "/a-story-that-was-there-before-us")
    expected = []

    def look(crawler: Crawler) -> str:
        expected.append(words.about(1 / crawler.parts.scheduler.beliefs.link_rate.sum()))
        return line(crawler)

    said = crawling(baselined, look)
    promise = re.search(r" 0 found 0 fetched .*· reading baselines; first new page expected in about (.+)$", said)
    assert promise and promise[1] == expected[0]


def test_an_ordinary_crawl_shows_rates_price_and_delay(crawling, site) -> None:
    site.show("/", "/news/")
    site.show("/news/")
    crawling(baselined, line)
    site.show(STORY)
    site.show("/news/", STORY, "/the-story-that-is-not-there-any-more")
    said = crawling(lambda crawler: crawler.parts.tally.pages and crawler.parts.tally.failed, line)
    assert re.match(r"[\d.]+/s of 50 · recrawl [\d.]+ new [\d.]+ · 2 found 1 fetched · ", said)
    assert re.search(r" · price [\d.e+-]+ · delay .+ · 1 failed \(not-found\)$", said)


def test_stopping_says_how_to_stop_at_once(crawling, site) -> None:
    site.show("/", "/news/")

    def look(crawler: Crawler) -> str:
        crawler.stop()
        return line(crawler)

    said = crawling(lambda crawler: len(crawler.parts.sources) > 0, look)
    assert re.search(r" · stopping: \d+ under way, Ctrl-C again stops at once$", said)


def watched(home, seconds: float) -> None:
    async def work() -> None:
        async with opened(home, resolve(home, {})[0]) as crawler, watching(crawler):
            await crawler.run(seconds)

    asyncio.run(work())


def test_where_nobody_watches_there_are_plain_lines(home, site, monkeypatch, caplog, capsys) -> None:
    prepare(home)
    monkeypatch.setattr(status, "_LOG_EVERY", 0.1)
    with caplog.at_level(logging.INFO, "mayfly"):
        watched(home, 1.0)
    lines = [message for message in caplog.messages if "/s of 50 · recrawl" in message]
    assert lines and not any("\x1b" in message for message in lines)
    said = capsys.readouterr().err
    assert said.startswith("0 requests: 0 crawls of 0 sources") and "\x1b" not in said


def test_on_a_terminal_one_line_is_drawn_over_and_over(home, site, monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    prepare(home)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    watched(home, 2.0)
    drawn = screen.getvalue()
    assert drawn.count("/s of 50") >= 2 and "\x1b[2K" in drawn  # erased, and drawn again
    assert drawn.rstrip().endswith("There are no sources: mayfly find HOST… adds some.")
