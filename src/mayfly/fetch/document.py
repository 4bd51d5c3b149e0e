"""What was read from a body: plain values, the same for pages, feeds and sitemaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

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
    links: tuple[Link, ...] = ()
    entries: int = 0  # of a feed or sitemap; those without a usable address are no links
    feeds: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    hubs: tuple[str, ...] = ()  # WebSub
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
