"""The reader, as people use it: real HTTP, no JavaScript."""

import asyncio
import html
import re
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import httpx
import pytest

from mayfly.core.model import DAY, HOUR
from mayfly.serve.ledger import Ledger
from mayfly.store.records import Crawled, Estimate, Fetched, Memory, NewSource, ShownLink
from mayfly.store.sqlite import SqliteStore

BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept": "text/html",
}
TOKEN = "a-token-of-24-characters"
# Source, path, hours ago, title, text.
PAGES = [
    (0, "budget", 1, "Budget passes at last", "The chamber voted for the budget after a long night."),
    (0, "storm", 5, "Storm closes the harbour", "Ships wait outside the harbour; the budget for dykes was cut."),
    (1, "chess", 2, "A quiet move wins", "Chess, and nothing but chess."),
    (1, "old", 60, "The harbour in winter", "Long ago."),
    (0, "evil", 3, '<script>alert("x")</script>', 'A "quoted" text with <img src=x onerror=alert(1)> in it.'),
]


async def _fill(home: Path, now: float) -> None:
    async with SqliteStore(home / "mayfly.db") as store:
        await store.add_sources(
            10.0, [NewSource("https://paper.example/", "front"), NewSource("https://club.example/feed", "feed")]
        )
        for source, path, hours, title, text in PAGES:
            host = ("paper.example", "club.example")[source]
            at = now - hours * HOUR
            link = ShownLink(f"https://{host}/{path}", host, title, 1, "", at, "feed")
            landed = await store.commit(Crawled(source, at + 1, 200, 0.1, 1000, Memory(), [link]))
            page = landed.new[0].page
            what = {"title": title, "text": text, "body_hash": page, "language": "en"}
            await store.commit(Fetched(page, at + 60, "fetched", 200, 0.1, 2000, link.url, **what))
        beliefs = [Estimate(0, 1e-4, 8.0, 1 / DAY, 900.0, 1.0, None), Estimate(1, 1e-4, 1.0, 1 / DAY, 900.0, 1.0, None)]
        await store.save_estimates(beliefs)


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("home")
    asyncio.run(_fill(made, time.time()))
    return made


@pytest.fixture(scope="module")
def reader(serving, home):
    with serving(home) as running:
        running.http.headers.update(BROWSER)
        yield running


@pytest.fixture
def own(serving, tmp_path):
    """A server whose clicks are those of one test."""
    asyncio.run(_fill(tmp_path, time.time()))
    with serving(tmp_path) as running:
        running.http.headers.update(BROWSER)
        yield running


def titles(page: str) -> list[str]:
    found = re.findall(r"<h2[^>]*><a [^>]*>(.*?)</a></h2>", page)
    return [html.unescape(re.sub(r"</?mark>", "", title)) for title in found]


def links(page: str) -> list[str]:
    return [html.unescape(link) for link in re.findall(r'href="(/go/[^"]+)"', page)]


def counted(home: Path, number: int = 0) -> list[tuple]:
    """What came in: (page, kind, position, count), once there is so much."""
    end = time.monotonic() + 20
    while True:
        rows = asyncio.run(_clicks(home))
        if len(rows) >= number:
            return rows
        assert time.monotonic() < end, rows
        time.sleep(0.05)


async def _clicks(home: Path) -> list[tuple]:
    async with SqliteStore(home / "mayfly.db", read_only=True) as store:
        told, _ = await store.clicks_since(0)
    kind = ["show" if show else "click" for show in told.show]
    return list(zip(told.page.tolist(), kind, told.position.tolist(), told.number.tolist(), strict=True))


def test_what_is_worth_most_now_comes_first(reader) -> None:
    answer = reader.http.get("/")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    found = titles(answer.text)
    assert sorted(found) == sorted(title for *_, title, _ in PAGES)
    assert found[0] == "Budget passes at last" and found[-1] == "The harbour in winter"
    assert re.search(r'<time datetime="\d{4}-\d\d-\d\dT[^"]+Z">1 h ago</time>', answer.text)
    assert "2 days ago" in answer.text and "via /feed</a>" in answer.text


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"q": "harbour"}, {"Storm closes the harbour", "The harbour in winter"}),
        ({"q": "HARBOUR winter"}, {"The harbour in winter"}),
        ({"q": '"long night"'}, {"Budget passes at last"}),
        ({"q": '"night long"'}, set()),
        ({"q": "harbour", "age": "day"}, {"Storm closes the harbour"}),
        ({"q": "harbour", "host": "Club.example"}, {"The harbour in winter"}),
        ({"q": "budget", "source": "1"}, set()),
        ({"source": "1"}, {"A quiet move wins", "The harbour in winter"}),
        ({"host": "club.example", "age": "week", "source": "1"}, {"A quiet move wins", "The harbour in winter"}),
        ({"host": "club.example", "source": "0"}, set()),
        ({"age": "hour"}, set()),
        ({"age": "soon", "source": "x", "page": "-3", "after": "1e9", "upto": "", "q": "chess"}, {"A quiet move wins"}),
        ({"page": "9", "after": "99"}, set()),
    ],
)  # fmt: skip
def test_search_and_filters(reader, asked, found) -> None:
    answer = reader.http.get("/", params=asked)
    assert answer.status_code == 200 and set(titles(answer.text)) == found
    assert ('class="empty"' in answer.text) == (not found)


def test_the_closest_of_the_equally_new_comes_first_and_words_are_marked(reader) -> None:
    page = reader.http.get("/", params={"q": "budget"}).text
    assert titles(page) == ["Budget passes at last", "Storm closes the harbour"]
    assert "<mark>Budget</mark> passes" in page and "the <mark>budget</mark> for dykes" in page


@pytest.mark.parametrize(
    "query", ['"', '""" AND (', "NOT", "*", "title:x", "a" * 5000, "\0", "x NEAR( y", "^a - +", "\u0300", "½ ①"]
)
def test_anything_may_be_typed(reader, query) -> None:
    for path in ("/", "/rss"):
        assert reader.http.get(path, params={"q": query}).status_code == 200


def test_what_strangers_wrote_is_only_text(reader) -> None:
    for asked in ({}, {"q": "script"}, {"q": "quoted"}, {"q": "<script>\"'>", "host": '"><script>'}):
        page = reader.http.get("/", params=asked).text
        assert "<script" not in page and "<img" not in page
    assert "&lt;<mark>script</mark>&gt;" in reader.http.get("/", params={"q": "script"}).text
    policy = reader.http.get("/").headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "form-action 'self'" in policy and "unsafe" not in policy


def test_a_view_is_told_once_and_where_each_page_stood(own) -> None:
    page = own.http.get("/").text
    ids = [int(re.match(r"/go/(\d+)", link)[1]) for link in links(page)]
    assert len(ids) == 5
    assert counted(own.home, 5) == [(id, "show", place, 1.0) for place, id in enumerate(ids, 1)]
    for how in (
        {"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}, {"X-Moz": "prefetch"},
        {"User-Agent": "curl/8.5"}, {"User-Agent": "Feedly/1.0 (feed fetcher)"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ):  # fmt: skip
        assert own.http.get("/", headers=how).status_code == 200
        assert own.http.get("/rss", headers=how).status_code in (200, 403)
    assert own.http.head("/").status_code == 200 and own.http.get("/rss").status_code == 200
    assert own.stop() == (0, "")
    assert len(counted(own.home)) == 5


def test_a_click_leads_to_the_page_and_is_kept_when_it_stops(own) -> None:
    link = next(one for one in links(own.http.get("/", params={"q": "chess"}).text))
    id = int(re.match(r"/go/(\d+)", link)[1])
    for _ in range(3):  # in one view it counts once
        answer = own.http.get(link)
        assert (answer.status_code, answer.headers["Location"]) == (302, "https://club.example/chess")
    assert answer.headers["Referrer-Policy"] == "no-referrer" and answer.headers["Cache-Control"] == "no-store"
    assert own.http.get(f"/go/{id}?p=7").status_code == 302  # no view is known: it counts
    for how in ({"Sec-Purpose": "prefetch"}, {"User-Agent": "Googlebot"}):
        assert own.http.get(f"/go/{id}?p=9&v=other", headers=how).status_code == 302
    assert own.http.head(f"/go/{id}?p=9&v=other").status_code == 302
    assert own.stop() == (0, ""), "what waits is kept at the end"
    assert counted(own.home) == [(id, "show", 1, 1.0), (id, "click", 1, 1.0), (id, "click", 7, 1.0)]


def test_a_position_nobody_has_is_none(own) -> None:
    for position in ("0", "-1", "10001", "x", "1e3", "٣", "9" * 40, ""):
        assert own.http.get("/go/1", params={"p": position}).status_code == 302
    assert own.stop() == (0, "")
    assert {row[:3] for row in counted(own.home)} == {(1, "click", 0)}
    assert sum(row[3] for row in counted(own.home)) == 8


@pytest.mark.parametrize("id", ["99", "0", "-1", "x", "https://evil.example", "//evil.example", "1.0", "٣", "9" * 40])
def test_it_leads_nowhere_else(reader, id) -> None:
    answer = reader.http.get(f"/go/{id}", params={"url": "https://evil.example", "next": "https://evil.example"})
    assert answer.status_code == 404 and "Location" not in answer.headers


def test_a_page_of_another_site_can_click_nothing(reader) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert reader.http.get("/go/1", headers=headers).status_code == 403
    assert reader.http.get("/rss", headers=headers).status_code == 403
    assert reader.http.get("/", headers=headers).status_code == 200


def test_a_search_can_be_followed(reader) -> None:
    page = reader.http.get("/", params={"q": "harbour", "age": "week"}).text
    feed = html.unescape(re.search(r'type="application/rss\+xml" title="[^"]*" href="([^"]+)"', page)[1])
    answer = reader.http.get(feed)
    assert answer.headers["Content-Type"].startswith("application/rss+xml")
    channel = ElementTree.fromstring(answer.content).find("channel")
    assert channel.findtext("title") == "Mayfly · harbour"
    assert channel.findtext("link") == reader.url + "?q=harbour&age=week"
    assert {item.findtext("link") for item in channel.iter("item")} == {
        "https://paper.example/storm", "https://club.example/old",
    }  # fmt: skip
    best = ElementTree.fromstring(reader.http.get("/rss").content)
    assert next(best.iter("item")).findtext("title") == "Budget passes at last"


def test_what_the_store_cannot_take_is_said_and_ends_nothing(home, caplog) -> None:
    async def main() -> None:
        async with SqliteStore(home / "mayfly.db", read_only=True) as store:
            ledger = Ledger(store, 1200.0)
            ledger.shown(["https://paper.example/budget"], 1, 5.0)
            assert ledger.clicked(1, "https://paper.example/budget", 1, "view", 6.0)
            assert not ledger.clicked(1, "https://paper.example/budget", 1, "view", 7.0)
            await asyncio.wait_for(ledger.close(), 10)

    asyncio.run(main())
    assert "open for reading only" in caplog.text


def test_a_long_list_is_turned_and_shows_everything(serving, lands, tmp_path) -> None:
    lands(tmp_path, *range(1, 71))  # long ago, so nothing is drawn by chance
    with serving(tmp_path) as running:
        running.http.headers.update(BROWSER)
        for start in ("/", "/?q=words"):
            seen, path, pages = [], start, 0
            while path:
                page = running.http.get(path).text
                seen += titles(page)
                assert (pages == 0) == ("Back to the first" not in page)
                more = re.search(r'href="([^"]+)" rel="next"', page)
                path, pages = html.unescape(more[1]) if more else "", pages + 1
                if pages == 1:
                    lands(tmp_path, 100 + len(start))  # what lands meanwhile moves nothing
            assert pages == 3 and len(seen) == len(set(seen)) >= 70
        told = counted(tmp_path, 140)
        assert {place for _, _, place, _ in told} >= set(range(1, 71))


def test_who_sees_nothing_is_told_why(serving, tmp_path) -> None:
    old, new = (
        ShownLink("https://a.example/1", "a.example", wanted=False),
        ShownLink("https://a.example/2", "a.example"),
    )
    steps = (
        (None, "Nothing is watched yet"),
        (lambda store: store.add_sources(10.0, [NewSource("https://a.example/", "front")]), "1 source will be watched"),
        (
            lambda store: store.commit(Crawled(0, 20.0, 200, 0.1, 9, Memory(), [old], first=True)),
            "have shown nothing new so far",
        ),
        (lambda store: store.commit(Crawled(0, 30.0, 200, 0.1, 9, Memory(), [old, new])), "1 new page was found"),
    )

    async def make(step) -> None:
        async with SqliteStore(tmp_path / "mayfly.db") as store:
            await step(store)

    with serving(tmp_path) as running:
        for step, says in steps:
            if step:
                asyncio.run(make(step))
            assert says in running.http.get("/").text
            assert "follow this search by RSS" in running.http.get("/?q=word").text


def test_it_is_made_for_everyone(reader) -> None:
    for path in ("/", "/?q=harbour&host=club.example", "/?q=nothing-at-all", "/go/999", "/docs"):
        page = reader.http.get(path).text
        assert page.count("<h1") == 1 and '<html lang="en">' in page and "<title>" in page
        assert '<a class="skip" href="#main">' in page and 'id="main"' in page
        assert not re.search(r"<[^>]*\s(?:on\w+|style)=|javascript:", page)
        fields = re.findall(r'<(?:input|select)(?![^>]*type="hidden")[^>]* id="([^"]+)"', page)
        assert all(f'<label class="hidden" for="{field}">' in page for field in fields)
        assert len(fields) == page.count("<select") + len(re.findall(r'<input(?![^>]*type="hidden")', page))
    assert "prefers-color-scheme: dark" in reader.http.get("/style.css").text


def test_with_a_token_people_log_in(serving, home) -> None:
    with serving(home, MAYFLY_TOKEN=TOKEN) as running, httpx.Client(base_url=running.url, headers=BROWSER) as browser:
        sent = browser.get("/?q=x")
        assert (sent.status_code, sent.headers["Location"]) == (303, "/login?next=/")
        assert "Token of this server" in browser.get("/login?next=/ops").text
        wrong = browser.post("/login", data={"token": "another", "next": "/"})
        assert wrong.status_code == 403 and "not the token" in wrong.text and "set-cookie" not in wrong.headers
        for beyond, to in (("/ops", "/ops"), ("//evil.example", "/"), ("https://evil.example/", "/")):
            right = browser.post("/login", data={"token": TOKEN, "next": beyond})
            assert (right.status_code, right.headers["Location"]) == (303, to)
        cookie = right.headers["Set-Cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie and TOKEN not in cookie
        page = browser.get("/").text
        assert len(titles(page)) == 5 and "Log out" in page
        assert browser.get("/api/pages").status_code == 200
        for how in ({"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}):
            assert browser.post("/api/hints", json=[], headers=how).status_code == 401
        feed = html.unescape(re.search(r'class="feed" href="([^"]+)"', page)[1])
        assert httpx.get(running.url.rstrip("/") + feed).status_code == 200, "a feed reader has no cookie"
        key = feed.partition("key=")[2]
        assert httpx.get(running.url, params={"key": key}).status_code == 401
        assert httpx.get(running.url + "api/pages", params={"key": key}).status_code == 401
        assert browser.post("/logout").headers["Location"] == "/login"
        assert browser.get("/").status_code == 303
