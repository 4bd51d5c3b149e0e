"""The dashboard: every page with nothing, a little and very much; what comes from the web stays text."""

import asyncio
import html
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import httpx
import numpy as np
import pytest

from mayfly.core import buying
from mayfly.core.intervals import exact_plan
from mayfly.core.model import DAY, HOUR, WEEK, beliefs
from mayfly.crawl.settings import Settings
from mayfly.serve.app import make_app
from mayfly.serve.guard import cookie_of
from mayfly.serve.ops.show import number, percent, span
from mayfly.serve.parts import Serving
from mayfly.store.connection import connect
from mayfly.store.listings import Listing
from mayfly.store.records import (
    ClickRow,
    Crawled,
    Estimate,
    Fetched,
    FetchFailure,
    KeptRobots,
    Memory,
    Minute,
    NewSource,
    Rest,
    ShownLink,
)
from mayfly.store.sqlite import SqliteStore

NOW = 1_790_000_000.0
MANY = 100_000
PAGES = ("/ops", "/ops/sources", "/ops/hosts", "/ops/health", "/ops/health/brief", "/ops/what-if")
FIGURES = ("/ops/data/rate", "/ops/data/quality", "/ops/data/delay", "/ops/data/plan", "/ops/data/clicks/0")
EVIL = 'https://evil.example/"><script>alert(1)</script>'
SCRIPT = "<script>alert('title')</script>"


class Asked:
    """A dashboard of a home, asked in this process; each call is a run of its own."""

    def __init__(self, home: Path, **settings: object) -> None:
        self.home, self.settings = home, Settings(**settings)

    def __call__(self, *paths: str, method: str = "GET", **how: object) -> list[httpx.Response]:
        return asyncio.run(self._ask(lambda client: [client.request(method, path, **how) for path in paths]))

    def one(self, path: str, **how: object) -> httpx.Response:
        return self(path, **how)[0]

    async def _ask(self, calls: Callable) -> list[httpx.Response]:
        database = self.home / "mayfly.db"
        async with SqliteStore(database) as store, SqliteStore(database, read_only=True) as reader:
            serving = Serving(self.home, self.settings, "mayfly", store, reader, clock=lambda: NOW)
            transport = httpx.ASGITransport(make_app(serving))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return [await call for call in calls(client)]


@pytest.fixture(scope="module")
def nothing(tmp_path_factory) -> Asked:
    return Asked(tmp_path_factory.mktemp("nothing"))


async def _live(store: SqliteStore) -> None:
    """Two days of a small crawl; one of its sources and pages would do harm if they could."""
    await store.add_hosts(NOW - 2 * DAY, ["paper.example", "gone.example"])
    await store.host_searched("gone.example", NOW - DAY, "dns")
    sources = [
        NewSource("https://paper.example/", "front"),
        NewSource(EVIL, "category"),
        NewSource("https://x.example/feed", "feed"),
    ]
    await store.add_sources(NOW - 2 * DAY, sources)
    links = [ShownLink(f"https://paper.example/{n}", "paper.example", SCRIPT, n) for n in range(1, 9)]
    await store.commit(Crawled(0, NOW - 30 * HOUR, 200, 0.1, 4000, Memory(), [], first=True))
    landed = await store.commit(Crawled(0, NOW - 29 * HOUR, 200, 0.2, 5000, Memory(), links))
    for page, link in landed.new:
        at = NOW - 28 * HOUR + 60.0 * page
        said = {"title": SCRIPT, "published": NOW - 29.5 * HOUR, "published_from": "meta", "body_hash": page}
        await store.commit(Fetched(page, at, "fetched", 200, 0.1, 2000, link.url, **said))
    await store.commit(FetchFailure("source", 2, NOW - HOUR, "busy", "", 429, NOW + 600, Rest("x.example", NOW + 600)))
    rows = [ClickRow(link.url, NOW - 27 * HOUR + 600 * n, 2.0) for n, (_, link) in enumerate(landed.new)]
    await store.add_clicks(NOW - HOUR, rows)
    for minute in range(120, 0, -1):
        await store.note_minute(Minute(NOW - 60.0 * minute, 30, 60, 6, 2, 20, 0.5, 2.0))
    await store.save_estimates(
        [
            Estimate(0, 12 / DAY, 3.0, 1 / (2 * HOUR), 900.0, 0.8, NOW + 60, ""),
            Estimate(1, 1 / DAY, 0.1, 1 / DAY, None, 0.001, None, "below the price"),
        ]
    )  # fmt: skip
    await store.keep_robots(KeptRobots("https://paper.example", b"User-agent: *\nCrawl-delay: 30\n", NOW - HOUR))


@pytest.fixture(scope="module")
def little(tmp_path_factory) -> Asked:
    home = tmp_path_factory.mktemp("little")

    async def fill() -> None:
        async with SqliteStore(home / "mayfly.db") as store:
            await _live(store)

    asyncio.run(fill())
    return Asked(home, budget=2.0)


@pytest.fixture(scope="module")
def much(tmp_path_factory) -> Asked:
    """A hundred thousand sources, put in by the thousand."""
    home = tmp_path_factory.mktemp("much")
    database = connect(home / "mayfly.db")
    draw = np.random.default_rng(5)
    rate, profit = draw.lognormal(0, 1.5, MANY) / DAY, draw.lognormal(0, 1, MANY)
    with database:
        database.executemany(
            "INSERT INTO sources (id, url, host, site, kind, state, found_at, crawls, last_crawl, last_new, revision)"
            " VALUES (?, ?, ?, ?, 'category', ?, ?, 1, ?, ?, ?)",
            (
                (n, f"https://www.host{n % 5000}.example/section-{n}/", f"www.host{n % 5000}.example",
                 f"host{n % 5000}.example", "retired" if n % 100 == 7 else "active", NOW - DAY,
                 NOW - n % 3600, NOW - n % 9999, n + 1)
                for n in range(MANY)
            ),
        )  # fmt: skip
        database.executemany(
            "INSERT INTO estimates VALUES (?, ?, ?, ?, ?, ?, ?, '')",
            (
                (n, rate[n], profit[n], 1e-5 * (1 + n % 7), 600.0 + n % 5000, profit[n] / 10, NOW + n % 1000)
                for n in range(MANY)
            ),
        )
        database.execute("UPDATE meta SET value = ? WHERE name = 'revision'", (MANY + 1,))
    database.close()
    return Asked(home, budget=2.0)


def rows(answer: httpx.Response) -> list[str]:
    return [
        html.unescape(url) for url in re.findall(r'<th scope="row"><a href="/ops/sources/\d+">(.*?)</a>', answer.text)
    ]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_says_what_will_appear(nothing, path) -> None:
    answer = nothing.one(path)
    assert answer.status_code == 200
    if path not in ("/ops/health", "/ops/health/brief"):
        assert 'class="empty"' in answer.text and "mayfly" in answer.text


def test_figures_of_nothing_are_empty(nothing) -> None:
    for answer in nothing(*FIGURES):
        assert answer.status_code == 200, answer.text
        json.loads(answer.text, parse_constant=lambda name: pytest.fail(name))


@pytest.mark.parametrize(
    "path", [*PAGES, "/ops/sources/0", "/ops/sources/1", "/ops/sources/2", "/ops/what-if?budget=0.001"]
)
def test_every_page_with_a_little(little, path) -> None:
    answer = little.one(path)
    assert answer.status_code == 200
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy and "unsafe" not in policy and "http" not in policy
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert not re.search(r"<script(?! src=\"/)|\sstyle=|\son\w+=|hx-on|js:", answer.text)
    for address in re.findall(r'(?:src|hx-get|data-url|action)="([^"]*)"', answer.text):
        assert address.startswith("/") and not address.startswith("//")


def test_what_comes_from_the_web_stays_text(little) -> None:
    for answer in little(
        "/ops/sources", "/ops/sources/0", "/ops/sources/1", "/ops/hosts", "/ops/health", f"/ops/sources?q={SCRIPT}"
    ):
        assert "<script>alert" not in answer.text
    assert html.escape(SCRIPT) in little.one("/ops/sources/0").text.replace("&#39;", "&#x27;")


def test_a_source_tells_all(little) -> None:
    page = little.one("/ops/sources/0").text
    for said in (
        "12",
        "3",
        "15 min",
        "Why it is crawled so",
        "It shows about 12 new links a day",
        "Crawl history",
        "New links by hour",
    ):
        assert said in page, said
    assert re.search(r'<td class="number">8</td>', page)  # the crawl that showed eight
    assert little.one("/ops/sources/99").status_code == 404


def test_numbers_of_the_crawl(little) -> None:
    page = little.one("/ops").text
    assert re.search(r'data-live="price">0.5<', page) and re.search(r'data-live="kept">8<', page)
    rate = little.one("/ops/data/rate?span=1h").json()
    assert max(value for value in rate["crawls"] if value is not None) == pytest.approx(0.5)
    assert max(value for value in rate["budget"] if value is not None) == 2.0
    assert len(rate["at"]) == len(rate["crawls"]) == len(rate["price"]) <= 361


def test_quality_is_what_was_seen_and_the_rest(little) -> None:
    told = little.one("/ops/data/quality").json()
    assert told["week_seen"][-1] * WEEK == pytest.approx(16.0, rel=1e-4)  # eight pages, two clicks each
    left = 8 * 3.0 * np.exp(-(told["known_until"] - (NOW - 29.5 * HOUR)) / (2 * HOUR))
    assert (told["week_whole"][-1] - told["week_seen"][-1]) * WEEK == pytest.approx(left, rel=0.01)
    assert told["five_seen"][-1] == 0.0 and max(told["five_seen"]) * 5 * HOUR == pytest.approx(16.0, rel=1e-4)
    assert told["settled"] == NOW - WEEK


def test_delays_and_clicks_by_age(little) -> None:
    delay = little.one("/ops/data/delay?span=1w").json()
    assert delay["all"]["found"][0] == pytest.approx(0.5 * HOUR)
    assert delay["all"]["fetched"][0] == pytest.approx(HOUR, rel=0.2)
    clicks = little.one("/ops/data/clicks/0").json()
    assert clicks["pages"] == 8 and clicks["clicks"] == 16.0
    assert clicks["fitted"][-1] == pytest.approx(3.0 * (1 - np.exp(-clicks["age"][-1] / 2)))
    assert 1.5 <= max(value for value in clicks["seen"] if value is not None) <= 3.5


def test_hosts_tell_errors_waits_and_robots(little) -> None:
    page = little.one("/ops/hosts").text
    for said in (
        "30 s",
        "as robots.txt asks",
        "rests, free in 10 min",
        "no sources found: dns",
        "busy",
        "of 4 hosts",
    ):
        assert said in page, said


def test_a_persons_word(little) -> None:
    def state() -> SimpleNamespace:
        async def look():
            async with SqliteStore(little.home / "mayfly.db", read_only=True) as store:
                return (await store.sources([2]))[0]

        found = asyncio.run(look())
        return SimpleNamespace(state=found.state, pinned=found.pinned, reason=found.reason)

    def say(**form: str) -> httpx.Response:
        return little.one("/ops/sources/2", method="POST", data=form)

    assert say(do="pin", every="600").headers["Location"] == "/ops/sources/2"
    assert state().pinned == 600.0
    assert say(do="unpin").status_code == 303 and state().pinned is None
    assert say(do="block", why=SCRIPT).status_code == 303 and (state().state, state().reason) == ("blocked", SCRIPT)
    assert "<script>alert" not in little.one("/ops/sources/2").text
    assert say(do="restore").status_code == 303 and state().state == "active"
    assert say(do="retire").status_code == 303 and state().state == "retired"
    assert say(do="restore").status_code == 303
    for form in ({}, {"do": "delete"}, {"do": "pin"}, {"do": "pin", "every": "1"}, {"do": "pin", "every": "nan"}):
        assert say(**form).status_code == 422
    assert little.one("/ops/sources/99", method="POST", data={"do": "block"}).status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"},
    ],
)
def test_another_site_cannot_say_it(little, headers) -> None:
    answer = little.one("/ops/sources/0", method="POST", data={"do": "block"}, headers=headers)
    assert answer.status_code == 403
    assert "active" in little.one("/ops/sources?q=paper").text


@pytest.mark.parametrize(
    "column", ["url", "rate", "profit", "decay", "interval", "yield", "due", "worth", "state", "failures"]
)
def test_any_order_of_very_many(much, column) -> None:
    first, last, back = much(
        f"/ops/sources?sort={column}&down=1",
        f"/ops/sources?sort={column}&down=1&page=2000",
        f"/ops/sources?sort={column}&down=0",
    )
    for answer in (first, last, back):
        assert answer.status_code == 200 and len(rows(answer)) == 50 and len(answer.content) < 150_000
    assert "1–50 of 100,000 sources" in first.text and "99,951–100,000 of 100,000 sources" in last.text
    assert 'aria-sort="descending"' in first.text and 'aria-sort="ascending"' in back.text
    assert rows(first) != rows(last)


def test_the_order_is_right(much) -> None:
    async def found() -> tuple[list, list]:
        async with SqliteStore(much.home / "mayfly.db", read_only=True) as store:
            listed = await store.list_sources(Listing("profit", True, state="active", first=100, skip=50))
            everything = [one for one in await store.sources() if one.state == "active"]
        everything.sort(key=lambda one: (-one.estimate.page_profit, one.id))
        return [one.id for one in listed.rows], [one.id for one in everything[50:150]]

    listed, right = asyncio.run(found())
    assert listed == right
    page = much.one("/ops/sources?sort=url&down=0")
    assert rows(page) == sorted(rows(page)) and rows(page)[0].startswith("www.host0.example/")


def test_search_among_very_many(much) -> None:
    page = much.one("/ops/sources?q=host77.example%20section-77")
    assert "www.host77.example/section-77/" in rows(page)
    assert all("host77.example" in row for row in rows(page))
    assert len(rows(much.one("/ops/sources?q=100%25"))) == 0
    assert "of 1,000 sources" in much.one("/ops/sources?state=retired").text
    assert "of 20 sources" in much.one("/ops/sources?host=www.host7.example").text


def test_nonsense_is_taken_as_the_usual(much) -> None:
    for path in ("?page=0", "?page=-1", "?page=x", "?page=99999999999", "?sort=passwords", "?down=x", "?state=dead"):
        answer = much.one(f"/ops/sources{path}")
        assert answer.status_code == 200 and len(rows(answer)) == 50


def test_very_many_are_listed_in_time(much) -> None:
    """Generous: a busy machine counts too. Measured alone each is far below."""

    async def times() -> list[float]:
        async with (
            SqliteStore(much.home / "mayfly.db") as store,
            SqliteStore(much.home / "mayfly.db", read_only=True) as reader,
        ):
            app = make_app(Serving(much.home, Settings(), "mayfly", store, reader, clock=lambda: NOW))
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
                taken = []
                for column in ("worth", "url", "due"):
                    begun = time.perf_counter()
                    await client.get(f"/ops/sources?sort={column}&page=900")
                    taken.append(time.perf_counter() - begun)
                return taken

    assert min(asyncio.run(times())) < 1.0


@pytest.mark.parametrize("path", PAGES)
def test_every_page_with_very_much(much, path) -> None:
    answer = much.one(path)
    assert answer.status_code == 200 and len(answer.content) < 200_000


def test_what_if_says_what_the_api_says(little) -> None:
    page, plan = little("/ops/what-if?budget=0.002", "/api/plan?budget=0.002")
    told = plan.json()["exact"]
    for said in (
        str(told["sources_in"]),
        number(told["quality"]),
        number(told["price"]),
        span(told["median_interval"]),
    ):
        assert f'<td class="number">{said}</td>' in page.text


def test_what_if_says_what_plan_says(much) -> None:
    page = much.one("/ops/what-if?budget=1.5")
    rate, profit, decay, ids = asyncio.run(_columns(much.home))
    believed = beliefs(rate, profit, decay)
    for budget in (1.5, 2.0):
        facts = buying.facts(exact_plan(believed, budget), buying.bound_of(believed))
        for said in (
            f"{facts['sources_in']:,}",
            number(facts["quality"]),
            number(facts["price"]),
            percent(facts["share"]),
        ):
            assert f'<td class="number">{said}</td>' in page.text
    was, then = exact_plan(believed, 2.0).taken > 0, exact_plan(believed, 1.5).taken > 0
    leaving = ids[was & ~then]
    assert f"{len(leaving):,} drop out" in page.text and "0 come in" in page.text
    named = {int(number) for number in re.findall(r'<li><a href="/ops/sources/(\d+)"', page.text)}
    assert named and named <= set(leaving.tolist())


async def _columns(home: Path) -> list[np.ndarray]:
    async with SqliteStore(home / "mayfly.db", read_only=True) as store:
        active = [one for one in await store.sources() if one.state == "active" and one.estimate]
    columns = np.array([(*one.estimate[1:4], one.id) for one in active], float).T.copy()
    return [*columns[:3], columns[3].astype(int)]


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf", "many", "1e99", ""])
def test_a_budget_that_is_none_is_said_to_be(much, budget) -> None:
    answer = much.one(f"/ops/what-if?budget={budget}")
    assert answer.status_code == 200 and ('class="error"' in answer.text) == (budget != "")


def test_the_stream_brings_the_numbers(little) -> None:
    async def first() -> dict:
        async with (
            SqliteStore(little.home / "mayfly.db") as store,
            SqliteStore(little.home / "mayfly.db", read_only=True) as reader,
        ):
            serving = Serving(little.home, Settings(), "mayfly", store, reader, clock=lambda: NOW)
            app, came = make_app(serving), []

            async def receive() -> dict:
                await serving.stopping.wait()
                return {"type": "http.disconnect"}

            async def send(message: dict) -> None:
                came.append(message.get("body", b""))
                if b"event: now" in came[-1]:
                    serving.stopping.set()

            scope = {
                "type": "http",
                "method": "GET",
                "path": "/ops/live",
                "raw_path": b"/ops/live",
                "query_string": b"",
                "headers": [(b"host", b"localhost")],
            }
            await asyncio.wait_for(app(scope | {"http_version": "1.1", "scheme": "http"}, receive, send), 20)
            assert serving.streams == 0
            return json.loads(b"".join(came).split(b"data: ")[1].split(b"\n")[0])

    told = asyncio.run(first())
    assert told["price"] == "0.5" and told["state"] == "not running" and told["kept"] == "8"


def test_with_a_token_nothing_is_shown_or_done_without_it(little) -> None:
    guarded = Asked(little.home, token="a-token-of-24-characters")
    for path in (*PAGES, *FIGURES, "/ops/live", "/ops/sources/0"):
        assert guarded.one(path).status_code == 401
    shown = guarded.one("/ops", headers={"Accept": "text/html"})
    assert (shown.status_code, shown.headers["Location"]) == (303, "/login?next=/ops")
    assert guarded.one("/ops/sources/0", method="POST", data={"do": "block"}).status_code == 401
    known = {"Authorization": "Bearer a-token-of-24-characters"}
    assert guarded.one("/ops/data/rate", headers=known).status_code == 200
    cookie = {"Cookie": f"mayfly={cookie_of('a-token-of-24-characters')}"}
    assert guarded.one("/ops", headers=cookie).status_code == 200
    forged = cookie | {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert guarded.one("/ops/sources/0", method="POST", data={"do": "block"}, headers=forged).status_code == 401
