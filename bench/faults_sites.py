"""Sites beside the newspapers, for which pages change hands between shards and pauses outlast a lease.

A wire service has one feed, of pages elsewhere: of newspapers, which show them too; of quiet sites, which nobody else
links; and links of a shortener, which lead to the wire's own pages or to quiet sites. Slow sites ask for a pause in
their robots.txt that is longer than the lease; the wire alone shows their pages, so that they wait for nothing else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import count, cycle
from urllib.parse import urlsplit

import numpy as np

from mayfly.core.model import Seconds
from mayfly.lab.trace import Trace
from mayfly.store.postgres_schema import shard_of
from mayfly.store.records import NewSource
from mayfly.testing import pages
from mayfly.testing.messages import Reply, Request, Site
from mayfly.testing.pages import Frame, Story
from mayfly.testing.prose import headline, paragraphs, teaser
from mayfly.urls import site_of

CRAWL_DELAY: Seconds = 7.0
WIRE = "wire.test"
FEED = f"http://{WIRE}/feed.xml"
_SLOW_SITES = 2
_WIRE_EVERY: Seconds = 1.0  # a page of a quiet site or of its own
_NEWSPAPERS = 20  # each so many-th page of theirs is on the wire as well
_SLOW_EVERY: Seconds = 12.0  # a page of each slow site: it is asked more often than not when it may be
_SHOWN = 300  # entries of a feed: five minutes of the wire, for whoever was away
_SEED = 77
_NOT_FOUND = Reply(b"nothing here\n", 404, "text/plain")


@dataclass(frozen=True, slots=True)
class Entry:
    """Of a feed: from when on it is shown, under which address, and where that leads."""

    at: Seconds
    shown: str
    page: str
    number: int = 0  # of a page of ours


class Others:
    """These sites, from one moment to another."""

    def __init__(self, trace: Trace, shards: int, begin: Seconds, clock: Callable[[], Seconds]) -> None:
        self._clock = clock
        home = _shard(WIRE, shards)
        elsewhere = [shard for shard in range(shards) if shard != home]
        self._short = _named("short", elsewhere[-1], shards)
        quiet = [_named("quiet", shard, shards) for shard in elsewhere]
        self.slow = [_named("slow", shard, shards) for shard in (home, *elsewhere)[:_SLOW_SITES]]
        numbers = count()
        own = _wire(quiet, self._short, np.arange(begin, trace.end, _WIRE_EVERY), numbers)
        for host in self.slow:
            own += _own(host, np.arange(begin, trace.end, _SLOW_EVERY), numbers)
        self._stories = {entry.page: entry for entry in own}
        self._hops = {entry.shown: entry.page for entry in own if entry.shown != entry.page}
        self.trace = _grown(trace, own)
        self.finders = [urlsplit(url).hostname or "" for url in trace.page_urls] + [WIRE] * len(own)
        of_papers = np.argsort(trace.published)[::_NEWSPAPERS]
        also = [Entry(float(trace.published[page]), trace.page_urls[page], trace.page_urls[page]) for page in of_papers]
        self._feed = sorted(own + also, key=lambda entry: entry.at)
        self._moments = [entry.at for entry in self._feed]
        hosts = (WIRE, self._short, *quiet, *self.slow)
        self.sites: dict[str, Site] = {host: partial(self._answer, host) for host in hosts}
        self.paced = {site_of(host): CRAWL_DELAY for host in self.slow}

    @property
    def sources(self) -> list[NewSource]:
        return [NewSource(FEED, "feed")]

    def _answer(self, host: str, request: Request) -> Reply:
        now, url = self._clock(), f"http://{host}{request.path}"
        if request.path == "/robots.txt" and host in self.slow:
            return Reply(f"User-agent: *\nCrawl-delay: {CRAWL_DELAY:g}\n".encode(), type="text/plain")
        if url == FEED:
            return self._listed(now)
        if url in self._hops:
            return Reply(status=302, headers=(("Location", self._hops[url]),))
        entry = self._stories.get(url)
        return _NOT_FOUND if entry is None or entry.at > now else _article(host, entry)

    def _listed(self, now: Seconds) -> Reply:
        upto = bisect_right(self._moments, now)
        entries = self._feed[max(0, upto - _SHOWN) : upto]
        changed = entries[-1].at if entries else now
        body = pages.rss(_frame(WIRE), [_story(entry) for entry in reversed(entries)], changed)
        return _tagged(body.encode(), "application/rss+xml; charset=utf-8")


def _wire(quiet: list[str], short: str, moments: np.ndarray, numbers: count[int]) -> list[Entry]:
    """In turn: a page of a quiet site, one of our own by the shortener, one of a quiet site by it."""
    ways, direct, hopping = cycle(("direct", "home", "away")), cycle(quiet), cycle(quiet)
    entries = []
    for at, way, number in zip(moments.tolist(), ways, numbers, strict=False):
        page = _page({"direct": direct, "home": cycle([WIRE]), "away": hopping}[way].__next__(), number)
        entries.append(Entry(at, page if way == "direct" else f"http://{short}/{number}", page, number))
    return entries


def _own(host: str, moments: np.ndarray, numbers: count[int]) -> list[Entry]:
    shown = [(at, number, _page(host, number)) for at, number in zip(moments.tolist(), numbers, strict=False)]
    return [Entry(at, page, page, number) for at, number, page in shown]


def _grown(trace: Trace, own: list[Entry]) -> Trace:
    """The trace with these pages and the feed that shows them."""
    at, feed, first = np.array([entry.at for entry in own]), len(trace.source_urls), len(trace.page_ids)
    return replace(
        trace,
        source_ids=[*trace.source_ids, str(feed)],
        source_urls=[*trace.source_urls, FEED],
        hosts=[*trace.hosts, WIRE],
        kinds=[*trace.kinds, "feed"],
        page_ids=[*trace.page_ids, *(str(first + number) for number in range(len(own)))],
        page_urls=[*trace.page_urls, *(entry.page for entry in own)],
        published=np.concatenate([trace.published, at]),
        link_source=np.concatenate([trace.link_source, np.full(len(own), feed)]),
        link_page=np.concatenate([trace.link_page, first + np.arange(len(own))]),
        added=np.concatenate([trace.added, at]),
        removed=np.concatenate([trace.removed, np.full(len(own), np.inf)]),
    )


def _article(host: str, entry: Entry) -> Reply:
    body = pages.article(
        _frame(host), _story(replace(entry, shown=entry.page)), "/", paragraphs(_SEED, entry.number), []
    )
    return _tagged(body.encode(), "text/html; charset=utf-8")


def _story(entry: Entry) -> Story:
    number = entry.number or int(blake2b(entry.page.encode(), digest_size=4).hexdigest(), 16)
    return Story(entry.shown, entry.shown, headline(_SEED, number), teaser(_SEED, number), entry.at)


def _tagged(body: bytes, kind: str) -> Reply:
    return Reply(body, type=kind, etag=f'"{blake2b(body, digest_size=8).hexdigest()}"')


def _frame(host: str) -> Frame:
    return Frame(host, [], [], [])


def _page(host: str, number: int) -> str:
    return f"http://{host}/stories/{headline(_SEED, number).lower().replace(' ', '-')}-{number}"


def _named(kind: str, shard: int, shards: int) -> str:
    """The first host of this kind that belongs to a shard."""
    return next(host for number in count(1) if _shard(host := f"{kind}-{number}.test", shards) == shard)


def _shard(host: str, shards: int) -> int:
    return shard_of(site_of(host), shards)
