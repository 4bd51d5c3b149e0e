"""Feeds of all makes, whole and broken; what entries give, and feeds made to hurt."""

from __future__ import annotations

import gzip
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.fetch.document import Document, ReadLimits
from mayfly.fetch.feeds import read_feed

NOW = 1_794_830_400.0  # 2026-11-16T12:00:00Z
URL = "https://www.example.com/feed"
HALF_PAST_TEN = 1_794_738_600.0  # the day before

RSS = """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>The &lt;b&gt;News&lt;/b&gt;</title>
<link>https://www.example.com/</link><language>de-AT</language>
<atom:link rel="hub" href="https://hub.example.com/?a=1&amp;b=2"/><atom:link rel="self" href="https://www.example.com/feed"/>
<item><title>First &amp;amp; best</title><link>https://www.example.com/1?utm_source=rss</link>
<pubDate>Sun, 15 Nov 2026 11:30:00 +0100</pubDate></item>
<item><title><![CDATA[Second <i>one</i>]]></title><link>/2</link><pubDate>Sun, 15 Nov 2099 10:30:00 GMT</pubDate></item>
<item><description>no link</description></item>
<item><title>First again</title><link>https://www.example.com/1</link></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title type="html">News</title>
<link rel="hub" href="https://hub.example.com/"/><link href="https://www.example.com/"/>
<entry><title>A</title><link rel="alternate" href="https://www.example.com/a"/><id>x</id>
<published>2026-11-15T10:30:00Z</published><updated>2026-11-16T10:30:00Z</updated></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="https://www.example.com/"><title>News</title>
<dc:language>en</dc:language></channel><item rdf:about="https://www.example.com/a"><title>A</title>
<link>https://www.example.com/a</link><dc:date>2026-11-15T10:30:00Z</dc:date></item></rdf:RDF>"""
CDF = '<CHANNEL><TITLE>News</TITLE><ITEM HREF="https://www.example.com/a"><TITLE>A</TITLE></ITEM></CHANNEL>'
JSON = json.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "News",
        "language": "en-US",
        "hubs": [{"type": "WebSub", "url": "https://hub.example.com/"}, 3],
        "items": [
            {"id": "1", "url": "https://www.example.com/a", "title": "A", "date_published": "2026-11-15T10:30:00Z"},
            {"id": "2", "content_text": "no link"},
        ],
    }
)


def feed(text: str | bytes, **options: object) -> Document:
    body = text if isinstance(text, bytes) else text.encode()
    return read_feed(body, URL, now=NOW, **options)  # type: ignore[arg-type]


def test_rss() -> None:
    read = feed(RSS)
    assert (read.kind, read.title, read.language, read.entries, read.error) == ("feed", "The News", "de", 4, None)
    assert [(link.url, link.anchor, link.rank, link.date) for link in read.links] == [
        ("https://www.example.com/1", "First & best", 1, HALF_PAST_TEN),
        ("https://www.example.com/2", "Second one", 2, None),  # its date is in the future
    ]
    assert (read.hubs, read.topic) == (("https://hub.example.com/?a=1&b=2",), "https://www.example.com/feed")


@pytest.mark.parametrize("text", [ATOM, RDF, JSON], ids=["atom", "rdf", "json"])
def test_other_makes(text: str) -> None:
    read = feed(text)
    assert (read.title, read.language, read.error) == ("News", "en", None)
    assert [(link.url, link.anchor, link.date) for link in read.links] == [
        ("https://www.example.com/a", "A", HALF_PAST_TEN)
    ]


def test_entries_without_an_address_are_counted_but_no_links() -> None:
    read = feed(JSON)
    assert (read.entries, len(read.links)) == (2, 1)
    assert read.hubs == feed(ATOM).hubs == ("https://hub.example.com/",)


def test_what_the_quick_parser_does_not_know_the_thorough_one_reads() -> None:
    read = feed(CDF)
    assert (read.title, read.entries, read.error) == ("News", 1, None)
    nested = "<rss><channel><item><title>a</title><link>https://a.org/1</link><item><link>https://a.org/2</link></item></item>"
    assert feed(nested + "</channel></rss>").entries == 2


def test_dates_the_thorough_parser_gives() -> None:
    old = "<CHANNEL><ITEM HREF='https://a.org/1' LASTMOD='2026-11-15T10:30:00Z'/></CHANNEL>"
    assert feed(old).links[0].date == HALF_PAST_TEN
    broken = "<rss><item><pubDate>Sun, 15 Nov 2026 10:30:00 GMT</pubDate><link>https://a.org/1</link></item></rss>"
    assert feed(broken).links[0].date == HALF_PAST_TEN


def test_charsets_of_header_declaration_and_mark() -> None:
    text = RSS.replace("News", "Größe")
    latin = text.replace("utf-8", "iso-8859-1").encode("latin-1")
    assert feed(latin).title == "The Größe"
    bare = text.split("\n", 1)[1].encode("latin-1")
    assert feed(bare, content_type="application/rss+xml; charset=iso-8859-1").title == "The Größe"
    assert feed(text.replace("utf-8", "utf-16").encode("utf-16")).title == "The Größe"
    assert feed("\ufeff \n" + text).title == "The Größe"


def test_gzip_inside_is_undone_within_the_limit() -> None:
    assert feed(gzip.compress(RSS.encode())).entries == 4
    bomb = gzip.compress(RSS.encode() + b" " * 50_000_000)
    read = feed(bomb, limits=ReadLimits(body_bytes=100_000))
    assert (read.entries, read.truncated) == (4, True)


def test_half_a_feed_gives_what_is_there() -> None:
    items = "".join(f"<item><title>t{i}</title><link>https://a.org/{i}</link></item>" for i in range(100))
    whole = f"<rss><channel><title>T</title>{items}</channel></rss>"
    read = feed(whole[: len(whole) // 2])
    assert 40 <= len(read.links) <= 51
    assert read.title == "T"
    assert len(feed(ATOM[:-20]).links) == 1
    packed = gzip.compress(whole.encode())
    assert 0 < len(feed(packed[: len(packed) * 3 // 4]).links) < 100


def test_entries_are_bounded() -> None:
    items = "".join(f"<item><link>https://a.org/{i}</link></item>" for i in range(50))
    read = feed(f"<rss><channel>{items}</channel></rss>", limits=ReadLimits(links=20))
    assert (len(read.links), read.entries, read.truncated) == (20, 20, True)
    assert not feed(f"<rss><channel>{items}</channel></rss>", limits=ReadLimits(links=50)).truncated


@pytest.mark.parametrize("text", ["", "hello", "<html><body>no", "{", '{"a": 1}', "<rss>", "\0\0\0"])
def test_what_is_no_feed_has_no_links(text: str) -> None:
    assert feed(text).links == ()


def test_it_is_said_that_something_is_no_feed() -> None:
    assert "not a feed" in (feed("hello").error or "")


BOMB = (
    '<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(10))
    + "]><rss><channel><title>x</title><item><title>&k;</title><link>https://a.org/1</link></item></channel></rss>"
)


def test_files_of_this_machine_are_not_read() -> None:
    text = (
        '<!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/hostname">]><rss><channel><title>x&a;</title>'
        "<item><title>y&a;</title><link>https://a.org/1</link></item></channel></rss>"
    )
    read = feed(text)
    assert read.title in ("x", "x&a;")
    assert all(link.anchor in ("y", "y&a;", "") for link in read.links)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "<rss>" + "<a>" * 300_000,
        "<rss><channel>" + "<item>" * 100_000,
        "<rss><channel><item><title>" + "&" * 1_000_000,
        "<rss><channel>" + "<item><![CDATA[" * 50_000,
        "<rss><channel>" + "".join(f"<item><link>/{i}</link><pubDate>junk {i}</pubDate></item>" for i in range(50_000)),
        '{"version":"https://jsonfeed.org/version/1","items":[' + "[" * 300_000,
        "<rss><channel><link " + "x" * 1_000_000,
        "<rss " + "".join(f'xmlns:a{i}="b" ' for i in range(20_000)) + "><channel/>",
    ],
    ids=["bomb", "deep", "items", "signs", "cdata", "dates", "json", "tag", "names"],
)
def test_hostile_feeds_cost_little(text: str) -> None:
    start = time.perf_counter()
    read = feed(text)
    assert time.perf_counter() - start < 10
    assert all(len(link.anchor) <= 300 for link in read.links)


def test_half_letters_of_json_can_be_stored() -> None:
    read = feed(
        '{"version":"https://jsonfeed.org/version/1","items":[{"id":"1","url":"https://a.org/1","title":"a\\ud800"}]}'
    )
    assert [link.url for link in read.links] == ["https://a.org/1"]
    assert read.links[0].anchor.encode()[:1] == b"a"


@settings(deadline=None)
@given(st.sampled_from([RSS, ATOM, RDF, CDF, JSON]), st.data())
def test_broken_feeds_are_documents(text: str, data: st.DataObject) -> None:
    body = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 5))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert feed(bytes(body[: data.draw(st.integers(0, len(body)))])).kind == "feed"


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_document(body: bytes) -> None:
    assert feed(body).kind == "feed"
