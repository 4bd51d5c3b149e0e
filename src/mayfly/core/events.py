"""Everything that can happen to a crawler, one small value each. `Scheduler.observe` takes them, and nothing else
changes what is known. Times come with the event: nobody below the drivers asks a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from mayfly.core.model import Fetch, FloatArray, IntArray, PageId, Seconds, SourceId


class SourcesAdded(NamedTuple):
    """Sources to crawl from now on. They are numbered 0, 1, 2, … in the order they are told."""

    at: Seconds
    hosts: Sequence[str]  # rhythm and decay are learned by host
    sites: Sequence[str]  # the politeness keys


class NewPage(NamedTuple):
    """A link to a page no source had shown before."""

    page: PageId
    site: str | None = None  # where it will be fetched; None: the site of the source
    published: Seconds | None = None  # None: not said; the middle of the gap since the last crawl is taken
    rank: float | None = None  # place of the link on the source, 1 = top; None: not said


class SourceCrawled(NamedTuple):
    """A source was fetched and read. Only what was not on it at its last crawl is told, in page order."""

    at: Seconds
    source: SourceId
    new_pages: Sequence[NewPage] = ()
    known_pages: Sequence[PageId] = ()  # new here, but shown by another source before
    stayed: int = 0  # links of the last crawl that are still there
    gone: int = 0  # links of the last crawl that are not


class PageFetched(NamedTuple):
    """A page was fetched and kept."""

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


Event: TypeAlias = SourcesAdded | SourceCrawled | PageFetched | FetchFailed | ClicksCounted
