"""Everything that can happen to a crawler, one small value each. `Scheduler.observe` takes them, and nothing else
changes what is known. Times come with the event: nobody below the drivers asks a clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from mayfly.core.model import BoolArray, Evidence, Fetch, FloatArray, IntArray, PageId, Seconds, SourceId


class SourcesAdded(NamedTuple):
    """Sources to crawl from now on. They are numbered 0, 1, 2, … in the order they are told."""

    at: Seconds
    hosts: Sequence[str]  # rhythm and decay are learned by host
    sites: Sequence[str]  # the politeness keys
    kinds: Sequence[str] = ()  # front, category, feed, …; none: not said
    ids: Sequence[int] = ()  # what is learned of them is known by these, in another run, too; none: by their numbers


class NewPage(NamedTuple):
    """A link to a page no source had shown before."""

    page: PageId
    site: str | None = None  # where it will be fetched; None: the site of the source
    published: Seconds | None = None  # None: not said; the middle of the gap since the last crawl is taken
    rank: float | None = None  # place of the link on the source, 1 = top; None: not said
    url: str = ""
    title: str = ""  # the text of its link
    context: str = ""  # the text around that


class SourceCrawled(NamedTuple):
    """A source was fetched and read. Only what was not on it at its last crawl is told, in page order."""

    at: Seconds
    source: SourceId
    new_pages: Sequence[NewPage] = ()
    known_pages: Sequence[PageId] = ()  # new here, but shown by another source before
    stayed: int = 0  # links of the last crawl that are still there
    gone: int = 0  # links of the last crawl that are not
    dated: int = 0  # of a first crawl: entries that appeared since `dated_since`, by the dates they carry
    dated_since: Seconds | None = None
    known_ranks: Sequence[float | None] = ()  # of the links to `known_pages`; none: not said


class SourcesRetired(NamedTuple):
    """Sources that are not to be crawled any more; or again, if not `retired`."""

    at: Seconds
    sources: Sequence[SourceId]
    retired: bool = True


class SourcesPinned(NamedTuple):
    """Sources to be crawled at least every so often, whatever they are worth (`inf`: as the policy says)."""

    at: Seconds
    sources: Sequence[SourceId]
    every: Seconds


class PagesHanded(NamedTuple):
    """Pages of a source that another crawler found, for us to fetch or to learn from. It is no look at the source."""

    at: Seconds
    source: SourceId
    pages: Sequence[NewPage]


class SourceHinted(NamedTuple):
    """Someone says that a source changed (`hints.py`), and may name what is new."""

    at: Seconds
    source: SourceId
    pages: Sequence[NewPage] = ()
    calls: bool = True  # whoever says so calls whenever there is something; False: we read it somewhere


class SitePaced(NamedTuple):
    """A site wants another pause between two requests than the others; or to be left alone for now."""

    at: Seconds
    site: str
    delay: Seconds | None = None  # None: as it was
    rests_until: Seconds | None = None


class PageFetched(NamedTuple):
    """A page was fetched and kept."""

    at: Seconds
    page: PageId


class PageRejected(NamedTuple):
    """A page was fetched, and was not what its link promised: old, a copy, an error page. It counts for nothing."""

    at: Seconds
    page: PageId


class FetchFailed(NamedTuple):
    """A fetch brought nothing. `retry_at` says when it may be tried again; a page without one is given up."""

    at: Seconds
    fetch: Fetch
    retry_at: Seconds | None = None


class ClicksCounted(NamedTuple):
    """A push of the click log: all clicks before `at` that were not told yet. Parallel columns."""

    at: Seconds
    page: IntArray
    clicked_at: FloatArray
    number: FloatArray
    timed: BoolArray | None = None  # False: of a day or so, of which only the middle is known; None: all are timed


class TrendsTold(NamedTuple):
    """What people ask for now: terms and how often. All that was told before is over."""

    at: Seconds
    terms: Mapping[str, float]


class OthersTold(NamedTuple):
    """What crawlers of other sources know of theirs, all together. All that was told before is over."""

    at: Seconds
    evidence: Evidence


class ClockStepped(NamedTuple):
    """The clock was set, or the machine slept: `by` so many seconds there is nothing to be learned from."""

    at: Seconds  # after the step
    by: Seconds


Event: TypeAlias = (
    SourcesAdded
    | SourcesRetired
    | SourcesPinned
    | PagesHanded
    | SourceHinted
    | SourceCrawled
    | SitePaced
    | PageFetched
    | PageRejected
    | FetchFailed
    | ClicksCounted
    | TrendsTold
    | OthersTold
    | ClockStepped
)
