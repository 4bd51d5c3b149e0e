"""Finding the content sources of a host: its front page, what that links, feeds and sitemaps (paper, section 3.2).

Recall first: the scheduler drops what does not pay. What a front page links is remembered, and becomes a source when it
is still there after some days; at the first look at a host all that is not shaped as an article is taken at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mayfly.core.model import Seconds
from mayfly.core.sources import select
from mayfly.crawl.candidates import Patterns, is_dull, is_front
from mayfly.crawl.settings import Settings
from mayfly.crawl.visits import Visit, Visitor
from mayfly.fetch.answers import Failed, Response
from mayfly.fetch.document import Document
from mayfly.fetch.reasons import Reason
from mayfly.fetch.robots import Robots
from mayfly.store.listings import Listing
from mayfly.store.records import NewSource, SourceKind
from mayfly.store.store import Store
from mayfly.urls import canonical, host_of, same_page, site_of

_FEED_PLACES = ("/feed", "/rss.xml", "/rss", "/atom.xml", "/feed.xml", "/index.xml")
_SITEMAP_PLACES = ("/sitemap.xml", "/news-sitemap.xml", "/sitemap_news.xml")
_MOST_SITEMAPS = 12  # of one host; those named for news first, then the last ones, which are mostly the newest
_NOBODY = (Reason.BAD_URL, Reason.DNS, Reason.CONNECT, Reason.CONNECT_TIMEOUT)
_MOST_INDEXES = 4  # that are read, or sitemaps named in robots.txt; those named for news first
_MOST_ELSEWHERE = 3  # feeds on other sites: a paper's own may lie with a service, a list of others' is their affair


@dataclass(slots=True)
class Found:
    """What was found at a host."""

    host: str
    sources: list[NewSource] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)
    failure: str = ""
    _keys: set[str] = field(default_factory=set, repr=False)

    def add(self, url: str, kind: SourceKind, found_on: str) -> None:
        key = same_page(url)
        if key not in self._keys:
            self._keys.add(key)
            self.sources.append(NewSource(url, kind, found_on))


class _Enough(Exception):
    """The host is to be left alone for now."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(str(failed.reason))
        self.failed = failed


class Finder:
    """Looks for the sources of hosts, one request after another for each."""

    def __init__(self, visitor: Visitor, robots: Robots, store: Store, settings: Settings) -> None:
        self._visitor, self._robots, self._store, self._settings = visitor, robots, store, settings
        self._patterns = Patterns(settings.only, settings.not_)

    async def find(self, host: str, now: Seconds) -> Found:
        """Look at a host (or at the address of a front page) and keep what was found."""
        found = Found(host)
        try:
            await self._look(found, now)
        except _Enough as enough:
            found.failure = str(enough)
            if enough.failed.reason is Reason.STOPPING:
                return found  # half a look tells nothing: the next run looks anew
            await self._visitor.rest(enough.failed, now)
        await self._keep(found, now)
        return found

    async def _look(self, found: Found, now: Seconds) -> None:
        known = {old.url: old.first_seen for old in await self._store.candidates(found.host)}
        visit, url = await self._front(found.host)
        if visit.document is None:
            answer = visit.answer
            if isinstance(answer, Failed) and answer.reason is Reason.ELSEWHERE:  # its front page is another shard's
                await self._store.add_hosts(now, hosts_in([answer.url]), led_by=found.host)
            found.failure = str(answer.reason) if isinstance(answer, Failed) else "nothing to read"
            return
        found.add(url, "front", "")
        await self._pages(visit.document, url, found, known, now)
        await self._feeds(visit.document, url, found)
        await self._sitemaps(url, found, now)

    async def _visit(self, url: str, feed: bool = False) -> Visit:
        visit = await self._visitor.visit(url, "find", feed=feed)
        if isinstance(visit.answer, Failed) and visit.answer.reason in (Reason.STOPPING, Reason.BUSY):
            raise _Enough(visit.answer)
        return visit

    async def _front(self, host: str) -> tuple[Visit, str]:
        """The front page, and where it is in truth: nearly all that speak https lead there from http."""
        roots = [host] if "//" in host else [f"http://{host}/", f"https://{host}/"]
        visit = Visit(Failed(host, host, Reason.BAD_URL, "no host", 0.0, 0.0, 0))
        for root in roots:
            address = canonical(root)
            if address is None:
                continue
            now = await self._visit(address)
            if now.document is not None:
                final = now.document.url
                return now, final if site_of(final) == site_of(address) else address
            if not isinstance(visit.answer, Failed) or visit.answer.reason in _NOBODY:  # who answered says most
                visit = now
        return visit, host

    async def _pages(self, document: Document, url: str, found: Found, known: dict[str, Seconds], now: Seconds) -> None:
        """Links of the front page that are sources now, and those that may become some.

        At the first look that succeeds none of them is known.
        """
        home = site_of(url)
        paths = {
            link.url: urlsplit(link.url).path
            for link in document.links
            if site_of(link.url) == home
            and not is_dull(link.url)
            and link.url != url
            and self._patterns.source(link.url)
            and self._allowed(link.url, now)
        }
        found.candidates = list(paths)
        for source in select(paths, known, now, self._settings.older_than, first_look=not known):
            found.add(source, "front" if is_front(source) else "category", url)

    def _allowed(self, url: str, now: Seconds) -> bool:
        """Whether robots.txt, as far as it is known, lets us fetch this."""
        known = self._robots.known(url, now)
        return known is None or known.rules.allows(url)

    async def _feeds(self, document: Document, url: str, found: Found) -> None:
        """Those the front page declares; one on another site is paced as that site is, and may list all of ours."""
        own = [feed for feed in document.feeds if site_of(feed) == site_of(url)]
        feeds = own + [feed for feed in document.feeds if feed not in own][:_MOST_ELSEWHERE]
        if not feeds:
            feeds = await self._first_of(_FEED_PLACES, url, "feed")
        for feed in feeds:
            if self._patterns.source(feed):
                found.add(feed, "feed", url)

    async def _sitemaps(self, url: str, found: Found, now: Seconds) -> None:
        known = self._robots.known(url, now)
        robots = canonical("/robots.txt", url) or url
        named = [address for raw in (known.rules.sitemaps if known else ()) if (address := canonical(raw, url))]
        if not named:
            named = await self._first_of(_SITEMAP_PLACES, url, "sitemap")
        leaves: dict[str, str] = {}
        for address in sorted(named, key=lambda address: not _for_news(address))[:_MOST_INDEXES]:
            visit = await self._visit(address, feed=True)
            if visit.document is None or visit.document.kind != "sitemap":
                continue
            for leaf in visit.document.sitemaps or (address,):
                leaves.setdefault(leaf, robots if leaf == address else address)
        for leaf in likely([leaf for leaf in leaves if self._patterns.source(leaf)], site_of(url)):
            found.add(leaf, "sitemap", leaves[leaf])

    async def _first_of(self, places: Sequence[str], url: str, kind: str) -> list[str]:
        """The first of the usual places where there is one of that kind."""
        for place in places:
            address = canonical(place, url)
            if address is None:
                continue
            visit = await self._visit(address, feed=True)
            if isinstance(visit.answer, Response) and visit.document is not None and visit.document.kind == kind:
                return [address]
        return []

    async def _keep(self, found: Found, now: Seconds) -> None:
        store, host = self._store, found.host
        if found.sources:
            most = self._settings.most_sources
            there = await store.list_sources(
                Listing("url", state="active", host=host_of(found.sources[0].url), first=most)
            )
            known = {source.url for source in there.rows}
            new = [source for source in found.sources if source.url not in known]
            await store.add_sources(now, new[: max(most - there.total, 0)])
        if not found.failure:
            await store.note_candidates(now, host, found.candidates)
        await store.host_searched(host, now, found.failure)


def likely(sitemaps: Sequence[str], home: str) -> list[str]:
    """The sitemaps of a site that are worth a look, of however many are named; those of other sites are their affair.

    >>> likely([f"https://a.test/map-{number}.xml" for number in range(20)] + ["https://a.test/news.xml"], "a.test")[:2]
    ['https://a.test/news.xml', 'https://a.test/map-19.xml']
    >>> likely(["https://else.test/news.xml"], "a.test")
    []
    """
    sitemaps = [url for url in sitemaps if site_of(url) == home]
    news = [url for url in sitemaps if _for_news(url)]
    rest = [url for url in reversed(sitemaps) if not _for_news(url)]
    return (news + rest)[:_MOST_SITEMAPS]


def _for_news(sitemap: str) -> bool:
    """Whether a sitemap is named for news; what follows the host alone, as that of a newspaper may be, too."""
    return "news" in sitemap.split("/", 3)[-1].lower()


def hosts_in(lines: Sequence[str]) -> list[str]:
    """Hosts of a list: one a line, bare or as URLs; what follows # is a remark.

    >>> hosts_in(["# mine", "example.com", " https://a.example.com/news ", "", "http://b.test:8080"])
    ['example.com', 'a.example.com', 'http://b.test:8080/']
    """
    words = (line.partition("#")[0].strip() if "://" not in line else line.split()[0] for line in lines)
    roots = (canonical("/", canonical(word if "://" in word else f"http://{word}/")) for word in words if word)
    return list(dict.fromkeys(_host_or_root(root) for root in roots if root))


def _host_or_root(root: str) -> str:
    """A host by its name; by the address of its front page where that has a port of its own."""
    host = host_of(root)
    return host if root in (f"http://{host}/", f"https://{host}/") else root
