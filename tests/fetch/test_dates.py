"""Dates: how they are written, where pages put them, and which are not believed."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.fetch.dates import SLACK, page_dates, parse_date

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()
NOON = datetime(2026, 11, 15, 10, 30, tzinfo=UTC).timestamp()
DAY = datetime(2026, 11, 15, tzinfo=UTC).timestamp()
URL = "https://example.com/a"


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-15T10:30:00Z", "2026-11-15T11:30:00+01:00", "2026-11-15T05:30:00-0500", "2026-11-15 10:30",
        "2026-11-15T10:30:00.123456Z", "20261115T103000Z", "2026-11-15 10:30:00 UTC", "2026-11-15T10:30+00",
        "Sun, 15 Nov 2026 10:30:00 GMT", "Sun, 15 Nov 2026 11:30:00 +0100", "15 Nov 2026 10:30:00 GMT",
        "Sun, 15 Nov 2026 05:30:00 EST", "Sunday, 15-Nov-26 10:30:00 GMT", "Sun, 15 Nov 2026 10:30",
        "15 November 2026, 10:30", "November 15, 2026 10:30 AM", "Nov 15th, 2026 at 10:30",
        "15. November 2026, 10:30 Uhr", "15.11.2026 10:30", "15 de noviembre de 2026, 10:30", "2026/11/15 10:30",
        "Published: Nov. 15, 2026, 10:30 a.m.", "2026年11月15日 10:30", " 2026-11-15T10:30:00Z \n",
        "Updated 15 November 2026 11:30 GMT+01:00",
    ],
)  # fmt: skip
def test_the_same_moment_in_many_spellings(text: str) -> None:
    assert parse_date(text, NOW) == NOON


@pytest.mark.parametrize(
    "text", ["2026-11-15", "20261115", "Nov 15, 2026", "15. November 2026", "15.11.2026", "15 nov. 2026"]
)
def test_a_day_begins_at_midnight_utc(text: str) -> None:
    assert parse_date(text, NOW) == DAY


def test_afternoons() -> None:
    assert parse_date("Nov 15, 2026 12:05 PM", NOW) == DAY + 12 * 3600 + 300
    assert parse_date("Nov 15, 2026 12:05 AM", NOW) == DAY + 300
    assert parse_date("Nov 15, 2026 3:05 pm", NOW) == DAY + 15 * 3600 + 300


@pytest.mark.parametrize(
    "text",
    [
        "", "yesterday", "12", "1731667800", "202611", "3/4/2026", "2026-13-01", "2026-02-30", "2026-11-15T25:00:00Z",
        "0000-00-00", "1970-01-01T00:00:00Z", "1989-12-31", "2026-11-17", "9999-12-31T23:59:59Z", "99 November 2026",
        "Thu, 01 Jan 1970 00:00:00 +9999", "2026-11-15T10:30:00+99:99", "15 Nonsense 2026", "²²²²-11-15",
    ],
)  # fmt: skip
def test_what_is_no_date_or_not_to_be_believed(text: str) -> None:
    assert parse_date(text, NOW) is None


def test_a_clock_may_be_a_little_ahead() -> None:
    assert parse_date("2026-11-16T12:09:00Z", NOW) == NOW + 540
    assert parse_date("2026-11-16T12:11:00Z", NOW) is None
    assert SLACK == 600


@given(st.text(max_size=300))
def test_any_text_is_a_past_date_or_none(text: str) -> None:
    at = parse_date(text, NOW)
    assert at is None or 0 < at <= NOW + SLACK


@given(st.datetimes(datetime(1991, 1, 1), datetime(2026, 11, 1)))
def test_iso_dates_come_back(moment: datetime) -> None:
    moment = moment.replace(microsecond=0, tzinfo=UTC)
    assert parse_date(moment.isoformat(), NOW) == moment.timestamp()
    assert parse_date(moment.strftime("%a, %d %b %Y %H:%M:%S GMT"), NOW) == moment.timestamp()


def article(**more: object) -> str:
    return json.dumps({"@type": "NewsArticle", "datePublished": "2026-11-15T10:30:00Z", **more})


def test_places_are_trusted_in_order() -> None:
    dates = page_dates(
        "https://example.com/2026/11/13/a",
        NOW,
        json_ld=[article(dateModified="2026-11-15T11:00:00Z")],
        meta={"article:published_time": "2026-11-14"},
        times=["2026-11-12"],
    )
    assert [(date.what, date.origin) for date in dates] == [
        ("published", "json-ld"),
        ("modified", "json-ld"),
        ("published", "meta"),
        ("published", "time"),
        ("published", "url"),
    ]
    assert dates[0].at == NOON


@pytest.mark.parametrize(
    "script",
    [
        article(),
        "<!-- " + article() + " -->",
        "//<![CDATA[\n" + article() + "\n//]]>",
        article()[:-1] + ", }",
        '{"@context":"https://schema.org","@graph":[{"@type":"WebSite","name":"x"},' + article() + "]}",
        '[{"@type":"BreadcrumbList","itemListElement":[]},' + article() + "]",
        '{"@type":"WebPage","datePublished":"2020-01-01","mainEntity":' + article() + "}",
        article(headline="a \n b").replace("\\n", "\n"),
        article()[:-1] + ', "broken": ',
        article(author={"@type": "Person", "name": 'the "author"'}),
    ],
)
def test_json_ld_as_people_write_it(script: str) -> None:
    assert page_dates(URL, NOW, json_ld=[script])[0].at == NOON


def test_what_a_page_lists_has_dates_of_its_own() -> None:
    listed = json.dumps({"@type": "ItemList", "itemListElement": [{"item": json.loads(article())}]})
    assert page_dates(URL, NOW, json_ld=[listed]) == ()


def test_dates_in_the_future_give_way_to_others() -> None:
    found = page_dates(URL, NOW, json_ld=[article(datePublished="2027-01-01")], meta={"date": "2026-11-15"})
    assert [(date.origin, date.at) for date in found] == [("meta", DAY)]


@pytest.mark.parametrize(
    "url", ["/2026/11/15/title", "/2026-11-15-title", "/news/20261115/title", "/news/2026/11/15", "/a/2026-11-15/"]
)
def test_dates_in_urls(url: str) -> None:
    assert page_dates("https://example.com" + url, NOW)[0][1:] == (DAY, "url")


@pytest.mark.parametrize("url", ["/2026/13/45/title", "/20261115123/x", "/id-20261115", "/2026/11/"])
def test_numbers_in_urls_that_are_no_dates(url: str) -> None:
    assert page_dates("https://example.com" + url, NOW) == ()


@pytest.mark.parametrize(
    "script",
    [
        '{"datePublished": ' + "[" * 200_000,
        '{"datePublished":' + "," * 400_000,
        '{"datePublished": "' + "1" * 400_000,
        '"date' + " " * 450_000 + "}",
        '"datePublished":' * 30_000,
        json.dumps({"date": 1, "@graph": [{"@graph": [[{}] * 50] * 50}] * 100}),
    ],
    ids=["deep", "commas", "digits", "blanks", "names", "wide"],
)
def test_hostile_json_ld_costs_little(script: str) -> None:
    start = time.perf_counter()
    page_dates(URL, NOW, json_ld=[script] * 3)
    assert time.perf_counter() - start < 2


@given(st.text(max_size=100), st.text(max_size=100))
def test_any_script_and_meta_are_read(script: str, content: str) -> None:
    found = page_dates(URL, NOW, json_ld=['{"datePublished":' + script], meta={"date": content}, times=[content])
    assert all(0 < date.at <= NOW + 600 for date in found)
