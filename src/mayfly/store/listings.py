"""What whoever watches a crawl asks a store for: parts of long lists, and columns to draw from."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from mayfly.core.model import Beliefs, FloatArray, IntArray, Seconds, SourceId, beliefs
from mayfly.store.records import Source, SourceState

SourceOrder: TypeAlias = Literal[
    "url", "rate", "profit", "decay", "interval", "yield", "due", "worth", "failures", "state"
]
HostOrder: TypeAlias = Literal["host", "sources", "failing", "failed", "new", "crawled", "rest"]


class Listing(NamedTuple):
    """Which part of a list. What has no value comes last in any order."""

    order: str  # one of the above
    descending: bool = True
    words: str = ""  # all of them stand in the address
    state: SourceState | None = None
    host: str | None = None
    site: str | None = None
    first: int = 50
    skip: int = 0


class SourcesListed(NamedTuple):
    rows: list[Source]
    yields: dict[SourceId, int]  # new pages at the last crawl, of these rows
    total: int  # there are, of all parts


class HostRow(NamedTuple):
    """A host, and how its sources do."""

    host: str
    site: str
    sources: int
    active: int
    failing: int  # of the active
    failures: int  # in a row, of the worst
    failure: str  # its reason
    new_links: int
    last_crawl: Seconds | None
    last_new: Seconds | None
    searched: Seconds | None  # when its sources were looked for
    search_failure: str  # why that found nothing
    rests_until: Seconds | None  # it is left alone, or was
    rest_reason: str


class HostsListed(NamedTuple):
    rows: list[HostRow]
    total: int


class HostYield(NamedTuple):
    """What was found of a host since a moment."""

    host: str
    new: int  # pages
    dull: int  # that were shown as new: old, twice there, none
    clicks: float  # on its pages
    since: Seconds  # when we could begin to find any
    watched: bool  # has an active source


class Believed(NamedTuple):
    """Columns of the active sources of which something is believed."""

    source: IntArray
    link_rate: FloatArray
    page_profit: FloatArray
    profit_decay: FloatArray
    host: list[str]

    def beliefs(self) -> Beliefs:
        """As a plan takes them."""
        return beliefs(self.link_rate, self.page_profit, self.profit_decay)


class VisitOfSource(NamedTuple):
    """A crawl of a source, or a failure."""

    at: Seconds
    status: int | None
    seconds: Seconds | None
    wire_bytes: int | None
    failure: str  # its reason; empty: it went well
    note: str
    new: int  # pages no source had shown
    added: int  # links that were not there before, those among them
    gone: int


class PageColumns(NamedTuple):
    """Pages that were kept, in the order they landed."""

    landed: int  # the cursor to go on with
    page: IntArray
    source: IntArray
    published: FloatArray
    found: FloatArray
    fetched: FloatArray


class Beat(NamedTuple):
    """What happened in some seconds."""

    at: Seconds  # where they begin
    crawls: int
    pages: int
    failures: int


class Counted(NamedTuple):
    """What happened behind a cursor."""

    seq: int  # the next cursor
    crawls: int
    pages: int  # settled
    failures: int  # of sources
