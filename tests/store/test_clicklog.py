"""Click logs: what can be read is read, what cannot is said, and no line stops the others."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.store.clicklog import LONGEST_LINE, BadRow, read_clicks
from mayfly.store.records import ClickRow
from mayfly.urls import canonical

NOW = 1_790_000_000.0
URL = "https://example.com/a"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["url", "at", "count", "kind"]), inner),
)


def read(*rows: object) -> list[ClickRow | BadRow]:
    return list(read_clicks([row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows], NOW))


def why_not(row: object) -> str:
    (bad,) = read(row)
    assert isinstance(bad, BadRow) and bad.line == 1
    return bad.reason


@given(
    at=st.floats(0, NOW),
    count=st.floats(0, 1e9, exclude_min=True) | st.integers(1, 10**9),
    kind=st.sampled_from(["click", "show"]),
    position=st.integers(0, 100),
)
def test_a_sound_row_is_read_as_it_was_written(at, count, kind, position) -> None:
    said = {"url": URL + "#x", "at": at, "count": count, "kind": kind, "position": position, "more": "is ignored"}
    assert read(said) == [ClickRow(URL, at, float(count), kind, position)]


@given(
    moment=st.datetimes(datetime(1971, 1, 1), datetime(2026, 1, 1)),
    minutes=st.integers(-12 * 60, 12 * 60),
)
def test_a_time_with_a_zone_is_that_moment(moment: datetime, minutes: int) -> None:
    said = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert read({"url": URL, "at": said.isoformat()})[0].at == pytest.approx(said.timestamp())
    assert moment.replace(tzinfo=UTC).timestamp() == read({"url": URL, "at": moment.isoformat() + "Z"})[0].at


@given(rows=st.lists(JSON | st.binary(max_size=60), max_size=8))
def test_whatever_a_line_is_it_is_a_row_or_a_reason(rows) -> None:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    for one in read_clicks(lines, NOW):
        if isinstance(one, BadRow):
            assert one.reason and 1 <= one.line <= len(lines)
        else:
            assert canonical(one.url) == one.url and 0 <= one.at <= NOW + 86400 and one.number > 0


def test_empty_lines_say_nothing_but_count() -> None:
    found = list(read_clicks([b"\n", b'{"url": "http://a.example/", "at": 1}\r\n', b"  ", b"x"], NOW))
    assert found == [ClickRow("http://a.example/", 1.0), BadRow(4, "is not JSON")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is longer than"),
        (b"[" * 50_000, "is not JSON"),
        (b'{"url": "' + b"x" * LONGEST_LINE + b'"}', "is longer than 65,536 bytes"),
        ([], "is no JSON object"),
        ({"at": 1}, "url must be a web address, not null"),
        ({"url": "ftp://a/", "at": 1}, 'url must be a web address, not "ftp://a/"'),
        ({"url": "x" * 100, "at": 1}, "…"),
        ({"url": URL}, "at must be seconds since 1970 or a time with its zone, not null"),
        ({"url": URL, "at": True}, "at must be seconds since 1970 or a time with its zone, not true"),
        ({"url": URL, "at": "2026-01-31T10:00:00"}, "at has no zone"),
        ({"url": URL, "at": "yesterday"}, "at must be a time such as"),
        ({"url": URL, "at": -5}, "at must be seconds since 1970, not -5"),
        ({"url": URL, "at": float("nan")}, "at must be seconds since 1970, not NaN"),
        ({"url": URL, "at": 10**400}, "at must be seconds since 1970"),
        ({"url": URL, "at": NOW * 1000}, "are these milliseconds?"),
        ({"url": URL, "at": NOW + 2 * 86400}, "at lies in the future"),
        ({"url": URL, "at": "0001-01-01T00:00:00+14:00"}, "at must be"),
        ({"url": URL, "at": 1, "count": 0}, "count must be a number above 0, not 0"),
        ({"url": URL, "at": 1, "count": "3"}, 'count must be a number above 0, not "3"'),
        ({"url": URL, "at": 1, "count": 10**400}, "count must be a number above 0"),
        ({"url": URL, "at": 1, "kind": "look"}, 'kind must be click or show, not "look"'),
        ({"url": URL, "at": 1, "kind": ["click"]}, 'kind must be click or show, not ["click"]'),
        ({"url": URL, "at": 1, "position": -1}, "position must be a whole number, 1 for the top, not -1"),
    ],
)
def test_what_is_wrong_is_said(row: object, reason: str) -> None:
    assert reason in why_not(row)
