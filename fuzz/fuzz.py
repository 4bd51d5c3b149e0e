"""Throws bytes at everything that reads what comes from the web: no crash, no hang over a second, no growth.

usage: python fuzz/fuzz.py [SECONDS]          (for each target; 30)
       python fuzz/fuzz.py one TARGET FILE    (a single input, as kept in fuzz/found after a failure)

Each target runs in a process of its own under atheris, guided by coverage from a few well-formed seeds. What breaks one
is kept in fuzz/found.
"""

import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
NOW = 1_763_251_200.0
BASE = "https://example.com/news/index.html"
SLOWEST = 1.0  # seconds
GROWTH = 200  # MB over all inputs of a target

ARTICLE = (
    b'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A day</title><base href="/news/">'
    b'<link rel="canonical" href="/news/a"><link rel="alternate" type="application/rss+xml" href="/feed">'
    b'<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2025-11-15T10:00:00Z"}</script></head>'
    b'<body><p>One <a href="a?utm_source=x" rel="nofollow">first</a> two <time datetime="2025-11-15">today</time></p>'
)
FEEDS = [
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>T</title><item><title>A</title><link>https://example.com/a'
    b"</link><pubDate>Sat, 15 Nov 2025 10:00:00 GMT</pubDate></item></channel></rss>",
    b'<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><link rel="hub" href="https://hub.example/"/><entry>'
    b'<title>A</title><link href="https://example.com/a"/><updated>2025-11-15T10:00:00Z</updated></entry></feed>',
    b'{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":"1","url":"https://example.com/a"}]}',
]
SITEMAPS = [
    b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://example.com/a</loc>'
    b"<lastmod>2025-11-15</lastmod></url></urlset>",
    b"<sitemapindex><sitemap><loc>https://example.com/s.xml.gz</loc></sitemap></sitemapindex>",
    b"https://example.com/a\nhttps://example.com/b\n",
]
ROBOTS = [b"User-agent: *\nDisallow: /a*b$\nCrawl-delay: 1.5\nSitemap: https://example.com/s.xml\n"]
URLS = [
    b"https://www.example.com:443/%7ea/../b?utm_x=1&c=%C3%A4#d",
    b"//[::ffff:1.2.3.4]/",
    b"http://0x7f.1/;jsessionid=1",
]
LINKS = [b'<https://hub.example/>; rel="hub", </feed>; title="a, <b>"; rel=self']
DATES = [b"2025-11-15T10:00:00+01:00", b"Sat, 15 Nov 2025 10:00:00 GMT", b"15 November 2025, 10:30", b"Nov 15, 2025"]

CLICKS = [
    b'{"url": "https://example.com/a", "at": "2025-11-15T10:00:00Z", "count": 3, "kind": "show", "position": 2.5}\n',
    b'url;at;views;kind\n"https://example.com/a";2025-11-15;"1,200";click\n',
    b"Top pages,Clicks,Impressions,CTR,Position,Date\nhttps://example.com/a,1,20,5%,3.4,2025-11-15\n",
    b'example.com:443 192.0.2.1 - - [15/Nov/2025:10:00:00 +0100] "GET /a?b HTTP/1.1" 200 5 "-" "Mozilla/5.0"\n',
    b"#Date: 2025-11-15\n#Fields: time cs-method cs-uri-stem cs-uri-query sc-status\n10:00:00 GET /a - 200\n",
]


def canonical(data: bytes) -> None:
    from mayfly.urls import canonical, site_of

    text = data.decode("utf-8", "replace")
    for base in None, BASE:
        once = canonical(text, base)
        if once is not None:
            assert canonical(once) == once, once
            assert site_of(once)


def html(data: bytes) -> None:
    from mayfly.fetch.html import read_html

    read_html(data, BASE, now=NOW)


def feed(data: bytes) -> None:
    from mayfly.fetch.feeds import read_feed

    read_feed(data, BASE, now=NOW)


def sitemap(data: bytes) -> None:
    from mayfly.fetch.sitemaps import read_sitemap

    read_sitemap(data, BASE, now=NOW)


def robots(data: bytes) -> None:
    from mayfly.fetch.robots import read_rules

    read_rules(data, "mayfly").allows(BASE)


def links(data: bytes) -> None:
    from mayfly.fetch.link_header import linked

    linked([("Link", data.decode("latin-1"))], "hub", BASE)


def dates(data: bytes) -> None:
    from mayfly.fetch.dates import parse_date

    at = parse_date(data.decode("utf-8", "replace"), NOW)
    assert at is None or at <= NOW + 600


def clicklog(data: bytes) -> None:
    from datetime import UTC

    from mayfly.errors import UsageError
    from mayfly.store.clicklog import LINES, Reading, form_of

    assert form_of(data) in {*LINES, "parquet"}
    for read in LINES.values():
        try:
            for row in read(data.split(b"\n"), Reading(NOW, zone=UTC, host=BASE)):
                assert row[0]
        except UsageError:
            pass


TARGETS: dict[str, tuple[Callable[[bytes], None], list[bytes]]] = {
    "canonical": (canonical, URLS),
    "html": (html, [ARTICLE]),
    "feed": (feed, FEEDS),
    "sitemap": (sitemap, SITEMAPS),
    "robots": (robots, ROBOTS),
    "links": (links, LINKS),
    "dates": (dates, DATES),
    "clicklog": (clicklog, CLICKS),
}


def one(name: str, data: bytes) -> None:
    """One input: an exception or a second too many is a failure."""
    began = time.perf_counter()
    TARGETS[name][0](data)
    took = time.perf_counter() - began
    assert took < SLOWEST, f"{took:.2f} s for {len(data)} bytes"


def guided(name: str, seconds: int, folder: str) -> None:
    """Run one target in this process; ends it."""
    import atheris

    with atheris.instrument_imports(include=["mayfly", "fastfeedparser", "protego"], enable_loader_override=False):
        for seed in TARGETS[name][1]:
            TARGETS[name][0](seed)  # the first time it imports what it needs
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    limits = [f"-max_total_time={seconds}", "-max_len=20000", f"-rss_limit_mb={memory + GROWTH}", "-timeout=5"]
    kept = f"-artifact_prefix={HERE / 'found' / name}-"
    atheris.Setup(["fuzz", *limits, kept, "-print_final_stats=1", folder], lambda data: one(name, data))
    atheris.Fuzz()


def main() -> None:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    (HERE / "found").mkdir(exist_ok=True)
    failed = []
    for name, (_, seeds) in TARGETS.items():
        with tempfile.TemporaryDirectory() as folder:
            for number, seed in enumerate(seeds):
                Path(folder, str(number)).write_bytes(seed)
            command = [sys.executable, __file__, "guided", name, str(seconds), folder]
            done = subprocess.run(command, capture_output=True, text=True)
        stats = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
        runs, peak = (int(stats.get(key, 0)) for key in ("number_of_executed_units", "peak_rss_mb"))
        verdict = "ok" if done.returncode == 0 else "FAILED"
        print(f"{name:10} {runs:>10,} inputs in {seconds} s, {peak} MB at most  {verdict}", flush=True)
        if done.returncode:
            failed.append(name)
            print(done.stderr[-3000:], flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; the inputs are in fuzz/found")


if __name__ == "__main__":
    if sys.argv[1:2] == ["guided"]:
        guided(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    elif sys.argv[1:2] == ["one"]:
        one(sys.argv[2], Path(sys.argv[3]).read_bytes())
    else:
        main()
