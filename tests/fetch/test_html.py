"""Pages: links in order with their surroundings, what a page says of itself, and pages made to hurt."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.fetch.document import Document, Link, ReadLimits
from mayfly.fetch.html import _address, read_html
from mayfly.fetch.nesting import _is_plain, _too_deep, safe_length
from mayfly.urls import canonical

NOW = 1_800_000_000.0
URL = "https://www.example.com/news/"


def page(markup: str, url: str = URL, **options: object) -> Document:
    return read_html(markup.encode(), url, now=NOW, **options)  # type: ignore[arg-type]


def urls(document: Document) -> list[str]:
    return [link.url.removeprefix("https://www.example.com") for link in document.links]


def test_links_come_in_order_each_address_once() -> None:
    read = page(
        '<a href="/b?utm_source=x">B</a> <a href="a">A</a> <a href="/b#top">again</a>'
        '<a href="//www.example.com/c">C</a>'
    )
    assert [(link.url, link.anchor, link.rank) for link in read.links] == [
        ("https://www.example.com/b", "B", 1),
        ("https://www.example.com/news/a", "A", 2),
        ("https://www.example.com/c", "C", 3),
    ]


def test_of_a_page_only_where_links_to_other_hosts_lead_if_so_asked() -> None:
    markup = (
        '<a href="/a">A</a> <a href="b">B</a> <a href="//other.example/c">C</a> <a href="https://third.example">D</a>'
    )
    read = page(markup + '<a href="https://www.example.com/e">E</a>', outward=True)
    assert [(link.url, link.anchor) for link in read.links] == [
        ("https://other.example/c", ""),
        ("https://third.example/", ""),
    ]
    assert page(markup, outward=True, limits=ReadLimits(links=1)).truncated


def test_a_link_takes_the_first_anchor_that_says_something_but_keeps_its_place() -> None:
    read = page(
        '<a href="/a"><img src="x"></a> <a href="/b">B</a> <a href="/a"> A \n headline </a> <a href="/a">more</a>'
    )
    assert [(link.anchor, link.rank) for link in read.links] == [("A headline", 1), ("B", 2)]


@pytest.mark.parametrize(
    "markup",
    [
        '<a href="/a"><img alt="a picture"></a>',
        '<a href="/a" title="a picture"></a>',
        '<a href="/a" aria-label=" a  picture "><svg></svg></a>',
        '<a href="/a"><span><b>a</b> picture</span></a>',
    ],
)
def test_links_without_text_are_called_by_what_they_show(markup: str) -> None:
    assert page(markup).links[0].anchor == "a picture"


def test_what_leads_to_no_page_is_no_link() -> None:
    read = page(
        '<a href="#top">t</a> <a href="">e</a> <a href="javascript:void(0)">j</a> <a href="mailto:a@example.com">m</a>'
        ' <a href="tel:123">p</a> <a>n</a> <a href="http://[bad/">b</a> <a href="data:text/html,x">d</a>'
    )
    assert read.links == ()


def test_a_base_moves_all_links() -> None:
    assert urls(page('<base href="/x/"><base href="/y/"><a href="a">a</a>')) == ["/x/a"]
    assert urls(page('<base href="javascript:x"><a href="a">a</a>')) == ["/news/a"]


def test_nofollow_of_a_link_and_of_a_page() -> None:
    one = page('<a href="/a" rel="NoFollow ugc">a</a><a href="/b" rel="noopener">b</a>')
    assert [(link.rel, link.nofollow) for link in one.links] == [("nofollow ugc", True), ("noopener", False)]
    whole = page('<meta name="robots" content="NOINDEX, nofollow"><a href="/a">a</a>')
    assert (whole.index, whole.links[0].nofollow) == (False, True)
    assert page('<meta name="ROBOTS" content="none">').index is False
    assert page("<p>x").index is True


def test_context_is_the_text_of_the_nearest_small_block() -> None:
    read = page(
        '<ul><li><a href="/home">Home</a></li><li><a href="/sport">Sport</a></li></ul>'
        '<article><h2><a href="/a">A headline</a></h2><p>What the story is about, in short.</p></article>'
        '<div><div><a href="/b">B headline</a></div><div>Another summary of something.</div></div>'
        f'<p>{"Long text. " * 300}<a href="/c">C</a></p>'
    )
    assert [link.context for link in read.links] == [
        "",
        "",
        "What the story is about, in short.",
        "Another summary of something.",
        "",
    ]
    assert page('<p>some words around <a href="/a"></a> a link without text').links[0].context.startswith("some words")


def test_anchors_and_contexts_are_bounded_and_may_be_left_out() -> None:
    markup = f'<p><a href="/a">{"word " * 500}</a>{" and more" * 50}</p>'
    link = page(markup).links[0]
    assert (len(link.anchor), len(link.context)) == (300, 0)
    short = page(f'<p><a href="/a">A</a>{" and more" * 50}</p>').links[0]
    assert len(short.context) == 200
    none = page('<p><a href="/a">A</a> and so much more text', limits=ReadLimits(context_chars=0))
    assert none.links[0].context == ""


def test_title_and_language() -> None:
    read = page('<html lang="de-AT"><svg><title>no</title></svg><title> Ein\n Titel &amp; mehr </title>')
    assert (read.title, read.language) == ("Ein Titel & mehr", "de")
    assert (
        page('<meta property="og:title" content="T"><meta http-equiv="Content-Language" content="fr, en">').language
        == "fr"
    )
    assert page('<meta property="og:title" content="T">').title == "T"
    assert (
        page(f"<p>{'Der Minister sagte am Montag, dass die Regierung das Gesetz nicht ändern werde. ' * 5}").language
        == "de"
    )
    assert page("").language == ""


@pytest.mark.parametrize(
    ("url", "head", "expected"),
    [
        ("/a?page=1", '<link rel="canonical" href="/a">', "/a"),
        ("/a", '<link rel="canonical" href="https://m.example.com/a">', "https://m.example.com/a"),
        ("/amp/a", '<html amp><link rel="canonical" href="https://www.example.com/a">', "/a"),
        ("/a", '<meta property="og:url" content="https://www.example.com/b">', "/b"),
        ("/a", '<link rel="canonical" href="/c"><meta property="og:url" content="/b">', "/c"),
        ("/a", '<link rel="canonical" href="https://other.example.org/a">', None),
        ("/a", '<link rel="canonical" href="https://www.example.com/">', None),
        ("/", '<link rel="canonical" href="https://www.example.com/">', "/"),
        ("/a", '<link rel="canonical" href="">', None),
        ("/a", "<link rel=canonical>", None),
    ],
)
def test_canonical_is_believed_on_its_own_site_only(url: str, head: str, expected: str | None) -> None:
    found = page(head, "https://www.example.com" + url).canonical
    assert found == (expected if expected is None or "//" in expected else "https://www.example.com" + expected)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0; url=/b", "/b"), ("5;URL='https://www.example.com/b?x=1'", "/b?x=1"), ('0;url="/b"', "/b"), ("0, /b", "/b"),
        ("600", None), ("600; url=/b", None), ("0; url=", None), ("0; url=javascript:x", None), ("x; url=/b", None),
        ("0;url=/news/", None),
    ],
)  # fmt: skip
def test_meta_refresh_leads_elsewhere_soon_or_nowhere(content: str, expected: str | None) -> None:
    found = page(
        f'<noscript><META http-equiv="Refresh" content="{content.replace(chr(34), "&quot;")}"></noscript>'
    ).refresh
    assert found == (expected and "https://www.example.com" + expected)


def test_feeds_are_named_each_once() -> None:
    read = page(
        '<link rel="alternate" type="application/rss+xml" href="/feed">'
        '<link rel="ALTERNATE home" type="application/atom+xml; charset=utf-8" href="atom.xml">'
        '<link rel="alternate" type="application/rss+xml" href="/feed#x">'
        '<link rel="alternate" type="application/feed+json" href="/feed.json">'
        '<link rel="alternate" hreflang="fr" href="/fr">'
        '<link rel="alternate" type="application/json" href="/wp-json/1"><link rel="stylesheet" href="/s.css">'
    )
    assert [feed.removeprefix("https://www.example.com") for feed in read.feeds] == [
        "/feed",
        "/news/atom.xml",
        "/feed.json",
    ]


def test_dates_of_a_page() -> None:
    read = page(
        '<script type="application/ld+json">{"@type":"Article","datePublished":"2026-11-15T10:30:00Z"}</script>'
        '<meta property="article:modified_time" content="2026-11-15T11:30:00Z">'
        '<time>junk</time><time itemprop="datePublished" datetime="2026-11-14">yesterday</time>'
    )
    assert [(date.what, date.origin) for date in read.dates] == [
        ("published", "json-ld"),
        ("modified", "meta"),
        ("published", "time"),
    ]
    assert read.published is not None and read.published.origin == "json-ld"
    assert page("<time datetime=2026-11-14>x</time>" * 20).dates == ()  # a list of other pages


@pytest.mark.parametrize(
    ("markup", "looks"),
    [
        ("<title>404 Not Found</title><h1>Not Found</h1>", "soft-404"),
        ("<title>Example</title><h1>Seite nicht gefunden</h1><p>Leider.", "soft-404"),
        ("<title>Page introuvable – Le Journal</title>", "soft-404"),
        (f"<title>Wreck of the 404 not found</title><p>{'The ship was not found. ' * 200}", None),
        ("<title>Sign in</title><form><input name=u><input type=password></form>", "log-in"),
        (f"<title>News</title><form><input type=password></form><p>{'A story of today. ' * 200}", None),
        ("<title>Room 4041</title><p>x", None),
    ],
)
def test_pages_that_are_not_what_their_status_says(markup: str, looks: str | None) -> None:
    assert page(markup).looks == looks


def test_main_text_only_if_asked_for() -> None:
    markup = (
        f"<nav><a href=/x>Home</a></nav><main><article><h1>T</h1><p>{'A story of today. ' * 30}</p></article></main>"
    )
    assert page(markup).text == ""
    assert "A story of today." in page(markup, with_text=True).text
    assert len(page(markup, with_text=True, limits=ReadLimits(text_chars=50)).text) == 50


def test_the_charset_is_said() -> None:
    read = read_html("<title>Grüße</title>".encode("latin-1"), URL, content_type="text/html; charset=latin1", now=NOW)
    assert (read.title, read.charset) == ("Grüße", "cp1252")
    wide = read_html("<a href=/x>y</a>".encode("utf-16"), URL, now=NOW)
    assert urls(wide) == ["/x"]


HOSTILE: dict[str, Callable[[], str]] = {
    "deep": lambda: "<div>" * 100_000 + "<a href=/x>x</a>",
    "deep and closed": lambda: "<div>" * 100_000 + "</div>" * 100_000,
    "falsely closed": lambda: "<div></foo>" * 100_000,
    "deep names of our own": lambda: "<abcdefghix></abcdefghiy>" * 100_000,
    "deep lists": lambda: "<ul><li>" * 50_000,
    "deep tables": lambda: "<table><tr><td>" * 50_000,
    "open formatting": lambda: "".join(f"<b id={i}><p>" for i in range(50_000)),
    "repeated formatting": lambda: "".join(f"<div><b id={i}></div>" for i in range(50_000)),
    "orphaned formatting": lambda: "<div>" + "".join(f"<i id={i}>" for i in range(50)) + "</div>" + "<p>x</p>" * 50_000,
    "attributes": lambda: "<a " + " ".join(f"a{i}=1" for i in range(200_000)) + ">",
    "links in one paragraph": lambda: "<p>" + "".join(f'<a href="/{i}">link {i}</a> word ' for i in range(50_000)),
    "the same link": lambda: "<p>" + '<a href="/x"></a>' * 50_000,
    "pictures": lambda: "".join(f'<a href="/{i}"><img alt=x></a>' for i in range(50_000)),
    "pictures in one block": lambda: (
        "<div>" + "".join(f'<span><a href="/{i}"><img alt=x></a></span><a href="/b{i}"></a>' for i in range(50_000))
    ),
    "links in links": lambda: "<a href=/x><table><tr><td>" * 400 + "y" * 1_000_000,
    "ten megabytes": lambda: "<p>hello <a href=/x>x</a></p>" * 360_000,
    "one word": lambda: "x" * 10_000_000,
    "metas": lambda: "<meta name=a content=b>" * 100_000,
    "signs": lambda: "<" * 1_000_000,
    "comments": lambda: "<!--" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_cost_little(name: str) -> None:
    body = HOSTILE[name]().encode()
    start = time.perf_counter()
    read = read_html(body, URL, now=NOW, with_text=True)
    assert time.perf_counter() - start < 15
    assert read.kind == "html"


def test_limits_are_kept_and_said() -> None:
    many = page("".join(f'<a href="/{i}">{i}</a>' for i in range(100)), limits=ReadLimits(links=10))
    assert (len(many.links), many.truncated) == (10, True)
    assert page("<div>" * 100_000).truncated
    assert page("x" * 100, limits=ReadLimits(body_bytes=50)).truncated
    assert not page('<a href="/a">a</a>' * 10, limits=ReadLimits(links=1)).truncated


def test_sloppy_but_honest_pages_are_read_whole() -> None:
    rows = "".join(f"<tr><td><font color=red><li><p>{i}<br><img src=x><a href=/{i}>x</a></font>" for i in range(3_000))
    read = page(f"<table>{rows}</table><a href=/last>last</a>")
    assert not read.truncated
    assert urls(read)[-1] == "/last"
    script = "<script>" + "if (a<b && c<d) { x = '<div>' + 1 }\n" * 200 + "</script>"
    assert urls(page(script * 20 + "<a href=/last>last</a>")) == ["/last"]


@pytest.mark.parametrize(
    "body", [b"", b"\0", b"\0" * 1000, b"\xff\xfe", b"<a href=", b"<a href=/x\0y>z\0</a>", b"\xc3<\x28>"]
)
def test_odd_bytes(body: bytes) -> None:
    assert read_html(body, URL, now=NOW).kind == "html"


PIECES = st.sampled_from(
    [
        "<a href=/x>", "</a>", "<p>", "<base href=//[>", "<meta http-equiv=refresh content=1;url=", "<title>", "<time>",
        "<script type=application/ld+json>", '{"datePublished":', "<link rel=canonical href=", "<html lang=", "\0",
    ]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(PIECES | st.text(max_size=5), max_size=30))
def test_any_markup_is_a_document(pieces: list[str]) -> None:
    document = page("".join(pieces), with_text=True)
    assert all(canonical(link.url) == link.url for link in document.links)
    assert [link.rank for link in document.links] == list(range(1, len(document.links) + 1))


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_document(body: bytes) -> None:
    assert read_html(body, URL, now=NOW, with_text=True).kind == "html"


PATHS = st.text("abcAB019_~-./,+=:@!&%;?#é \\", max_size=20)


@given(st.sampled_from(["", "/", "//", "https://", "http://www.a-b.example.com", "https://xn--a.org", "amp/"]), PATHS)
def test_the_quick_way_to_an_address_is_the_long_way(start: str, rest: str) -> None:
    href = start + rest
    expected = canonical(href.partition("#")[0].strip(), URL) if href.partition("#")[0].strip() else None
    assert _address(href, URL) == expected


@given(
    st.lists(
        st.sampled_from(["<div>", "</div>", "<b>", "</b>", "<i>", "</x>", "<p>", "<abcdefghij>", "<DIV >", "a"]),
        max_size=60,
    )
)
def test_no_page_within_the_bound_is_cut(pieces: list[str]) -> None:
    body = "".join(pieces).encode()
    starts = np.flatnonzero(np.frombuffer(body, np.uint8) == ord("<"))
    assert not _is_plain(body, starts) or _too_deep(body) == len(body)
    assert safe_length(body) == len(body)


def test_a_link_is_a_plain_value() -> None:
    read = page('<a href="/a">A</a>')
    assert read.links == (Link("https://www.example.com/a", "A", 1),)
    assert replace(read, title="x").title == "x"
