"""`mayfly inspect`: what Mayfly reads, for people and for programs."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mayfly.testing.misbehaviour import trouble_sites
from mayfly.testing.server import Server, in_thread
from mayfly.testing.web import SetClock, Web

PAGE = """<!doctype html><html lang=de><head><title>Ein Tag</title>
<link rel=alternate type=application/rss+xml href=/feed>
<meta property="article:published_time" content="2024-11-15T10:00:00Z"></head>
<body><ul><li><a href=/a?utm_source=x>Erste</a></li><li><a href=/b>Zweite</a></li></ul></body></html>"""
FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>Neues</title><item><title>Eins</title>
<link>https://example.com/1</link><pubDate>Fri, 15 Nov 2024 10:00:00 GMT</pubDate></item></channel></rss>"""
SITEMAP = "<urlset><url><loc>https://example.com/x</loc></url></urlset>"
KEYS = {"input", "kind", "title", "links", "feeds", "sitemaps", "dates", "error"}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "page.html").write_text(PAGE)
    (tmp_path / "feed.xml").write_text(FEED)
    (tmp_path / "sitemap.xml.gz").write_bytes(gzip.compress(SITEMAP.encode()))
    (tmp_path / "robots.txt").write_text("User-agent: *\nSitemap: https://example.com/s.xml\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (tmp_path / "empty").write_bytes(b"")
    return tmp_path


def test_json_is_an_object_a_line_for_each_input(mayfly, files) -> None:
    names = ["page.html", "feed.xml", "sitemap.xml.gz", "robots.txt", "picture.png", "empty", "missing.html"]
    done = mayfly("inspect", "--json", "--base", "https://example.com/", *names, cwd=files)
    assert done.returncode == 0, done.stderr
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["input"] for one in seen] == names
    assert all(one.keys() >= KEYS for one in seen)
    page, feed, sitemap, robots, picture, empty, missing = seen
    assert (page["kind"], page["title"], page["language"]) == ("html", "Ein Tag", "de")
    assert [(link["url"], link["anchor"], link["rank"], link["date"]) for link in page["links"]] == [
        ("https://example.com/a", "Erste", 1, None),
        ("https://example.com/b", "Zweite", 2, None),
    ]
    assert page["feeds"] == ["https://example.com/feed"]
    assert page["dates"] == [{"what": "published", "at": 1731664800.0, "origin": "meta"}]
    assert (feed["kind"], feed["title"]) == ("feed", "Neues")
    assert feed["links"][0]["date"] == 1731664800.0
    assert [link["url"] for link in sitemap["links"]] == ["https://example.com/x"]
    assert (robots["kind"], robots["sitemaps"]) == ("robots", ["https://example.com/s.xml"])
    assert picture["kind"] == "other" and picture["error"]
    assert empty["error"]
    assert missing["error"] == "cannot be read: No such file or directory"


def test_for_people_it_is_a_table(mayfly, files) -> None:
    done = mayfly("inspect", "--base", "https://example.com/", "page.html", cwd=files)
    assert done.returncode == 0, done.stderr
    for said in "page.html: html", "Ein Tag", "https://example.com/feed", "2024-11-15 10:00  (meta)", "Zweite":
        assert said in done.stdout


def test_nothing_to_read_is_a_failure(mayfly, tmp_path) -> None:
    done = mayfly("inspect", "missing.html", cwd=tmp_path)
    assert done.returncode == 1
    assert "missing.html: cannot be read" in done.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--connect-to", "x", "a"], "'x' is no HOST:PORT:HOST:PORT"),
        (["--allow-private-addresses", "all", "a"], "'all' is no network"),
        (["--contact", "a\nb", "a"], "--contact must be plain ASCII"),
    ],
)
def test_wrong_flags_are_said_in_a_sentence(mayfly, tmp_path, flags, said) -> None:
    done = mayfly("inspect", *flags, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def web() -> Iterator[Server]:
    clock = SetClock(1_790_000_000.0)
    living = Web(2, seed=1, clock=clock)
    with in_thread(Server({**living.sites, **trouble_sites()})) as server:
        yield server


def flags_of(web: Server) -> list[str]:
    return ["--allow-private-addresses", "127.0.0.0/8", *(f"--connect-to={rule}" for rule in web.connect_to)]


def test_addresses_are_fetched_as_the_crawler_would(mayfly, web, tmp_path) -> None:
    front = [
        "http://site-01.test/",
        "http://site-01.test/feed.xml",
        "http://robots-forbids.test/",
        "http://trouble.test/garbage",
    ]
    done = mayfly("inspect", "--json", *flags_of(web), *front, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page, feed, forbidden, garbage = (json.loads(line) for line in done.stdout.splitlines())
    assert page["kind"] == "html" and len(page["links"]) > 3
    assert feed["kind"] == "feed" and feed["links"]
    assert forbidden["error"].startswith("robots: ")
    assert garbage["error"].startswith("bad-answer: ")
    assert [visit.path for visit in web.journal.visits("robots-forbids.test")] == ["/robots.txt"]
    assert web.journal.visits("site-01.test")[0].path == "/robots.txt"


def test_private_addresses_are_refused_unless_allowed(mayfly, web, tmp_path) -> None:
    done = mayfly("inspect", f"http://127.0.0.1:{web.port}/", cwd=tmp_path)
    assert done.returncode == 1
    assert "forbidden-address" in done.stderr
