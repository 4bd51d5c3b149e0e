"""robots.txt as RFC 9309 and the search engines read it, and how long what it said is believed."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.core.model import DAY, HOUR
from mayfly.fetch.answers import Failed, Response
from mayfly.fetch.reasons import Reason
from mayfly.fetch.robots import LONGEST_DELAY, READ_BYTES, Robots, read_rules

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "web-samples"
AGENT = "foobot"

_TWICE = "user-agent: FooBot\ndisallow: /a\n\nuser-agent: *\ndisallow: /b\n\nuser-agent: FooBot\ndisallow: /c"
# (robots.txt, path, allowed to FooBot)
CASES = [
    # What a line is
    ("user-agent: FooBot\ndisallow: /", "/x", False),
    ("foo: FooBot\nbar: /", "/x", True),
    ("user-agent FooBot\ndisallow /", "/x", False),
    ("user-agent: FooBot\n\n\ndisallow: /x # why", "/x", False),
    ("  user-agent :  FooBot \n  disallow :  /x  ", "/x", False),
    ("user-agent: FooBot\rdisallow: /x\r", "/x", False),
    ("user-agent: FooBot\r\ndisallow: /x\r\n", "/x", False),
    ("\ufeffuser-agent: FooBot\ndisallow: /x", "/x", False),
    ("USER-AGENT: FooBot\nDISALLOW: /x\nALLOW: /x/y", "/x/y", True),
    ("user-agents-are-here: FooBot\ndisallow: /", "/x", True),
    # Groups
    ("allow: /foo/bar/\nuser-agent: FooBot\ndisallow: /\nallow: /x/\nuser-agent: BarBot\ndisallow: /\nallow: /w/a\n"
     "user-agent: BazBot", "/x/b", True),
    ("user-agent: FooBot\ndisallow: /\nallow: /x/\nuser-agent: BarBot\nallow: /", "/z", False),
    ("user-agent: BarBot\nuser-agent: FooBot\ndisallow: /x", "/x", False),
    ("user-agent: BarBot\nsitemap: https://example.com/s.xml\nuser-agent: FooBot\ndisallow: /x", "/x", False),
    (_TWICE, "/c", False),
    (_TWICE, "/b", True),
    ("user-agent: *\ndisallow: /x\nuser-agent: FooBot\nallow: /x", "/x", True),
    ("user-agent: FooBot\nallow: /\nuser-agent: *\ndisallow: /", "/x", True),
    ("user-agent: *\ndisallow: /x", "/x", False),
    ("disallow: /x", "/x", True),
    ("user-agent: *\nuser-agent: BarBot\ndisallow: /x", "/x", False),
    # Names
    ("user-agent: foobot\ndisallow: /x", "/x", False),
    ("user-agent: FOOBOT\ndisallow: /x", "/x", False),
    ("user-agent: Foo\ndisallow: /x", "/x", True),
    ("user-agent: FooBotty\ndisallow: /x", "/x", True),
    ("user-agent: FooBot/1.2\ndisallow: /x", "/x", False),
    ("user-agent: FooBot Extra\ndisallow: /x", "/x", False),
    ("user-agent: Foo Bot\ndisallow: /x", "/x", True),
    ("user-agent: *FooBot\ndisallow: /x", "/x", True),
    ("user-agent: * everyone\ndisallow: /x", "/x", False),
    ("user-agent:\ndisallow: /x", "/x", True),
    # Which rule wins
    ("user-agent: FooBot\ndisallow: /x/page.html\nallow: /x/", "/x/page.html", False),
    ("user-agent: FooBot\ndisallow: /x/page.html\nallow: /x/", "/x/", True),
    ("user-agent: FooBot\ndisallow: /x/\nallow: /x/page.html", "/x/page.html", True),
    ("user-agent: FooBot\ndisallow: \nallow: ", "/x", True),
    ("user-agent: FooBot\ndisallow: /\nallow: /", "/x", True),
    ("user-agent: FooBot\ndisallow: /x\nallow: /x/", "/x", False),
    ("user-agent: FooBot\ndisallow: /x\nallow: /x/", "/x/", True),
    ("user-agent: FooBot\ndisallow: *.html\nallow: /page", "/page.html", False),
    ("user-agent: FooBot\nallow: /*q=\ndisallow: /x", "/x?q=a", True),
    ("user-agent: FooBot\ndisallow: /X/", "/x/y", True),
    ("user-agent: FooBot\ndisallow: /x/", "/X/y", True),
    # Stars, ends and escapes
    ("user-agent: FooBot\ndisallow: /foo/bar/quz*", "/foo/bar/quzl", False),
    ("user-agent: FooBot\ndisallow: /foo/bar*qux", "/foo/bar/xqux", False),
    ("user-agent: FooBot\ndisallow: /foo/bar$", "/foo/bar", False),
    ("user-agent: FooBot\ndisallow: /foo/bar$", "/foo/bar/qux", True),
    ("user-agent: FooBot\ndisallow: /*.pdf$", "/a.pdf?x", True),
    ("user-agent: FooBot\nallow: /\ndisallow: /foo/bar?a=/%2f", "/foo/bar?a=/%2f", False),
    ("user-agent: FooBot\ndisallow: /\nallow: /foo/bar/ツ", "/foo/bar/%E3%83%84", True),
    ("user-agent: FooBot\ndisallow: /\nallow: /foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", True),
    ("user-agent: FooBot\ndisallow: /\nallow: /foo/bar/%62%61%7A", "/foo/bar/baz", True),
    ("user-agent: FooBot\ndisallow: /x#y", "/x", False),
    ("user-agent: FooBot\ndisallow: /", "/robots.txt", True),
    # Nothing
    ("", "/x", True),
    ("\x00\xff\x01", "/x", True),
    ("<!DOCTYPE html><html><body>Not found</body></html>", "/x", True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "path", "allowed"), CASES)
def test_conformity(text: str, path: str, allowed: bool) -> None:
    rules = read_rules(text.encode(), AGENT)
    assert rules.allows(f"https://example.com{path}") is allowed


def test_delays_are_read_with_fractions_and_cut_at_two_minutes() -> None:
    assert read_rules(b"User-agent: *\nCrawl-delay: 1.5", AGENT).delay == 1.5
    long = read_rules(b"User-agent: *\nCrawl-delay: 86400", AGENT)
    assert (long.delay, long.asked_delay) == (LONGEST_DELAY, 86400.0)
    for text in b"soon", b"-3", b"nan", b"0", b"inf":
        assert read_rules(b"User-agent: *\nCrawl-delay: " + text, AGENT).delay is None


def test_sitemaps_are_for_all() -> None:
    text = b"Sitemap: https://example.com/a.xml\nUser-agent: other\nSitemap: https://example.com/b.xml"
    assert read_rules(text, AGENT).sitemaps == ("https://example.com/a.xml", "https://example.com/b.xml")


def test_half_a_megabyte_is_read_and_no_half_line() -> None:
    head = b"User-agent: *\n" + b"Disallow: /a\n" * 10
    filler = b"# filler\n" * (READ_BYTES // 9 - 20)
    rest = b"Disallow: /very-long-path" + b"x" * READ_BYTES + b"\nDisallow: /beyond\n"
    rules = read_rules(head + filler + rest, AGENT)
    assert not rules.allows("https://example.com/a")
    assert rules.allows("https://example.com/beyond")
    assert rules.allows("https://example.com/very-long-path")


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=300), st.text("user-agent:*\n\rdisow /$%#", max_size=200).map(str.encode)))
def test_any_bytes_are_rules(body: bytes) -> None:
    rules = read_rules(body, AGENT)
    assert rules.allows("https://example.com/x") in (True, False)
    assert rules.delay is None or 0 < rules.delay <= LONGEST_DELAY


@pytest.mark.skipif(not SHARED.exists(), reason="the shared samples are not here")
def test_real_files_are_read() -> None:
    files = [*SHARED.glob("robots/**/*"), *SHARED.glob("robots-odd/**/*")]
    assert len(files) > 300
    for file in files:
        if file.is_file():
            read_rules(file.read_bytes(), AGENT).allows("https://example.com/")


# How long it is believed


class Origin:
    """A server of robots.txt whose mood a test sets; only the answers are made up."""

    def __init__(self) -> None:
        self.answer: Response | Failed = found(b"")
        self.asked: list[str] = []

    async def fetch(self, url: str, **more: object) -> Response | Failed:
        self.asked.append(url)
        return self.answer


def found(body: bytes) -> Response:
    return Response("", "", 200, (), body, 0, 0.0, 0.0, len(body), "")


def failed(status: int | None, reason: Reason = Reason.SERVER_ERROR, retry_after: float | None = None) -> Failed:
    return Failed("", "", reason, "", 0.0, 0.0, 1, status, retry_after)


def may(robots: Robots, now: float, url: str = "https://example.com/x") -> Reason | None:
    return asyncio.run(robots.may(url, now))


CLOSED, OPEN = found(b"User-agent: *\nDisallow: /"), found(b"User-agent: *\nAllow: /")


def test_it_is_asked_for_once_a_day_and_origin() -> None:
    origin = Origin()
    robots = Robots(origin, AGENT)
    origin.answer = CLOSED
    assert may(robots, 0.0) is Reason.ROBOTS
    assert may(robots, DAY - 1) is Reason.ROBOTS
    assert origin.asked == ["https://example.com/robots.txt"]
    origin.answer = OPEN
    assert may(robots, DAY + 1) is None
    may(robots, DAY + 1, "http://example.com:8080/y")
    assert origin.asked[2:] == ["http://example.com:8080/robots.txt"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418])
def test_where_there_is_none_all_is_allowed(status: int) -> None:
    origin = Origin()
    origin.answer = failed(status, Reason.NOT_FOUND)
    assert may(Robots(origin, AGENT), 0.0) is None


@pytest.mark.parametrize("answer", [failed(500), failed(503), failed(429), failed(None, Reason.TIMEOUT)])
def test_where_it_cannot_be_had_nothing_is_allowed_until_it_can(answer: Failed) -> None:
    origin = Origin()
    robots = Robots(origin, AGENT)
    origin.answer = answer
    assert may(robots, 0.0) is Reason.ROBOTS_UNREACHABLE
    origin.answer = OPEN
    assert may(robots, 60.0) is Reason.ROBOTS_UNREACHABLE  # not asked at every turn
    assert may(robots, HOUR + 1) is None


def test_the_last_good_copy_serves_for_a_day_while_it_cannot_be_had() -> None:
    origin = Origin()
    robots = Robots(origin, AGENT)
    origin.answer = found(b"User-agent: *\nDisallow: /private")
    assert may(robots, 0.0) is None
    origin.answer = failed(503, Reason.BUSY)
    assert may(robots, DAY + 1) is None
    assert may(robots, DAY + 1, "https://example.com/private") is Reason.ROBOTS
    assert may(robots, 2 * DAY - 1) is None
    assert may(robots, 2 * DAY + 2 * HOUR) is Reason.ROBOTS_UNREACHABLE
    assert may(robots, 2 * DAY + 4 * HOUR) is Reason.ROBOTS_UNREACHABLE


def test_who_was_not_asked_has_said_nothing() -> None:
    """A shard whose lease ran out may send nothing for a moment: that is no word of the site's."""
    origin = Origin()
    robots = Robots(origin, AGENT)
    origin.answer = failed(None, Reason.STOPPING)
    assert may(robots, 0.0) is Reason.STOPPING
    origin.answer = CLOSED
    assert may(robots, 1.0) is Reason.ROBOTS
    origin.answer = failed(None, Reason.STOPPING)
    assert may(robots, DAY + 1) is Reason.ROBOTS  # the last good copy
    origin.answer = OPEN
    assert may(robots, DAY + 2) is None


@pytest.mark.parametrize(
    ("leads_to", "copies", "expected"),
    [
        ("https://other.example/robots.txt", {"https://other.example": (CLOSED.body, 0.0)}, Reason.ROBOTS),
        ("https://other.example/robots.txt", {"https://other.example": (None, 0.0)}, None),
        ("https://other.example/robots.txt", {"https://other.example": (CLOSED.body, -3 * DAY)}, None),
        ("https://other.example/robots.txt", {}, None),
        ("https://other.example/", {"https://other.example": (CLOSED.body, 0.0)}, None),
    ],
    ids=["kept there", "none there", "too old", "not known", "no robots.txt"],
)
def test_one_that_leads_to_a_site_of_another_shard_is_what_that_one_keeps(leads_to, copies, expected) -> None:
    async def elsewhere(origin: str):
        return copies.get(origin)

    origin, learned = Origin(), []
    origin.answer = replace(failed(301, Reason.ELSEWHERE), url=leads_to)
    robots = Robots(origin, AGENT, learned=lambda *told: learned.append(told), elsewhere=elsewhere)
    assert may(robots, 0.0) is expected
    known, is_robots = bool(learned), leads_to.endswith("robots.txt")
    copies["https://other.example"] = (CLOSED.body, HOUR)
    later = may(robots, 2 * HOUR)  # where none was known it is asked again
    assert later is (Reason.ROBOTS if is_robots and not known else expected)
    assert [told[0] for told in learned] == ["https://example.com"] * is_robots


def test_a_busy_server_says_when_to_ask_again() -> None:
    origin = Origin()
    robots = Robots(origin, AGENT)
    origin.answer = failed(503, Reason.BUSY, retry_after=600.0)
    may(robots, 0.0)
    origin.answer = OPEN
    assert may(robots, 599.0) is Reason.ROBOTS_UNREACHABLE
    assert may(robots, 601.0) is None
