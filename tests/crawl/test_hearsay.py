"""Hints: what is named is fetched, what is said of a source is looked at, and who lies is soon not believed."""

import asyncio
import time

from mayfly.fetch.document import Document, Links
from mayfly.store.hints import HintRow
from mayfly.store.past import PastHint
from mayfly.testing.messages import Reply


def hint(house, *rows):
    hints = [HintRow(f"http://paper.test{path}", kind) for path, kind in rows]
    house.ask(lambda store: store.add_hints(time.time(), hints))


def taken(crawler):
    return crawler.parts.tally.pages + crawler.parts.tally.rejected


def test_a_page_that_a_hint_names_is_fetched_though_no_source_shows_it(watched, paper):
    paper.story("/news/the-story-nobody-links-yet")
    hint(watched, ("/news/the-story-nobody-links-yet", "page"))
    watched.crawl(until=lambda crawler: taken(crawler) >= 1)
    assert watched.pages() == {"/news/the-story-nobody-links-yet": "fetched"}
    page = watched.ask(lambda store: store.page_at("http://paper.test/news/the-story-nobody-links-yet"))
    sources = {source.id: source.url for source in watched.ask(lambda store: store.sources())}
    assert sources[page.source] == "http://paper.test/news/"
    paper.show("/news/", "/news/the-story-nobody-links-yet")
    watched.crawl(seconds=1.5)
    assert watched.visits("paper.test").count("/news/the-story-nobody-links-yet") == 1


def test_hints_are_taken_once_and_those_of_others_sites_are_left(watched, paper):
    paper.story("/a-story-that-was-hinted")
    hint(watched, ("/a-story-that-was-hinted", "page"), ("/logo.png", "page"))
    watched.ask(lambda store: store.add_hints(time.time(), [HintRow("http://else.test/x", "page")]))
    watched.crawl(until=lambda crawler: taken(crawler) >= 1)
    cursor = watched.ask(lambda store: store.hints_cursor())
    assert cursor == 3
    watched.crawl(seconds=1.5)
    assert watched.pages() == {"/a-story-that-was-hinted": "fetched"}
    assert "/logo.png" not in watched.visits("paper.test")


def test_who_names_what_is_not_there_is_soon_not_believed_and_stays_so(watched, paper):
    gone = [f"/news/no-such-story-{number}" for number in range(12)]
    for path in gone:
        paper.pages[path] = Reply(b"no such page", 404, "text/plain")
    believed = True
    for tried, path in enumerate(gone):
        hint(watched, (path, "page"))
        crawler = watched.crawl(seconds=1.3, until=lambda crawler, tried=tried: crawler.parts.tally.failed >= 1)
        number = next(source.number for source in crawler.parts.sources if source.url.endswith("/news/"))
        believed = crawler.parts.scheduler.believes(number)
        if not believed:
            break
    assert 1 <= tried < 8
    hint(watched, (gone[-1], "page"))
    watched.crawl(seconds=1.5)  # a restart does not trust again
    assert gone[-1] not in watched.visits("paper.test")


def test_a_source_that_is_said_to_have_changed_is_crawled_before_others(house, paper):
    sections = [f"/section-{number}/" for number in range(30)]
    paper.show("/", *sections)
    for path in sections:
        paper.show(path)
    house.find("paper.test")
    slow = {"budget": 4.0, "host_delay": 0.05}
    house.crawl(until=house.baselined)
    before = len(house.visits("paper.test"))
    paper.story("/section-17/the-new-one")
    paper.show("/section-17/", "/section-17/the-new-one")
    hint(house, ("/section-17/", "source"))
    house.crawl(seconds=10, until=lambda crawler: taken(crawler) >= 1, **slow)
    assert house.pages() == {"/section-17/the-new-one": "fetched"}
    asked = house.visits("paper.test")[before:]
    assert asked.index("/section-17/") <= 8


def test_what_a_feed_says_of_itself_and_a_sitemap_of_others_is_heard(watched):
    async def work():
        async with watched.opened() as crawler:
            await crawler.begin()
            parts, hearsay = crawler.parts, crawler.hearsay
            feed, section = parts.sources[0], parts.sources[1]
            now = parts.clock.now()
            await hearsay.read(feed, Document("feed", feed.url, ttl=60.0), now - 90)
            dates = Links(urls=(section.url, "http://paper.test/x"), anchors=("", ""), dates={0: now - 1, 1: now - 1})
            section.last_crawl = now - 60
            await hearsay.read(feed, Document("sitemap", feed.url, links=dates), now)
            await hearsay.take()
            await hearsay.take()
            return feed.id, section.id, [one async for one in parts.store.past(now - 5) if isinstance(one, PastHint)]

    feed, section, heard = asyncio.run(work())
    assert [(hint.source, hint.calls) for hint in heard] == [(section, False), (feed, False)]
