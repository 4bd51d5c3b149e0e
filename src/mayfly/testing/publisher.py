"""One host of the loopback web: what it answers at a moment, and with which validators.

Everything follows from the trace: a source shows the links that stand on it at the time, the newest first; a page is
there from the moment it is published. A source's text depends on its links alone, so it is made anew only when they
change, and its validators are right: no date is given for a change of this very second, since another may follow.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from mayfly.core.model import FloatArray, IntArray, Seconds
from mayfly.lab.trace import Trace
from mayfly.testing import pages
from mayfly.testing.messages import Reply, Request
from mayfly.testing.pages import Frame, Story
from mayfly.testing.prose import headline, paragraphs, teaser

_RELATED = 5
_XML = "application/xml; charset=utf-8"
_ARTICLES_KEPT = 2000  # rendered, for a host
_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001"
    "e221bc330000000049454e44ae426082"
)


@dataclass(slots=True)
class _Shelf:
    """A source: its links by the time they were added, when it changes, and its last text."""

    url: str
    kind: str
    page: IntArray
    added: FloatArray
    removed: FloatArray
    changes: FloatArray
    version: int = -1
    reply: Reply | None = None

    def shown(self, now: Seconds) -> list[int]:
        """Pages linked now, the newest link first."""
        there = np.flatnonzero((self.added <= now) & (self.removed > now))
        return self.page[there[::-1]].tolist()


class Publisher:
    """Answers for one host, told the time by `clock`. Make them with `publishers`."""

    def __init__(
        self,
        host: str,
        trace: Trace,
        shelves: dict[str, _Shelf],  # by path
        pages_in_order: list[int],  # of publication
        seed: int,
        clock: Callable[[], Seconds],
        variants: bool,
    ) -> None:
        self._trace, self._seed, self._clock, self._variants = trace, seed, clock, variants
        self._shelves, self._in_order = shelves, pages_in_order
        self._numbers = {_path(trace.page_urls[page]): page for page in pages_in_order}
        self._place = {page: place for place, page in enumerate(pages_in_order)}
        self._section = {
            page: path
            for path, shelf in reversed(self._shelves.items())
            if shelf.kind == "category"
            for page in shelf.page[shelf.added == trace.published[shelf.page]].tolist()
        }
        hosts = list(dict.fromkeys(trace.hosts))
        at = hosts.index(host)
        friends = [other for other in (hosts[at - 1], hosts[(at + 1) % len(hosts)]) if other != host]
        self._frame = Frame(
            host,
            [path for path, shelf in self._shelves.items() if shelf.kind == "category"],
            [path for path, shelf in self._shelves.items() if shelf.kind == "other"],
            [f"http://{other}/" for other in dict.fromkeys(friends)],
        )
        self._fixed = self._fixed_replies()
        self._article = lru_cache(_ARTICLES_KEPT)(self._make_article)

    def __call__(self, request: Request) -> Reply:
        """The site: sources, articles under all their addresses, and the rest."""
        now, path = self._clock(), request.path
        if shelf := self._shelves.get(path):
            return self._source(shelf, now)
        page = self.page_at(path)
        if page is not None and self._trace.published[page] <= now:
            return self._article(page)
        if path.startswith("/pictures/"):
            return Reply(_PIXEL, type="image/png", etag='"pixel"')
        return self._fixed.get(path) or Reply(pages.plain(self._frame, "Not found", "").encode(), 404)

    def page_at(self, path: str) -> int | None:
        """The page under this path: its own, the one for phones, or one with a slash too many."""
        if path.startswith("/amp/"):
            path = path[4:]
        return self._numbers.get(path[:-1] if len(path) > 1 and path.endswith("/") else path)

    def shown(self, path: str, now: Seconds) -> list[int]:
        """Pages the source at this path links then, in the order of the page."""
        return self._shelves[path].shown(now)

    def _source(self, shelf: _Shelf, now: Seconds) -> Reply:
        version = int(np.searchsorted(shelf.changes, now, side="right"))
        if shelf.version != version or shelf.reply is None:
            changed = float(shelf.changes[version - 1]) if version else self._trace.start
            shelf.reply, shelf.version = self._make_source(shelf, now, changed), version
        reply = shelf.reply
        if reply.modified is not None and int(reply.modified) == int(now):
            return Reply(reply.body, type=reply.type, etag=reply.etag)
        return reply

    def _make_source(self, shelf: _Shelf, now: Seconds, changed: Seconds) -> Reply:
        stories = [self._story(page, shelf.kind, shelf.url) for page in shelf.shown(now)]
        frame, type_of = self._frame, _XML
        match shelf.url.rpartition("/")[2]:
            case "feed.xml":
                body, type_of = pages.rss(frame, stories, changed).encode(), "application/rss+xml; charset=utf-8"
            case "atom.xml":
                body, type_of = pages.atom(frame, stories, changed).encode(), "application/atom+xml; charset=utf-8"
            case "news.xml":
                body = pages.news_sitemap(frame, stories).encode()
            case "articles.xml.gz":
                body, type_of = gzip.compress(pages.sitemap(stories).encode(), 6, mtime=0), "application/gzip"
            case _:
                title = shelf.url.removeprefix(frame.root).strip("/") or frame.host
                body, type_of = pages.listing(frame, title, stories).encode(), "text/html; charset=utf-8"
        return Reply(body, type=type_of, etag=_tag(body), modified=changed)

    def _make_article(self, page: int) -> Reply:
        place = self._place[page]
        before = self._in_order[max(0, place - _RELATED) : place]
        body = pages.article(
            self._frame,
            self._story(page),
            self._section.get(page, "/"),
            paragraphs(self._seed, page),
            [self._story(other) for other in reversed(before)],
        ).encode()
        return Reply(body, etag=_tag(body), modified=float(self._trace.published[page]))

    def _story(self, page: int, kind: str = "", source: str = "") -> Story:
        url = self._trace.page_urls[page]
        title, few = headline(self._seed, page), teaser(self._seed, page)
        return Story(url, self._spelt(url, page, kind, source), title, few, float(self._trace.published[page]))

    def _spelt(self, url: str, page: int, kind: str, source: str) -> str:
        """The address under which a source links a page: feeds say where readers come from, tag pages are careless."""
        if not self._variants:
            return url
        if source.endswith("/feed.xml"):
            return f"{url}?utm_source=rss&utm_medium=feed"
        if kind == "other" and page % 10 == 3:
            return url.replace(self._frame.root, f"{self._frame.root}/amp", 1)
        return f"{url}/" if kind == "other" and page % 10 == 7 else url

    def _fixed_replies(self) -> dict[str, Reply]:
        """What never changes."""
        frame, start = self._frame, self._trace.start
        texts = {
            "/robots.txt": (pages.robots(frame), "text/plain; charset=utf-8"),
            "/sitemap.xml": (pages.sitemap_index(frame), _XML),
            "/about": (pages.plain(frame, "About", "<p>We write what happens.</p>"), "text/html; charset=utf-8"),
            "/imprint": (pages.plain(frame, "Imprint", "<p>Printed on loopback.</p>"), "text/html; charset=utf-8"),
            "/login": (pages.plain(frame, "Log in", "<form><input type=password></form>"), "text/html; charset=utf-8"),
            "/search": (pages.plain(frame, "Search", "<form><input name=q></form>"), "text/html; charset=utf-8"),
            "/style.css": ("body { font-family: serif }\n", "text/css"),
            "/app.js": ("document.title += '';\n", "text/javascript"),
        }
        files = {path: (text.encode(), type_of) for path, (text, type_of) in texts.items()}
        files["/logo.png"] = (_PIXEL, "image/png")
        return {
            path: Reply(body, type=type_of, etag=_tag(body), modified=start) for path, (body, type_of) in files.items()
        }


def publishers(trace: Trace, seed: int, clock: Callable[[], Seconds], variants: bool = True) -> dict[str, Publisher]:
    """A publisher for each host of the trace. With `variants` a page is linked under several of its addresses."""
    order = np.lexsort((trace.link_page, trace.added, trace.link_source))
    ends = np.searchsorted(trace.link_source[order], np.arange(1, len(trace.hosts)))
    shelves: dict[str, dict[str, _Shelf]] = {host: {} for host in trace.hosts}
    for source, links in enumerate(np.split(order, ends)):
        shelves[trace.hosts[source]][_path(trace.source_urls[source])] = _shelf(trace, source, links)
    by_host: dict[str, list[int]] = {host: [] for host in trace.hosts}
    for page in np.argsort(trace.published, kind="stable").tolist():
        by_host[trace.page_urls[page].split("/")[2]].append(page)
    return {host: Publisher(host, trace, shelves[host], by_host[host], seed, clock, variants) for host in shelves}


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def _shelf(trace: Trace, source: int, links: IntArray) -> _Shelf:
    added, removed = trace.added[links], trace.removed[links]
    changes = np.unique(np.concatenate([added, removed[np.isfinite(removed)]]))
    return _Shelf(trace.source_urls[source], trace.kinds[source], trace.link_page[links], added, removed, changes)


def _tag(body: bytes) -> str:
    return f'"{blake2b(body, digest_size=8).hexdigest()}"'
