"""Sitemaps, indexes of them, news ones, plain lists; and OPML."""

from __future__ import annotations

import gzip
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.fetch.document import Document, ReadLimits
from mayfly.fetch.opml import read_opml
from mayfly.fetch.sitemaps import read_sitemap

NOW = 1_794_830_400.0  # 2026-11-16T12:00:00Z
URL = "https://www.example.com/sitemap.xml"
HALF_PAST_TEN = 1_794_738_600.0  # the day before

NEWS = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc> https://www.example.com/1?a=1&amp;b=2 </loc><lastmod>2026-11-16</lastmod><image:image>
<image:loc>https://www.example.com/1.jpg</image:loc><image:title>A picture</image:title></image:image>
<news:news><news:publication><news:name>N</news:name></news:publication><news:title>First &amp; best</news:title>
<news:publication_date>2026-11-15T11:30:00+01:00</news:publication_date></news:news></url>
<url><loc>https://www.example.com/2</loc><lastmod>2026-11-15T10:30:00Z</lastmod></url>
<url><loc>https://www.example.com/3</loc><lastmod>2099-01-01</lastmod></url>
<url><loc>mailto:a@example.com</loc></url><url></url><url><loc>/4</loc></url>
</urlset>"""
INDEX = """<sitemapindex><sitemap><loc>https://www.example.com/s1.xml.gz</loc><lastmod>2026-11-15</lastmod></sitemap>
<sitemap>https://www.example.com/s2.xml</sitemap><sitemap><loc>https://www.example.com/s1.xml.gz</loc></sitemap></sitemapindex>"""


def sitemap(text: str | bytes, **options: object) -> Document:
    body = text if isinstance(text, bytes) else text.encode()
    return read_sitemap(body, URL, now=NOW, **options)  # type: ignore[arg-type]


def test_pages_with_the_dates_and_titles_of_news() -> None:
    read = sitemap(NEWS)
    assert (read.kind, read.error, read.truncated) == ("sitemap", None, False)
    assert [(link.url, link.anchor, link.rank, link.date) for link in read.links][:3] == [
        ("https://www.example.com/1?a=1&b=2", "First & best", 1, HALF_PAST_TEN),
        ("https://www.example.com/2", "", 2, HALF_PAST_TEN),
        ("https://www.example.com/3", "", 3, None),
    ]
    assert read.links[-1].url == "https://www.example.com/4"


def test_an_index_names_sitemaps_each_once() -> None:
    read = sitemap(INDEX)
    assert read.sitemaps == ("https://www.example.com/s1.xml.gz", "https://www.example.com/s2.xml")
    assert (read.links, read.error) == ((), None)


def test_namespaces_may_be_wrong_or_missing() -> None:
    assert len(sitemap("<urlset><url><loc>https://a.org/1</loc></url></urlset>").links) == 1
    assert len(sitemap('<x:urlset xmlns:x="odd"><x:url><x:loc>https://a.org/1</x:loc></x:url></x:urlset>').links) == 1
    assert len(sitemap("<s:urlset><s:url><s:loc>https://a.org/1</s:loc></s:url></s:urlset>").links) == 1


def test_one_address_a_line() -> None:
    read = sitemap("\ufeffhttps://a.org/1\r\n\r\nnothing\r\n  HTTPS://a.org/2\r\nhttps://a.org/1\n")
    assert [link.url for link in read.links] == ["https://a.org/1", "https://a.org/2"]


def test_gzip_is_undone_within_the_limit() -> None:
    assert len(sitemap(gzip.compress(NEWS.encode())).links) == 4
    read = sitemap(gzip.compress(NEWS.encode() + b" " * 50_000_000), limits=ReadLimits(body_bytes=100_000))
    assert (len(read.links), read.truncated) == (4, True)


def test_broken_ones_give_what_is_there() -> None:
    assert len(sitemap(NEWS[:-120]).links) >= 2
    assert sitemap(NEWS.replace("&amp;", "&")).links == sitemap(NEWS).links
    assert len(sitemap(NEWS.replace("</lastmod>", "", 1)).links) >= 1
    assert sitemap("<urlset></urlset>").error == "no address in it"
    assert sitemap("").error is not None
    assert sitemap(b"<urlset>\0\xff<url>").links == ()


def test_entries_are_bounded() -> None:
    body = "<urlset>" + "".join(f"<url><loc>https://a.org/{i}</loc></url>" for i in range(100)) + "</urlset>"
    read = sitemap(body, limits=ReadLimits(entries=30))
    assert (len(read.links), read.entries, read.truncated) == (30, 30, True)
    assert not sitemap(body, limits=ReadLimits(entries=100)).truncated


def test_memory_does_not_grow_with_what_is_skipped() -> None:
    entry = b"<url><loc>https://a.org/1</loc><x><y>" + b"z" * 500 + b"</y></x></url>"
    body = b"<urlset>" + entry * 10_000 + b"</urlset>"
    tracemalloc.start()
    assert len(sitemap(body).links) == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * len(body)


def test_entities_are_neither_unfolded_nor_fetched() -> None:
    bomb = '<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(10)
    )
    start = time.perf_counter()
    sitemap(bomb + "]><urlset><url><loc>https://a.org/&k;</loc></url></urlset>")
    file = '<!DOCTYPE urlset [<!ENTITY a SYSTEM "file:///etc/hostname">]><urlset><url><loc>https://a.org/&a;</loc></url></urlset>'
    assert [link.url for link in sitemap(file).links] in ([], ["https://a.org/"])
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    "text",
    [
        "<urlset>" + "<url>" * 300_000,
        "<urlset>" + "<a/>" * 300_000,
        "<urlset><url><loc>" + "x" * 5_000_000,
        "https://a.org/" * 500_000,
        "https://a.org/1\n" * 500_000,
        "<urlset>" + "<url><loc>https://a.org/1</loc></url>" * 200_000,
    ],
    ids=["deep", "wide", "long", "one line", "lines", "many"],
)
def test_hostile_sitemaps_cost_little(text: str) -> None:
    start = time.perf_counter()
    assert sitemap(text).kind == "sitemap"
    assert time.perf_counter() - start < 10


@settings(deadline=None)
@given(st.sampled_from([NEWS, INDEX]), st.data())
def test_broken_bytes_are_documents(text: str, data: st.DataObject) -> None:
    body = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 5))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert sitemap(bytes(body)).kind == "sitemap"


def test_opml_names_feeds() -> None:
    body = b"""<?xml version="1.0"?><opml version="2.0"><head><title> My  feeds </title></head><body>
    <outline text="News"><outline type="rss" text="A" xmlUrl="https://a.org/feed" htmlUrl="https://a.org/"/></outline>
    <outline text="B" xmlurl="https://b.org/feed"/><outline xmlUrl="https://a.org/feed"/><outline xmlUrl="x:"/>
    </body></opml>"""
    read = read_opml(body, "https://www.example.com/list.opml")
    assert (read.kind, read.title, read.feeds) == ("other", "My feeds", ("https://a.org/feed", "https://b.org/feed"))
    assert read_opml(body[:-30], "https://www.example.com/").feeds == read.feeds
    assert read_opml(b"<opml>" + b"<outline>" * 100_000, "https://www.example.com/").feeds == ()
    assert read_opml(body, "https://www.example.com/", limits=ReadLimits(entries=1)).truncated
