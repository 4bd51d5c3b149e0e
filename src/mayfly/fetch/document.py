"""What was read from a body: plain values, the same for pages, feeds and sitemaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, overload

import msgspec

from mayfly.core.model import Seconds

Kind: TypeAlias = Literal["html", "feed", "sitemap", "robots", "other"]
Looks: TypeAlias = Literal["soft-404", "log-in"]


class Link(NamedTuple):
    """A link a document shows, with what stands around it."""

    url: str  # canonical
    anchor: str = ""
    rank: int = 0  # 1 = top of the document
    date: Seconds | None = None  # of what it links, where the document says it (feeds, news sitemaps)
    context: str = ""  # text around the link, without the anchor
    rel: str = ""  # as written, small letters
    nofollow: bool = False


class Links(msgspec.Struct, frozen=True, array_like=True, eq=False):
    """The links of a document in their order: a sequence of `Link`, kept as columns.

    Most links of a page were seen before, and its address is all that is looked at. So a `Link` is made when it is
    asked for; what few links have is kept by place, counted from 0.

    >>> links = Links.of([Link("https://example.com/a", "A", 1), Link("https://example.com/b", "B", 2, rel="me")])
    >>> links.urls, links[1].rel, len(links)
    (('https://example.com/a', 'https://example.com/b'), 'me', 2)
    """

    urls: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    dates: dict[int, Seconds] = {}
    contexts: dict[int, str] = {}
    rels: dict[int, str] = {}
    nofollow: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        count = len(self.urls)
        if len(self.anchors) != count:
            raise ValueError(f"{count} addresses, but {len(self.anchors)} anchors")
        for places in (self.dates, self.contexts, self.rels, self.nofollow):
            if places and not (min(places) >= 0 and max(places) < count):
                raise ValueError(f"a place beyond the {count} links")

    @classmethod
    def of(cls, links: Iterable[Link]) -> Links:
        """These links; their ranks are their places."""
        rows = list(links)
        return cls(
            tuple(row.url for row in rows),
            tuple(row.anchor for row in rows),
            {place: row.date for place, row in enumerate(rows) if row.date is not None},
            {place: row.context for place, row in enumerate(rows) if row.context},
            {place: row.rel for place, row in enumerate(rows) if row.rel},
            frozenset(place for place, row in enumerate(rows) if row.nofollow),
        )

    def __len__(self) -> int:
        return len(self.urls)

    def __iter__(self) -> Iterator[Link]:
        return map(self._link, range(len(self.urls)))

    @overload
    def __getitem__(self, place: int) -> Link: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Link, ...]: ...
    def __getitem__(self, place: int | slice) -> Link | tuple[Link, ...]:
        places = range(len(self.urls))[place]
        return self._link(places) if isinstance(places, int) else tuple(map(self._link, places))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Links | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.urls)

    def _link(self, place: int) -> Link:
        return Link(
            self.urls[place],
            self.anchors[place],
            place + 1,
            self.dates.get(place),
            self.contexts.get(place, ""),
            self.rels.get(place, ""),
            place in self.nofollow,
        )


NO_LINKS = Links()


class Date(NamedTuple):
    """A date a document gives of itself, and where it says so."""

    what: Literal["published", "modified"]
    at: Seconds
    origin: str  # json-ld, meta, time, url, feed, header


@dataclass(frozen=True, slots=True)
class Document:
    """A body, read. What is missing is empty; what went wrong is said in `error`, and the rest is still given."""

    kind: Kind
    url: str
    title: str = ""
    language: str = ""
    charset: str = ""
    canonical: str | None = None  # the address the page says it has, if on the same site
    refresh: str | None = None  # where a meta refresh leads
    links: Links = NO_LINKS
    entries: int = 0  # of a feed or sitemap; those without a usable address are no links
    feeds: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    hubs: tuple[str, ...] = ()  # WebSub: who tells of its changes,
    topic: str = ""  # and the address they know it by, if it says so
    ttl: Seconds | None = None  # a feed says that it stays as it is for so long
    dates: tuple[Date, ...] = ()
    text: str = ""  # main text, where it was asked for
    looks: Looks | None = None  # what it is in truth, though it came with status 200
    index: bool = True  # False: asks not to be indexed
    truncated: bool = False  # a limit was reached: there was more
    error: str | None = None

    @property
    def published(self) -> Date | None:
        """The date of publication from the most trusted place that gives one."""
        return next((date for date in self.dates if date.what == "published"), None)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much of a document is read at most."""

    links: int = 5_000
    entries: int = 50_000  # of a sitemap
    anchor_chars: int = 300
    context_chars: int = 200
    text_chars: int = 200_000
    body_bytes: int = 10_000_000  # after decompression of a gzipped file


READ_LIMITS = ReadLimits()
