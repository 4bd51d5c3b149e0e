"""Every page with nothing, a little and very much; what comes from the web stays text."""

import asyncio
import html
import json
import re
from types import SimpleNamespace

import httpx
import numpy as np
import pytest

from mayfly.core.model import HOUR, WEEK
from mayfly.serve.app import make_app
from mayfly.serve.guard import cookie_of
from mayfly.serve.ops.figures import beats, delays
from mayfly.serve.ops.harvest import Pages
from mayfly.store.listings import Beat
from mayfly.store.records import Minute
from mayfly.store.sqlite import SqliteStore

PAGES = ("/ops", "/ops/sources", "/ops/hosts", "/ops/health", "/ops/health/brief", "/ops/what-if")
FIGURES = ("/ops/data/rate", "/ops/data/quality", "/ops/data/delay", "/ops/data/plan", "/ops/data/clicks/0")


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
        "/ops/sources",
        "/ops/sources/0",
        "/ops/sources/1",
        "/ops/hosts",
        "/ops/health",
        f"/ops/sources?q={little.script}",
    ):
        assert "<script>alert" not in answer.text
    assert html.escape(little.script) in little.one("/ops/sources/0").text.replace("&#39;", "&#x27;")


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


def test_a_young_crawl_is_drawn_by_seconds() -> None:
    minutes = [Minute(at=40.0, crawls=1, pages=1, others=0, failures=0, found=0, price=0.5, budget=2.0)]
    told = beats([Beat(100.0, 10, 5, 0), Beat(110.0, 0, 20, 5)], minutes, -480.0, 122.0, 2.0)
    drawn = {at: place for place, at in enumerate(told["at"])}
    assert told["crawls"][drawn[95.0]] is None  # before anything happened
    assert [told["crawls"][drawn[at]] for at in (100.0, 105.0, 110.0, 115.0)] == [2.0, 0.0, 0.0, 0.0]
    assert [told["pages"][drawn[at]] for at in (100.0, 110.0)] == [1.0, 4.0]
    assert told["others"][drawn[110.0]] == 1.0
    assert 120.0 not in drawn  # is not over
    assert told["price"][drawn[95.0]] is None and told["price"][drawn[100.0]] == told["price"][drawn[115.0]] == 0.5


def test_the_time_shown_first_is_the_shortest_that_holds_the_crawl(little, nothing) -> None:
    assert 'href="/ops?span=10m" aria-current="true"' in nothing.one("/ops").text
    assert 'href="/ops?span=6h" aria-current="true"' in little.one("/ops").text
    assert 'href="/ops?span=1w" aria-current="true"' in little.one("/ops?span=1w").text


def test_quality_is_what_was_seen_and_the_rest(little) -> None:
    told = little.one("/ops/data/quality").json()
    assert told["week_seen"][-1] * WEEK == pytest.approx(16.0, rel=1e-4)  # eight pages, two clicks each
    left = 8 * 3.0 * np.exp(-(told["known_until"] - (little.now - 29.5 * HOUR)) / (2 * HOUR))
    assert (told["week_whole"][-1] - told["week_seen"][-1]) * WEEK == pytest.approx(left, rel=0.01)
    assert told["five_seen"][-1] == 0.0 and max(told["five_seen"]) * 5 * HOUR == pytest.approx(16.0, rel=1e-4)
    assert told["settled"] == little.now - WEEK


def test_delays_and_clicks_by_age(little) -> None:
    delay = little.one("/ops/data/delay?span=1w").json()
    assert delay["all"]["found"][0] == pytest.approx(0.5 * HOUR)
    assert delay["all"]["fetched"][0] == pytest.approx(HOUR, rel=0.2)
    clicks = little.one("/ops/data/clicks/0").json()
    assert clicks["pages"] == 8 and clicks["clicks"] == 16.0
    assert clicks["fitted"][-1] == pytest.approx(3.0 * (1 - np.exp(-clicks["age"][-1] / 2)))
    assert 1.5 <= max(value for value in clicks["seen"] if value is not None) <= 3.5


def test_the_delays_of_a_few_pages_far_apart_are_drawn() -> None:
    number, fetched = np.arange(24), HOUR * np.arange(24.0)
    told = delays(Pages(number, number, fetched - 600, fetched - 300, fetched, number), 0.0, 24 * HOUR)
    assert set(told["whole_median"]) == {600.0} and len(told["at"]) == 4


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
    assert say(do="block", why=little.script).status_code == 303 and (state().state, state().reason) == (
        "blocked",
        little.script,
    )
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


@pytest.mark.parametrize("path", PAGES)
def test_every_page_with_very_much(much, path) -> None:
    answer = much.one(path)
    assert answer.status_code == 200 and len(answer.content) < 200_000


def test_the_stream_brings_the_numbers(little) -> None:
    async def first() -> dict:
        async with little.serving() as serving:
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
    guarded = little.guarded("a-token-of-24-characters")
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
