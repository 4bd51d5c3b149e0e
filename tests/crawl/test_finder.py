"""Where new content of a host appears."""

import asyncio
import time

from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.model import DAY
from mayfly.core.sources import is_dated, looks_like_article, select
from mayfly.crawl.clock import Clock
from mayfly.crawl.finder import Found, likely
from mayfly.testing.messages import Reply
from mayfly.testing.server import Server, in_thread

FEED = (
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>t</title>'
    b"<item><title>a</title><link>http://paper.test/a</link></item></channel></rss>"
)
SITEMAP = (
    b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    b"<url><loc>http://paper.test/a</loc></url></urlset>"
)


def by_kind(found):
    kinds = {}
    for source in found.sources:
        kinds.setdefault(source.kind, set()).add(source.url.removeprefix("http://paper.test"))
    return kinds


def test_front_sections_feeds_and_sitemaps_are_found(house, paper):
    paper.show(
        "/", "/politics/", "/sport/", "/2026/11/01/the-story-of-the-day", "/login", "/logo.png", "http://else.test/x/",
        head='<link rel=alternate type="application/rss+xml" href="/the-feed">',
    )  # fmt: skip
    paper.pages["/the-feed"] = Reply(FEED, type="application/rss+xml")
    index = (
        SITEMAP.replace(b"urlset", b"sitemapindex").replace(b"<url>", b"<sitemap>").replace(b"</url>", b"</sitemap>")
    )
    paper.pages["/maps.xml"] = Reply(index.replace(b"/a<", b"/news-map.xml<"), type="application/xml")
    paper.pages["/robots.txt"] = Reply(b"Sitemap: http://paper.test/maps.xml\n", type="text/plain")
    [found] = house.find("paper.test")
    assert by_kind(found) == {
        "front": {"/"},
        "category": {"/politics/", "/sport/"},
        "feed": {"/the-feed"},
        "sitemap": {"/news-map.xml"},
    }
    assert not [target for target in house.visits("paper.test") if target in ("/politics/", "/feed")]


def test_the_usual_places_are_tried_where_nothing_is_said(house, paper):
    paper.show("/", "/politics/")
    paper.pages["/rss.xml"] = Reply(FEED, type="text/xml")
    paper.pages["/sitemap.xml"] = Reply(SITEMAP, type="text/xml")
    [found] = house.find("paper.test")
    assert by_kind(found)["feed"] == {"/rss.xml"}
    assert by_kind(found)["sitemap"] == {"/sitemap.xml"}


def test_the_sitemap_for_news_is_read_however_many_stand_before_it(house, paper):
    paper.show("/", "/politics/")
    names = ["/map-1.xml", "/map-2.xml", "/map-3.xml", "/map-4.xml", "/map-5.xml", "/latest-News.xml"]
    for name in names:
        paper.pages[name] = Reply(SITEMAP, type="application/xml")
    lines = "".join(f"Sitemap: http://paper.test{name}\n" for name in names)
    paper.pages["/robots.txt"] = Reply(lines.encode(), type="text/plain")
    [found] = house.find("paper.test")
    assert by_kind(found)["sitemap"] == {"/latest-News.xml", "/map-1.xml", "/map-2.xml", "/map-3.xml"}
    assert "/map-4.xml" not in house.visits("paper.test")


def test_a_newspapers_host_does_not_make_every_sitemap_one_for_news():
    maps = [f"https://news.test/map-{number}.xml" for number in range(20)]
    assert likely([*maps, "https://news.test/news.xml"], "news.test")[:2] == ["https://news.test/news.xml", maps[-1]]


def rss(*paths):
    items = "".join(f"<item><title>{path}</title><link>http://paper.test{path}</link></item>" for path in paths)
    text = f'<rss version="2.0"><channel><title>t</title>{items}</channel></rss>'
    return Reply(text.encode(), type="application/rss+xml")


def test_a_feed_that_lies_with_a_service_is_a_source_and_lists_our_pages(house, paper):
    service = type(paper)("feeds.test")
    stories = [f"/the-story-number-{number}-of-many" for number in range(30)]
    for story in stories:
        paper.story(story)
    link = '<link rel=alternate type="application/rss+xml" href="http://feeds.test/{}">'
    paper.show("/", head="".join(map(link.format, "abcdef")))
    for name in "abcdef":
        service.pages[f"/{name}"] = rss()
    with in_thread(Server({host.host: host for host in (paper, service)})) as house.server:
        [found] = house.find("paper.test")
        feeds = [source.url for source in found.sources if source.kind == "feed"]
        assert feeds == ["http://feeds.test/a", "http://feeds.test/b", "http://feeds.test/c"]
        house.crawl(until=house.baselined)
        service.pages["/a"] = rss(*stories)
        house.crawl(until=lambda crawler: crawler.parts.tally.pages == len(stories))
    assert set(house.pages()) == set(stories)  # not a share of them, as of other sites


def days_later(days):
    return Clock(lambda: time.time() + days * DAY)


def test_links_that_stay_become_sources_in_time(house, paper):
    paper.show("/", "/politics/")
    house.find("paper.test")
    paper.show("/", "/politics/", "/a-special-about-the-long-flood/", "/2026/10/01/a-dated-one")
    [found] = house.find("paper.test", older_than=DAY, clock=days_later(2))
    assert by_kind(found)["category"] == {"/politics/"}
    [found] = house.find("paper.test", older_than=DAY, clock=days_later(4))
    assert by_kind(found)["category"] == {"/politics/", "/a-special-about-the-long-flood/"}


def test_patterns_keep_sources_out(house, paper):
    paper.show("/", "/politics/", "/sport/", "/sport/football/")
    [found] = house.find("paper.test", only=("*paper.test/sport*",), not_=("*football*",))
    assert by_kind(found) == {"front": {"/"}, "category": {"/sport/"}}


def test_a_host_that_is_not_there_is_named(house):
    [found] = house.find("nobody.test")
    assert found.sources == []
    assert found.failure
    assert house.ask(lambda store: store.hosts())[0].failure == found.failure


def test_a_host_whose_robots_txt_cannot_be_had_is_named_so(house, paper):
    paper.pages["/robots.txt"] = Reply(b"", 500)  # and nothing listens for https
    [found] = house.find("paper.test")
    assert found.failure == "robots-unreachable"


def test_the_first_look_is_the_first_that_succeeds(house, paper):
    paper.pages["/"] = Reply(b"later", 500)
    [found] = house.find("paper.test")
    assert found.failure == "server-error"  # not what became of https
    paper.show("/", "/politics/")
    [found] = house.find("paper.test")
    assert by_kind(found)["category"] == {"/politics/"}


def test_a_host_that_is_busy_is_asked_no_more_and_looked_at_again(house, paper):
    paper.show("/", "/politics/")
    paper.pages["/feed"] = Reply(b"", 429, headers=(("Retry-After", "3"),))
    [found] = house.find("paper.test")
    assert found.failure == "busy"
    assert house.visits("paper.test")[-1] == "/feed"
    assert {source.url for source in house.ask(lambda store: store.sources())} >= {"http://paper.test/politics/"}
    del paper.pages["/feed"]
    [found] = house.find("paper.test")
    assert not found.failure and by_kind(found)["category"] == {"/politics/"}


def test_what_robots_txt_forbids_is_no_source(house, paper):
    paper.show("/", "/politics/", "/secret/")
    [found] = house.find("paper.test")
    assert by_kind(found)["category"] == {"/politics/"}


def test_a_look_that_was_cut_short_counts_for_nothing(house, paper):
    paper.show("/", "/politics/")

    async def work():
        async with house.opened() as crawler:
            await crawler.parts.store.add_hosts(time.time(), ["paper.test"])
            paper.pages["/feed"] = lambda request: crawler.stop() or Reply(b"", 404)
            return await crawler.search(["paper.test"], lambda: None)

    [found] = asyncio.run(work())
    assert found.failure == "stopping"
    [host] = house.ask(lambda store: store.hosts())
    assert (host.found_at, host.failure) == (None, "")


def test_a_front_page_of_thousands_of_links_takes_no_time():
    found, began = Found("a.test"), time.monotonic()
    for number in range(20_000):
        found.add(f"http://a.test/{number}/", "category", "")
    assert len(found.sources) == 20_000 and time.monotonic() - began < 5.0


PATHS = st.from_regex(r"(/[a-z0-9-]{0,20}){1,4}/?", fullmatch=True)


@given(PATHS)
def test_a_dated_path_is_an_article(path):
    if is_dated(path):
        assert looks_like_article(path)


@given(st.dictionaries(PATHS, st.floats(0, 10 * DAY)), st.floats(10 * DAY, 20 * DAY), st.booleans())
def test_selection_takes_old_links_and_never_dated_ones(seen, now, first_look):
    paths = {path: path for path in [*seen, "/never-seen-before-this-very-moment", "/2026/11/01/x"]}
    chosen = set(select(paths, seen, now, 3 * DAY, first_look))
    assert not any(is_dated(path) for path in chosen)
    for path, at in seen.items():
        if not is_dated(path) and at <= now - 3 * DAY:
            assert path in chosen
    assert "/never-seen-before-this-very-moment" not in chosen
