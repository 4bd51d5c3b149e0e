"""What a body is told to be by looking at it; every shared sample is read; nothing raises."""

from __future__ import annotations

import gzip
import time
import warnings
from pathlib import Path

import feedparser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.fetch.document import ReadLimits
from mayfly.fetch.reader import read

NOW = 1_794_830_400.0
URL = "https://www.example.com/x"
SAMPLES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "web-samples"

XML = '<?xml version="1.0"?>\n<!-- a comment with <html> in it -->\n'


@pytest.mark.parametrize(
    ("text", "content_type", "kind"),
    [
        ("<!DOCTYPE html><p>x", "", "html"),
        ("<p>x", "", "html"),
        ("x", "text/html", "html"),
        ("<!doctype html><title>About <rss></title>", "application/rss+xml", "html"),
        (XML + '<html xmlns="http://www.w3.org/1999/xhtml"><p>x', "application/xhtml+xml", "html"),
        (XML + "<rss><channel><title>x</title></channel></rss>", "text/html", "feed"),
        ('<feed xmlns="http://www.w3.org/2005/Atom"></feed>', "text/plain", "feed"),
        (XML + '<!DOCTYPE rdf [<!ENTITY a "b">]><rdf:RDF xmlns:rdf="r"></rdf:RDF>', "", "feed"),
        ('{"version": "https://jsonfeed.org/version/1", "items": []}', "application/json", "feed"),
        (XML + "<item><title>lost its beginning</title></item>", "text/xml", "feed"),
        (XML + "<urlset><url><loc>https://a.org/1</loc></url></urlset>", "text/html", "sitemap"),
        ("<s:sitemapindex></s:sitemapindex>", "", "sitemap"),
        ("https://a.org/1\nhttps://a.org/2", "text/plain", "sitemap"),
        ("# rules\nUser-agent: *\nDisallow: /a\nSitemap: https://a.org/s.xml", "text/plain", "robots"),
        ("<opml><body/></opml>", "", "other"),
        ('{"a": 1}', "", "other"),
        (XML + "<note/>", "text/xml", "other"),
        ("just some words", "text/plain", "other"),
    ],
)
def test_what_a_body_is_is_seen(text: str, content_type: str, kind: str) -> None:
    assert read(text.encode(), URL, content_type=content_type, now=NOW).kind == kind
    assert read(gzip.compress(text.encode()), URL, content_type=content_type, now=NOW).kind == kind


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"%PDF-1.7 ...", "PDF"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"PK\x03\x04", "zip"),
        (bytes(range(256)) * 10, "binary"),
        (b'{"a": 1}', "JSON"),
        (b"words", "plain text"),
        (b"", "empty"),
        (b" \n\0 ", "empty"),
        (gzip.compress(gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), mtime=0), "gzip"),
    ],
)
def test_what_cannot_be_read_is_named(body: bytes, what: str) -> None:
    document = read(body, URL, now=NOW)
    assert document.kind == "other"
    assert what in (document.error or "")


def test_robots_txt_is_known_by_its_address() -> None:
    body = (
        "\ufeffUser-agent: *\r\nDisallow:\rSITEMAP : /s.xml\nSitemap: https://b.org/s\nSitemap: /s.xml\n#Sitemap: /no\n"
    )
    document = read(body.encode(), "https://www.example.com/robots.txt", now=NOW)
    assert document.kind == "robots"
    assert document.sitemaps == ("https://www.example.com/s.xml", "https://b.org/s")
    assert read(b"<html>not found", "https://www.example.com/robots.txt", now=NOW).kind == "robots"


def test_main_text_is_passed_on() -> None:
    body = f"<html><main><p>{'A story of today. ' * 20}</p></main>".encode()
    assert "story" in read(body, URL, now=NOW, with_text=True).text
    assert read(body, URL, now=NOW).text == ""


def test_gzip_is_undone_within_the_limit() -> None:
    start = time.perf_counter()
    document = read(gzip.compress(b"<p>" + b" " * 100_000_000), URL, now=NOW, limits=ReadLimits(body_bytes=1_000_000))
    assert (document.kind, document.truncated) == ("html", True)
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    "body",
    [
        b" " * 10_000_000,
        b"<!--" * 500_000,
        b"<!DOCTYPE " + b"[" * 500_000,
        b"<?xml " * 300_000,
        b"\n#" * 300_000,
        b"\0" * 1_000_000,
    ],
    ids=["blanks", "comments", "doctype", "declarations", "rules", "zeros"],
)
def test_hostile_beginnings_cost_little(body: bytes) -> None:
    start = time.perf_counter()
    read(body, URL, now=NOW)
    read(body, "https://www.example.com/robots.txt", now=NOW)
    assert time.perf_counter() - start < 10


STARTS = st.sampled_from(
    [b"", b"<rss", b"<urlset>", b"{", b"<html>", b"<?xml ", b"<opml>", b"\x1f\x8b\x08", b"http://", b"<!DOCTYPE"]
)


@settings(deadline=None, max_examples=300)
@given(STARTS, st.binary(max_size=200), st.text(max_size=20), st.sampled_from([URL, "https://a.org/robots.txt"]))
def test_any_bytes_are_a_document(start: bytes, rest: bytes, content_type: str, url: str) -> None:
    document = read(start + rest, url, content_type=content_type, now=NOW, with_text=True)
    assert not (document.error or "").startswith("unreadable")
    for text in (document.title, document.language, document.text, document.error or "", *document.links):
        str(text).encode()


def samples(folder: str) -> list[Path]:
    return sorted(path for path in (SAMPLES / folder).rglob("*") if path.is_file()) if SAMPLES.exists() else []


def needs_samples(found: list[Path]) -> list[Path]:
    if not found:
        pytest.skip("the shared samples are not beside this checkout")
    return found


@pytest.mark.parametrize(
    ("folder", "kinds"),
    [
        ("front-pages", {"html"}),
        ("articles", {"html"}),
        ("series", {"html"}),
        ("feeds", {"feed", "html", "other"}),
        ("sitemaps", {"sitemap", "feed", "robots"}),
        ("robots", {"robots"}),
        ("robots-odd", {"robots"}),
        ("lists", {"other"}),
    ],
)
def test_every_sample_is_read(folder: str, kinds: set[str]) -> None:
    url = "https://www.example.com/robots.txt" if folder.startswith("robots") else URL
    for path in needs_samples(samples(folder)):
        document = read(path.read_bytes(), url, now=NOW)
        assert document.kind in kinds, path
        assert not (document.error or "").startswith("unreadable"), (path, document.error)
        assert all(link.date is None or link.date <= NOW + 600 for link in document.links), path
        if folder in ("front-pages", "series"):
            assert len(document.links) > 50 and not document.truncated, path
        if folder == "lists":
            assert document.feeds, path


def test_well_formed_feeds_have_as_many_entries_as_the_reference_counts() -> None:
    compared = 0
    for path in needs_samples(samples("feeds")):
        body = path.read_bytes()
        while body.startswith(b"\x1f\x8b"):
            body = gzip.decompress(body)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reference = feedparser.parse(body)
        if not reference.bozo:
            compared += 1
            assert read(path.read_bytes(), URL, now=NOW).entries == len(reference.entries), path
    assert compared > 60
