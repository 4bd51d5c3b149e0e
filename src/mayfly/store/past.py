"""What happened, as a new scheduler is told it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.store.records import Clicks, Outcome


class PastPage(NamedTuple):
    """A page that was new, as its link showed it."""

    page: PageId
    site: str
    published: Seconds | None
    rank: int
    url: str
    anchor: str
    context: str


class PastCrawl(NamedTuple):
    at: Seconds
    source: SourceId
    new: Sequence[PastPage]
    known: Sequence[PageId]
    stayed: int
    gone: int
    first: bool
    dated: int = 0
    dated_since: Seconds | None = None
    known_ranks: Sequence[int] = ()


class PastHint(NamedTuple):
    at: Seconds
    source: SourceId
    new: Sequence[PastPage]
    calls: bool


class PastHanded(NamedTuple):
    """Pages of a source that another crawler found."""

    at: Seconds
    source: SourceId
    new: Sequence[PastPage]


class PastFetch(NamedTuple):
    at: Seconds
    page: PageId
    outcome: Outcome
    was_read: bool = True  # else there was no answer, or it was not even asked for


class ClockStep(NamedTuple):
    """The wall clock was set, or the machine slept."""

    at: Seconds  # after the step
    by: Seconds


class PastClicks(NamedTuple):
    at: Seconds  # when they were told
    clicks: Clicks


Past: TypeAlias = PastCrawl | PastHint | PastHanded | PastFetch | ClockStep | PastClicks
