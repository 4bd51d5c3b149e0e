"""One spelling for each address, and the site it belongs to."""

import string
from urllib.parse import urljoin

import can_ada
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.urls import LONGEST, absolute, canonical, host_of, is_address, site_of

BASE = "https://www.example.com/a/b/c?q=1"

SAME = [
    ("HTTP://Example.COM/", "http://example.com/"),
    ("http://example.com:80/x", "http://example.com/x"),
    ("https://example.com:443/x", "https://example.com/x"),
    ("http://example.com:8080/x", "http://example.com:8080/x"),
    ("http://example.com", "http://example.com/"),
    ("http://example.com/#top", "http://example.com/"),
    ("http://example.com/?", "http://example.com/"),
    ("http://example.com./x", "http://example.com/x"),
    ("http://user:secret@example.com/x", "http://example.com/x"),
    ("http://example.com/%7euser/%c3%a4", "http://example.com/~user/%C3%A4"),
    ("http://example.com/a/./b/../c", "http://example.com/a/c"),
    ("http://example.com/a%2Fb", "http://example.com/a%2Fb"),
    ("http://example.com/a b", "http://example.com/a%20b"),
    ("http://münchen.example/ü", "http://xn--mnchen-3ya.example/%C3%BC"),
    ("http://example.com/x?utm_source=a&id=7&UTM_medium=b&fbclid=c", "http://example.com/x?id=7"),
    ("http://example.com/x?b=2&a=1", "http://example.com/x?b=2&a=1"),
    ("http://example.com/x?a=1&&b=2&", "http://example.com/x?a=1&b=2"),
    ("http://example.com/x;jsessionid=0A1B2C?PHPSESSID=abc&id=1", "http://example.com/x?id=1"),
    ("http://example.com/x?sid=0123456789abcdef0123", "http://example.com/x"),
    ("http://example.com/x?sid=42", "http://example.com/x?sid=42"),
    ("http://example.com/x?amp=1", "http://example.com/x"),
    ("http://example.com/x?amp=2", "http://example.com/x?amp=2"),
    ("https://www-example-com.cdn.ampproject.org/c/s/www.example.com/x", "https://www.example.com/x"),
    ("https://www.google.com/amp/s/example.com/x.amp", "https://example.com/x.amp"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://[::1]:80/", "http://[::1]/"),
]


@pytest.mark.parametrize(("written", "meant"), SAME)
def test_spellings_of_one_address(written: str, meant: str) -> None:
    assert canonical(written) == meant
    assert canonical(meant) == meant


def test_the_query_is_sorted_where_that_is_asked_for() -> None:
    assert canonical("http://example.com/?b=2&a=1", sort_query=True) == "http://example.com/?a=1&b=2"


@pytest.mark.parametrize(
    "text",
    ["", "mailto:a@example.com", "javascript:alert(1)", "data:text/html,x", "ftp://example.com/", "httpx://a.test/", "file:///etc/passwd",
     "http://./x", "https://..", "http://", "http:///",
     "http://exa mple.com/", "http://[::1/", "http://example.com:99999/", "/x", "//", "\x00", "http://a.test/\ud800",
     "http://example.com/" + "a" * LONGEST, "a" * 10_000_000],
)  # fmt: skip
def test_what_is_no_web_address_is_none(text: str) -> None:
    assert canonical(text) is None
    assert absolute(text) is None


@pytest.mark.parametrize(
    ("link", "whole"),
    [
        ("x", "https://www.example.com/a/b/x"),
        ("../x", "https://www.example.com/a/x"),
        ("../../../../x", "https://www.example.com/x"),
        ("/x", "https://www.example.com/x"),
        ("//other.example/x", "https://other.example/x"),
        ("\\\\other.example\\x", "https://other.example/x"),
        ("?y=2", "https://www.example.com/a/b/c?y=2"),
        ("#top", "https://www.example.com/a/b/c?q=1"),
        ("", "https://www.example.com/a/b/c?q=1"),
        (" \n/x\ty ", "https://www.example.com/xy"),
        ("%2e%2e/x", "https://www.example.com/a/x"),
        ("x?u=http://other.example/", "https://www.example.com/a/b/x?u=http://other.example/"),
        ("http://other.example", "http://other.example/"),
        ("https:x", "https://www.example.com/a/b/x"),
        ("HTTPS:/x", "https://www.example.com/x"),
        ("https://other.example", "https://other.example/"),
        ("http:/other.example", "http://other.example/"),
    ],
)
def test_links_are_read_from_their_page(link: str, whole: str) -> None:
    assert canonical(link, BASE) == whole


segments = st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=8)


@given(st.lists(st.one_of(segments, st.sampled_from(["..", "."])), min_size=1, max_size=6), st.booleans())
def test_plain_relative_links_mean_what_the_standard_library_says(parts: list[str], rooted: bool) -> None:
    link = "/" * rooted + "/".join(parts)
    assert absolute(link, BASE) == urljoin(BASE, link)


links = st.one_of(
    st.text(max_size=80),
    st.text("htp:/.%?&=#;@[]0123456789abcdefxABCDEF\\ ~", max_size=60),
    st.builds(
        "http://example.com/{}?{}".format, st.text("%2eE5/.;~aA", max_size=30), st.text("%26=&utm_a;", max_size=30)
    ),
)


@settings(deadline=None)
@given(links, st.sampled_from([None, BASE]), st.booleans())
def test_canonical_is_idempotent_and_never_fails(link: str, base: str | None, sort_query: bool) -> None:
    once = canonical(link, base, sort_query)
    if once is not None:
        assert canonical(once, None, sort_query) == once
        assert len(once) <= LONGEST
        assert once.isascii()
        assert "#" not in once
        assert host_of(once)
        assert site_of(once)


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.news.example.co.uk/a", "example.co.uk"),
        ("https://blog.someone.github.io/", "someone.github.io"),
        ("www.example.com", "example.com"),
        ("EXAMPLE.com.", "example.com"),
        ("http://127.0.0.1:8080/", "127.0.0.1"),
        ("http://[::1]/", "::1"),
        ("http://localhost/", "localhost"),
        ("http://site-01.test/", "site-01.test"),
        ("github.io", "github.io"),
    ],
)
def test_sites(url: str, site: str) -> None:
    assert site_of(url) == site


def test_addresses_are_told_from_names() -> None:
    assert is_address("127.0.0.1")
    assert is_address("[::1]")
    assert not is_address("example.com")
    assert not is_address("1.2.3.4.example.com")


def test_half_a_letter_is_no_address() -> None:
    assert canonical("https://example.com/\ud800") is None
    assert canonical("\udcff", "https://example.com/") is None


@given(
    st.sampled_from(["http", "https", "HTTP"]),
    st.text("abcxyz0189-.:@_%ä/ []", max_size=12)
    | st.sampled_from(["a.test", "xn--a.de", "0x7f.1", "1.2.3.4", "a.0x1"]),
    st.sampled_from(["", "/", "/a", "?b", "#c", "\\d"]),
)
def test_the_host_of_a_plain_url_is_the_one_the_parser_finds(scheme, host, rest):
    url = f"{scheme}://{host}{rest}"
    try:
        expected = str(can_ada.parse(url).hostname)
    except ValueError:
        expected = ""
    assert host_of(url) == expected
