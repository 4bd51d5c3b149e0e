"""What goes into a store and comes out of it: plain values, the same for every kind of database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from mayfly.core.model import BoolArray, FloatArray, IntArray, PageId, PerSecond, Seconds, SourceId
from mayfly.store.hints import NamedHub

SourceKind: TypeAlias = Literal["front", "category", "feed", "sitemap", "other"]
SourceState: TypeAlias = Literal["active", "blocked", "retired"]
Outcome: TypeAlias = Literal["waiting", "fetched", "old", "duplicate", "soft-404", "log-in", "failed", "dropped"]
ClickKind: TypeAlias = Literal["click", "show"]


# Sources


class NewSource(NamedTuple):
    """A source to watch from now on."""

    url: str  # canonical
    kind: SourceKind
    found_on: str = ""  # the page, feed list or robots.txt that named it; empty: a person did
    pinned: Seconds | None = None


class Memory(NamedTuple):
    """What to ask a source with, and what it answered last (`fetch.validators`)."""

    etag: str = ""
    last_modified: str = ""
    body_hash: int | None = None
    unmodified: int = 0
    lie: bool = False


class Estimate(NamedTuple):
    """What is believed of a source and planned for it, as of the last plan."""

    source: SourceId
    link_rate: float  # λ, per second
    page_profit: float  # P
    profit_decay: float  # μ, per second
    interval: Seconds | None  # None: not worth a crawl at the present price
    worth: float  # what a crawl would be worth now
    next_due: Seconds | None
    note: str = ""  # "site-limited", "pinned", "dropped", …


@dataclass(frozen=True, slots=True)
class Source:
    """A source as it is kept."""

    id: SourceId
    url: str
    host: str
    site: str
    kind: SourceKind
    state: SourceState
    reason: str  # why it is blocked or retired, or demoted while active
    pinned: Seconds | None  # crawl it at least so often, whatever it is worth
    found_at: Seconds
    found_on: str
    crawls: int
    last_crawl: Seconds | None
    last_new: Seconds | None  # when a crawl last showed a new page
    shown: int  # links at the last crawl
    failures: int  # in a row
    failure: str  # the last one's reason; empty after a success
    unchanged: int  # crawls in a row that brought no other body
    new_links: int  # so far
    good_pages: int  # of the pages it was first to show: fetched and kept
    dull_pages: int  # the same: old, duplicate, soft-404, log-in
    memory: Memory
    estimate: Estimate | None
    revision: int  # grows with every edit by a person
    retry_at: Seconds | None = None  # after a failure: not before then
    hub: str = ""  # that a feed names (WebSub),
    topic: str = ""  # and the address the hub knows it by


# What a crawl of a source brought


class ShownLink(msgspec.Struct, frozen=True, gc=False):  # made for every link of every crawl
    """A link that may lead to a page, as a source showed it."""

    url: str  # canonical
    site: str
    anchor: str = ""
    rank: int = 0
    context: str = ""
    published: Seconds | None = None
    published_from: str = ""  # feed, sitemap; empty: not said
    wanted: bool = True  # False: it was there before we looked, so it is remembered but not fetched
    key: str = ""  # `urls.same_page` of it, from who has asked already


@dataclass(frozen=True, slots=True)
class Crawled:
    """A source was fetched and read. `links` is all it shows now; None: the same as last time."""

    source: SourceId
    at: Seconds  # the end of the request
    status: int
    seconds: Seconds
    wire_bytes: int
    memory: Memory
    links: Sequence[ShownLink] | None
    note: str = ""  # "nothing-read" where a body shows no link at all, …
    first: bool = False  # the baseline: nothing it shows tells of its rate,
    dated: int = 0  # but that so many entries carry dates
    dated_since: Seconds | None = None  # from here on
    hub: NamedHub | None = None  # None: it names the same as before, or was not read


MOST_LEADS = 5  # from shard to shard, or from site to site, by redirects: each may lead on to one nobody has seen


@dataclass(frozen=True, slots=True)
class Hinted:
    """Someone says that a source changed; `links` are pages of it that are said to be new."""

    source: SourceId
    at: Seconds
    links: Sequence[ShownLink] = ()
    calls: bool = True  # False: nobody called, we read it somewhere
    leads: int = 0  # redirects from shard to shard that led to the pages


class NewOnSource(NamedTuple):
    """A page this crawl was the first to show."""

    page: PageId
    link: ShownLink


class LandedCrawl(NamedTuple):
    """What a crawl changed, now that it is kept."""

    new: Sequence[NewOnSource]
    known: Sequence[PageId]  # new on this source, shown by another before
    stayed: int  # links of the last crawl that are still there
    gone: int
    known_ranks: Sequence[int] = ()  # of the known pages on this source; 0: not said


# What a fetch of a page brought


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page was fetched. `outcome` is what it turned out to be; the store makes it `duplicate` if it has that body."""

    page: PageId
    at: Seconds
    outcome: Outcome
    status: int
    seconds: Seconds
    wire_bytes: int
    final_url: str
    canonical: str = ""
    title: str = ""
    language: str = ""
    published: Seconds | None = None
    published_from: str = ""
    body_hash: int | None = None
    text: str = ""
    reason: str = ""
    warc: str = ""  # "file:offset"
    linked: Mapping[str, Sequence[str]] = field(default_factory=dict)  # other hosts it links, and articles there


class LandedFetch(NamedTuple):
    """What became of a page."""

    outcome: Outcome
    duplicate_of: PageId | None = None


class Rest(NamedTuple):
    """A site is left alone for a while."""

    site: str
    until: Seconds


@dataclass(frozen=True, slots=True)
class FetchFailure:
    """A fetch brought nothing."""

    kind: Literal["source", "page"]
    id: int
    at: Seconds
    reason: str
    detail: str = ""
    status: int | None = None
    retry_at: Seconds | None = None  # None: a page is given up
    rest: Rest | None = None  # where the failure is the site's


Happened: TypeAlias = Crawled | Hinted | Fetched | FetchFailure
Landed: TypeAlias = LandedCrawl | LandedFetch | None


# Pages


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it is kept."""

    id: PageId
    url: str
    host: str
    site: str
    source: SourceId  # the first to show it
    source_url: str
    anchor: str
    context: str
    rank: int
    found_at: Seconds
    published: Seconds | None
    published_from: str  # feed, sitemap, json-ld, meta, time, url, gap (the middle of it)
    fetched_at: Seconds | None
    delay: Seconds | None  # published → fetched
    outcome: Outcome
    reason: str
    status: int | None
    final_url: str
    canonical: str
    title: str
    language: str
    text: str
    body_hash: int | None
    duplicate_of: PageId | None
    warc: str
    landed: int | None  # grows by one with each page that was settled: the cursor of `pages(after)`


class WaitingPage(NamedTuple):
    """A page that was found and not yet fetched, or is remembered for its clicks."""

    page: PageId
    url: str
    site: str
    sources: Sequence[SourceId]  # in the order they showed it
    published: Seconds | None
    found_at: Seconds
    fetched_at: Seconds | None
    rank: int
    retry_at: Seconds | None
    tries: int = 0  # that failed


# What happened, in order, to rebuild what is known


class Clicks(NamedTuple):
    """Clicks and shows by page and time. Parallel columns."""

    page: IntArray
    at: FloatArray  # the middle of the bin
    number: FloatArray
    width: FloatArray  # of the bin
    show: BoolArray  # a show, and no click
    position: IntArray  # 1: at the top; 0: not known


class ClickRow(NamedTuple):
    """Of a click log."""

    url: str  # canonical
    at: Seconds
    number: float = 1.0
    kind: ClickKind = "click"
    position: int = 0  # 0: not known
    span: Seconds | None = None  # it is of so long a time from `at` on, as a day; None: of a moment


class ClicksTaken(NamedTuple):
    """What became of rows of a click log."""

    known: int
    unknown: int  # kept for a while, in case the page is found


class LinkSpan(NamedTuple):
    """A link as it stood on a source, for a trace."""

    source: SourceId
    page: PageId
    added: Seconds
    removed: Seconds | None
    rank: int


# Hosts and candidates


class Host(NamedTuple):
    """A host we were asked to watch."""

    host: str
    added_at: Seconds
    found_at: Seconds | None  # when its sources were last looked for
    failure: str  # why that found nothing


class Candidate(NamedTuple):
    """A link on a front page that may become a source, if it is still there in some days."""

    url: str
    first_seen: Seconds
    last_seen: Seconds


class Suggestion(NamedTuple):
    """A host fetched pages link to, that we do not watch."""

    host: str
    fresh: float  # articles of it a week that no page had linked before, lately
    pages: int  # that link it
    sources: int  # whose pages do
    last_seen: Seconds


class KeptRobots(NamedTuple):
    """A robots.txt, as fetched."""

    origin: str
    body: bytes | None  # None: all is allowed (4xx)
    fetched_at: Seconds


class Minute(NamedTuple):
    """Requests of one minute."""

    at: Seconds  # its beginning
    crawls: int
    pages: int
    others: int  # robots.txt, redirects, the finder
    failures: int
    found: int
    price: float | None
    budget: PerSecond | None = None  # in force then


class Complaint(NamedTuple):
    """Something that is wrong with a home."""

    what: str
    where: str
    advice: str


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what is kept."""

    history: Seconds = 30 * 86400.0  # crawls, links that are gone, clicks, minutes
    text: Seconds = 365 * 86400.0  # main texts; titles and all else of a page stay
    pages: Seconds = 730 * 86400.0  # pages themselves
    seen: Seconds = 180 * 86400.0  # addresses no source has shown for so long
    clicks_unknown: Seconds = 7 * 86400.0  # of pages never found
    batches: Seconds = 7 * 86400.0  # ids of batches of clicks
    hints: Seconds = 7 * 86400.0
