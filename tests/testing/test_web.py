"""The loopback web: a world of the lab as HTTP, true to its trace at every moment."""

import gzip
import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest

from mayfly.core.model import DAY, HOUR
from mayfly.lab.replay import Settings, replay
from mayfly.lab.trace import read_trace
from mayfly.testing.server import Server, in_thread
from mayfly.testing.web import SetClock, Web
from mayfly.testing.world import small_shape
from mayfly.urls import canonical

BEGIN = 1_750_000_000.0


def make_web(clock: SetClock | None = None, seed: int = 1, **options) -> Web:
    return Web(seed=seed, shape=small_shape(2, days=4, pages_per_day=60), clock=clock or SetClock(BEGIN), **options)


@pytest.fixture(scope="module")
def web() -> Web:
    return make_web()


@pytest.fixture(scope="module")
def served(web) -> Iterator[Server]:
    with in_thread(Server(web.sites)) as server:
        yield server


@pytest.fixture(autouse=True)
def at_the_beginning(web) -> None:
    web.clock.now = BEGIN


def get(ask, served, url: str, **headers):
    host, _, path = url.removeprefix("http://").partition("/")
    return ask(served, host, f"/{path}", most=10**7, **headers)


def stories(web: Web, got) -> list[int]:
    """Pages linked in the body of a source, in order: what a reader of it would make of its addresses."""
    body = gzip.decompress(got.body) if got.body.startswith(b"\x1f\x8b") else got.body
    urls = re.findall(
        r'<h2><a href="([^"]+)"|<link>([^<]+)</link>|<loc>([^<]+)</loc>|<link href="([^"]+)"/>', body.decode()
    )
    found = [web.page_of("".join(one).replace("&amp;", "&")) for one in urls]
    return [page for page in found if page is not None]


def test_sources_show_at_every_moment_what_the_trace_says(web, served, ask) -> None:
    trace = web.trace
    kinds = set()
    for hours in (-30, -1, 0, 7, 30, 47):
        web.clock.now = now = BEGIN + hours * HOUR
        for source, url in enumerate(trace.source_urls):
            mine = trace.link_source == source
            there = mine & (trace.added <= now) & (now < trace.removed)
            got = get(ask, served, url)
            assert sorted(stories(web, got)) == sorted(trace.link_page[there].tolist()), url
            assert stories(web, got) == web.shown(url)
            kinds.add(trace.kinds[source])
    assert kinds == {"front", "category", "feed", "other", "sitemap"}


def test_pages_appear_and_links_leave(web, served, ask) -> None:
    front = f"http://{web.hosts[0]}/"
    before = web.shown(front)
    web.clock.now += 40 * HOUR
    after = web.shown(front)
    new = next(page for page in after if page not in before)
    assert any(page not in after for page in before)
    assert get(ask, served, web.trace.page_urls[new]).status == 200
    assert get(ask, served, web.trace.page_urls[before[-1]]).status == 200, "a page stays when its links have left"
    web.clock.now = BEGIN
    assert get(ask, served, web.trace.page_urls[new]).status == 404


def test_the_same_page_stands_on_several_sources(web) -> None:
    pairs = np.unique(np.stack([web.trace.link_source, web.trace.link_page]), axis=1)
    assert np.bincount(pairs[1]).max() > 5


def test_the_same_seed_is_the_same_web(web, served, ask) -> None:
    again, other = make_web(), make_web(seed=2)
    for name in ("source_urls", "page_urls", "kinds"):
        assert getattr(again.trace, name) == getattr(web.trace, name)
    assert np.array_equal(again.trace.added, web.trace.added)
    assert other.trace.page_urls != web.trace.page_urls
    with in_thread(Server(again.sites)) as twin:
        for url in (f"http://{web.hosts[1]}/", f"http://{web.hosts[0]}/feed.xml", web.trace.page_urls[0]):
            assert get(ask, twin, url).body == get(ask, served, url).body


def test_an_article_says_what_it_is(web, served, ask) -> None:
    page = web.shown(f"http://{web.hosts[0]}/")[0]
    url = web.trace.page_urls[page]
    got = get(ask, served, url)
    text = got.body.decode()
    assert f'<link rel="canonical" href="{url}">' in text
    about = json.loads(re.search(r'<script type="application/ld\+json">(.*?)</script>', text)[1])
    dates = re.findall(r'(?:published_time" content|<time datetime)="([^"]+)"', text)
    (date,) = {about["datePublished"], *dates}
    assert len(dates) == 2
    published = np.datetime64(date.rstrip("Z")).astype("datetime64[ms]").astype(float) / 1000
    assert 0 <= web.trace.published[page] - published < 0.01
    assert about["headline"] in re.search(r"<title>(.*?)</title>", text)[1]
    assert len(text.split()) > 250 and text.count("<li><a href=") == 5
    for known in ('href="/about"', 'href="/login"', "social.test/share", "mailto:", "/style.css", "utm_source=share"):
        assert known in text


def test_a_page_has_several_addresses_and_one_that_counts(web, served, ask) -> None:
    url = web.trace.page_urls[web.shown(f"http://{web.hosts[0]}/")[0]]
    root, path = url[: url.index("/", 7)], url[url.index("/", 7) :]
    bodies = {get(ask, served, spelt).body for spelt in (url, f"{url}?utm_source=rss", f"{url}/", f"{root}/amp{path}")}
    assert len(bodies) == 1
    feed = get(ask, served, f"{root}/feed.xml").body.decode()
    links = [link.replace("&amp;", "&") for link in re.findall(r"<item>.*?<link>(.*?)</link>", feed)]
    assert all("?utm_source=rss" in link and canonical(link) in web.trace.page_urls for link in links)
    tags = [url for url, kind in zip(web.trace.source_urls, web.trace.kinds, strict=True) if kind == "other"]
    assert any("/amp/" in get(ask, served, tag).body.decode() for tag in tags)


def test_addresses_can_all_be_plain() -> None:
    web = make_web(variants=False)
    with (
        in_thread(Server(web.sites)) as server,
        urllib.request.urlopen(
            urllib.request.Request(f"{server.url}/feed.xml", headers={"Host": web.hosts[0]}), timeout=5
        ) as got,
    ):
        assert "utm" not in got.read().decode()


def test_the_finder_can_find_everything(web, served, ask) -> None:
    root = f"http://{web.hosts[0]}"
    robots = get(ask, served, f"{root}/robots.txt").body.decode()
    index = get(ask, served, re.search(r"Sitemap: (\S+)", robots)[1]).body.decode()
    front = get(ask, served, f"{root}/").body.decode()
    found = re.findall(r"<loc>(.*?)</loc>", index)
    found += [root + path for path in re.findall(r'href="(/[^"]*)"', front)]
    mine = {url for url in web.trace.source_urls if url.startswith(root)}
    assert mine <= set(found)
    for path in ("/about", "/imprint", "/login", "/style.css", "/app.js", "/logo.png", "/pictures/3.png"):
        assert get(ask, served, root + path).status == 200
    assert get(ask, served, f"{root}/nothing").status == 404


def test_conditional_get_is_right(web, served, ask) -> None:
    url = f"http://{web.hosts[0]}/"
    changes = np.unique(web.trace.added[(web.trace.link_source == 0) & (web.trace.added > BEGIN)])
    web.clock.now = float(changes[0]) + 2
    first = get(ask, served, url)
    tag, date = first.headers["etag"], first.headers["last-modified"]
    assert get(ask, served, url, If_None_Match=tag).status == 304
    assert get(ask, served, url, If_Modified_Since=date).status == 304
    web.clock.now = float(changes[1]) + 2
    later = get(ask, served, url, If_None_Match=tag)
    assert later.status == 200 and later.body != first.body and later.headers["etag"] != tag
    assert get(ask, served, url, If_Modified_Since=date).status == 200
    article = web.trace.page_urls[web.shown(url)[0]]
    got = get(ask, served, article)
    assert get(ask, served, article, If_None_Match=got.headers["etag"]).status == 304


def test_no_date_is_given_for_a_change_of_this_second(web, served, ask) -> None:
    """Two changes in a second have one date: who asked between them would never see the second."""
    url = f"http://{web.hosts[0]}/"
    change = float(web.trace.added[(web.trace.link_source == 0) & (web.trace.added > BEGIN)][0])
    web.clock.now = change
    assert "last-modified" not in get(ask, served, url).headers
    web.clock.now = change + 1
    assert "last-modified" in get(ask, served, url).headers


def test_the_trace_comes_back_whole(web, tmp_path) -> None:
    web.write_trace(tmp_path / "trace")
    trace = read_trace(tmp_path / "trace")
    assert trace.page_urls == web.trace.page_urls and trace.source_urls == web.trace.source_urls
    for name in ("published", "added", "removed", "link_source", "link_page"):
        assert np.array_equal(getattr(trace, name), getattr(web.trace, name))
    assert np.array_equal(trace.clicks.at, web.trace.clicks.at)
    assert trace.about["factor"] == 1.0
    assert replay(trace, Settings("index", trace.page_rate)) is not None


def test_readers_click_while_it_is_news(web) -> None:
    web.clock.now = BEGIN + DAY
    rows = [json.loads(row) for row in web.clicks()]
    assert rows and all(row["at"] < web.clock.now and row["kind"] == "click" and row["count"] >= 1 for row in rows)
    ages = [row["at"] - web.trace.published[web.page_of(row["url"])] for row in rows]
    assert min(ages) >= 0 and np.median(ages) < DAY
    early, late = list(web.clicks(BEGIN)), list(web.clicks(BEGIN + DAY, since=BEGIN))
    assert [json.loads(row) for row in early + late] == rows


def test_a_factor_presses_the_world_into_less_time() -> None:
    clock = SetClock(BEGIN)
    slow, fast = make_web(clock), make_web(clock, factor=3600.0)
    assert fast.trace.end - fast.trace.start == pytest.approx(4 * DAY / 3600)
    for hours in (-20, 0, 20):
        front = f"http://{slow.hosts[0]}/"
        assert slow.shown(front, BEGIN + hours * HOUR + 0.01) == fast.shown(front, BEGIN + hours + 0.01 / 3600)
    assert fast.trace.published.max() < fast.trace.end


def test_it_runs_as_a_program_of_its_own(tmp_path, ask) -> None:
    words = ["--hosts", "2", "--factor", "3600", "--days", "4", "--trace", str(tmp_path / "trace")]
    with subprocess.Popen(
        [sys.executable, "-m", "mayfly.testing", *words], stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            about = json.loads(running.stdout.readline())
            assert about["hosts"] == ["site-01.test", "site-02.test"]
            assert about["connect_to"] == [f"::127.0.0.1:{about['port']}"]

            def fetch(host: str, path: str) -> bytes:
                url = f"http://{about['address']}:{about['port']}{path}"
                with urllib.request.urlopen(urllib.request.Request(url, headers={"Host": host}), timeout=5) as got:
                    return got.read()

            assert b"<article>" in fetch("site-02.test", "/")
            clock = json.loads(fetch("control.test", "/clock"))
            rows = [json.loads(row) for row in fetch("control.test", "/clicks").splitlines()]
            assert rows and rows[-1]["at"] <= json.loads(fetch("control.test", "/clock"))["now"]
            (visit,) = [json.loads(row) for row in fetch("control.test", "/journal").splitlines()]
            assert (visit["host"], visit["status"], visit["number"]) == ("site-02.test", 200, 0)
        finally:
            running.send_signal(signal.SIGINT)
            assert running.wait(10) == 0
    assert read_trace(tmp_path / "trace").start == clock["start"]
