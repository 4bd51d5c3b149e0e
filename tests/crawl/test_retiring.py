"""When a source is given up, and why."""

from mayfly.core.model import DAY
from mayfly.crawl.retiring import GONE_AFTER, SILENT_CRAWLS, gone, moved, moved_for_good, silent, twins
from mayfly.crawl.watched import Watched
from mayfly.fetch.answers import Hop, Response
from mayfly.fetch.validators import UNKNOWN
from mayfly.testing.messages import Reply

NOW = 1.79e9


def source(number=0, url="https://news.example/a/", **other):
    usual = {
        "id": number + 1, "site": "news.example", "kind": "category", "validators": UNKNOWN, "crawls": 50,
        "failures": 0, "failure": "", "unchanged": 0, "last_new": None, "found_at": NOW - 100 * DAY,
        "active": True, "pinned": None,
    }  # fmt: skip
    return Watched(number=number, url=url, **(usual | other))


def answer(url, *hops):
    return Response("https://news.example/a/", url, 200, (), b"", 0, NOW, 0.1, 0, "", tuple(hops))


def test_it_takes_several_answers_that_it_is_gone():
    assert gone(source(failures=GONE_AFTER - 1, failure="not-found"), "not-found")
    assert not gone(source(failures=GONE_AFTER - 2, failure="not-found"), "not-found")
    assert not gone(source(failures=99, failure="dns"), "not-found")
    assert not gone(source(failures=99, failure="timeout"), "timeout")
    assert not gone(source(failures=99, failure="not-found", pinned=60.0), "not-found")


def test_only_a_permanent_redirect_on_the_same_site_is_a_move():
    there = "https://www.news.example/b/"
    assert moved(source(), answer(there, Hop("https://news.example/a/", 301))) == there
    assert moved(source(), answer(there, Hop("https://news.example/a/", 302))) is None
    assert moved(source(), answer("https://else.example/", Hop("https://news.example/a/", 308))) is None
    assert moved(source(), answer("https://news.example/a/")) is None
    assert moved(source(pinned=60.0), answer(there, Hop("https://news.example/a/", 301))) is None


def test_a_sitemap_is_retired_by_change_and_yield_never_by_shape():
    still = {"kind": "sitemap", "unchanged": SILENT_CRAWLS}
    assert silent(source(**still), NOW)
    assert not silent(source(**still, last_new=NOW - DAY), NOW)
    assert not silent(source(**(still | {"unchanged": 0})), NOW)
    assert not silent(source(**(still | {"kind": "feed"})), NOW)
    assert not silent(source(**still, pinned=60.0), NOW)


def test_of_twins_the_feed_stays():
    links = frozenset(range(40))
    sources = {
        0: source(0, "https://news.example/page/"),
        1: source(1, "https://news.example/feed", kind="feed"),
        2: source(2, "https://news.example/other/"),
        3: source(3, "https://else.example/page/", site="else.example"),
        4: source(4, "https://news.example/pinned/", pinned=60.0),
    }
    shows = {0: links, 1: links | {99}, 2: frozenset(range(30, 70)), 3: links, 4: links}
    assert twins(shows, sources) == {0: 4, 1: 4}
    del sources[4], shows[4]
    assert twins(shows, sources) == {0: 1}


def test_few_links_say_nothing():
    few = frozenset(range(3))
    assert twins({0: few, 1: few}, {0: source(0), 1: source(1)}) == {}


def states(house):
    rows = house.ask(lambda store: store.sources())
    return {row.url.removeprefix("http://paper.test"): (row.state, row.reason) for row in rows}


def test_a_move_is_believed_when_it_has_lasted():
    there, one = "https://news.example/b/", source()
    assert not moved_for_good(one, there, NOW)
    assert not moved_for_good(one, there, NOW + DAY / 2)
    assert not moved_for_good(one, None, NOW + DAY)  # it was being mended
    assert not moved_for_good(one, there, NOW + 2 * DAY)
    assert moved_for_good(one, there, NOW + 3 * DAY)


def test_a_source_that_moves_back_is_watched_again(found, paper, monkeypatch):
    monkeypatch.setattr("mayfly.crawl.retiring.MOVED_FOR", 0.0)
    paper.pages["/sport/"] = Reply(b"", 301, headers=(("Location", "/games/"),))
    paper.show("/games/")

    def active(path):
        return lambda crawler: (one := crawler.parts.sources._urls.get(f"http://paper.test{path}")) and one.active

    gone = active("/sport/")
    found.crawl(8.0, until=lambda crawler: len(crawler.parts.sources) == 4 and not gone(crawler))
    paper.show("/sport/")
    paper.pages["/games/"] = Reply(b"", 301, headers=(("Location", "/sport/"),))
    found.crawl(8.0, until=lambda crawler: len(crawler.parts.sources) == 4 and active("/sport/")(crawler))
    assert states(found)["/sport/"] == ("active", "")


def test_a_source_that_moved_is_watched_where_it_is_now(found, paper, monkeypatch):
    monkeypatch.setattr("mayfly.crawl.retiring.MOVED_FOR", 0.0)
    paper.pages["/sport/"] = Reply(b"", 301, headers=(("Location", "/games/"),))
    paper.show("/games/")
    found.crawl(
        seconds=8.0,
        until=lambda crawler: (
            "http://paper.test/games/" in crawler.parts.sources
            and not crawler.parts.sources._urls["http://paper.test/sport/"].active
        ),
    )
    assert states(found)["/sport/"] == ("retired", "moved to http://paper.test/games/")
    assert states(found)["/games/"] == ("active", "")


def test_a_list_of_sitemaps_gives_way_to_them(found, paper):
    index = (
        b'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        b"<sitemap><loc>http://paper.test/one.xml</loc></sitemap></sitemapindex>"
    )
    paper.pages["/maps.xml"] = Reply(index, type="application/xml")
    from mayfly.store.records import NewSource

    found.ask(lambda store: store.add_sources(1.0, [NewSource("http://paper.test/maps.xml", "sitemap")]))
    found.crawl(seconds=8.0, until=lambda crawler: "http://paper.test/one.xml" in crawler.parts.sources)
    assert states(found)["/maps.xml"][0] == "retired"
    assert states(found)["/one.xml"] == ("active", "")
