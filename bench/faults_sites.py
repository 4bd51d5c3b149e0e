"""Sites beside the newspapers, for which pages change hands between shards and pauses outlast a lease.

A wire service has one feed, of pages elsewhere: of newspapers, which show them too; of quiet sites, which nobody else
links; and links of a shortener, which lead to the wire's own pages or to quiet sites. Slow sites ask for a pause in
their robots.txt that is longer than the lease, and have a feed and pages of their own.
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
_SLOW_SITES = 2
_WIRE_EVERY: Seconds = 1.0  # a page of a quiet site or of its own
_NEWSPAPERS = 20  # each so many-th page of theirs is on the wire as well
_SLOW_EVERY: Seconds = 40.0
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
        made = {WIRE: _wire(quiet, self._short, np.arange(begin, trace.end, _WIRE_EVERY), numbers)}
        for host in self.slow:
            made[host] = _own(host, np.arange(begin, trace.end, _SLOW_EVERY), numbers)
        self._stories = {entry.page: entry for entries in made.values() for entry in entries}
        self._hops = {entry.shown: entry.page for entry in made[WIRE] if entry.shown != entry.page}
        self.trace, self.finders = _grown(trace, made)
        of_papers = np.argsort(trace.published)[::_NEWSPAPERS]
        also = [Entry(float(trace.published[page]), trace.page_urls[page], trace.page_urls[page]) for page in of_papers]
        self._feeds = {**made, WIRE: sorted(made[WIRE] + also, key=lambda entry: entry.at)}
        self._moments = {host: [entry.at for entry in entries] for host, entries in self._feeds.items()}
        self.sites: dict[str, Site] = {host: partial(self._answer, host) for host in (*made, *quiet, self._short)}
        self.paced = {site_of(host): CRAWL_DELAY for host in self.slow}

    @property
    def sources(self) -> list[NewSource]:
        """The feeds; those of slow sites are read as often as their pause allows, so that each takeover meets it."""
        return [
            NewSource(_feed(host), "feed", pinned=CRAWL_DELAY if host in self.slow else None) for host in self._feeds
        ]

    def _answer(self, host: str, request: Request) -> Reply:
        now, url = self._clock(), f"http://{host}{request.path}"
        if request.path == "/robots.txt" and host in self.slow:
            return Reply(f"User-agent: *\nCrawl-delay: {CRAWL_DELAY:g}\n".encode(), type="text/plain")
        if url == _feed(host) and host in self._feeds:
            return self._listed(host, now)
        if url in self._hops:
            return Reply(status=302, headers=(("Location", self._hops[url]),))
        entry = self._stories.get(url)
        return _NOT_FOUND if entry is None or entry.at > now else _article(host, entry)

    def _listed(self, host: str, now: Seconds) -> Reply:
        upto = bisect_right(self._moments[host], now)
        entries = self._feeds[host][max(0, upto - _SHOWN) : upto]
        body = pages.rss(
            _frame(host), [_story(entry) for entry in reversed(entries)], now if not entries else entries[-1].at
        )
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


def _grown(trace: Trace, made: dict[str, list[Entry]]) -> tuple[Trace, list[str]]:
    """The trace with these pages and their feeds; and for each page the host of the sources that show it."""
    entries = [entry for of_host in made.values() for entry in of_host]
    sources, links = len(trace.source_urls), [len(of_host) for of_host in made.values()]
    at = np.array([entry.at for entry in entries])
    grown = replace(
        trace,
        source_ids=[*trace.source_ids, *(str(sources + number) for number in range(len(made)))],
        source_urls=[*trace.source_urls, *map(_feed, made)],
        hosts=[*trace.hosts, *made],
        kinds=[*trace.kinds, *("feed" for _ in made)],
        page_ids=[*trace.page_ids, *(str(len(trace.page_ids) + number) for number in range(len(entries)))],
        page_urls=[*trace.page_urls, *(entry.page for entry in entries)],
        published=np.concatenate([trace.published, at]),
        link_source=np.concatenate([trace.link_source, np.repeat(sources + np.arange(len(made)), links)]),
        link_page=np.concatenate([trace.link_page, len(trace.page_ids) + np.arange(len(entries))]),
        added=np.concatenate([trace.added, at]),
        removed=np.concatenate([trace.removed, np.full(len(entries), np.inf)]),
    )
    own = [urlsplit(url).hostname or "" for url in trace.page_urls]
    return grown, own + [host for host, of_host in made.items() for _ in of_host]


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


def _feed(host: str) -> str:
    return f"http://{host}/feed.xml"


def _page(host: str, number: int) -> str:
    return f"http://{host}/stories/{headline(_SEED, number).lower().replace(' ', '-')}-{number}"


def _named(kind: str, shard: int, shards: int) -> str:
    """The first host of this kind that belongs to a shard."""
    return next(host for number in count(1) if _shard(host := f"{kind}-{number}.test", shards) == shard)


def _shard(host: str, shards: int) -> int:
    return shard_of(site_of(host), shards)
