"""Policies to compare with: they know the sources' rates at most, not what pages are worth (paper, section 5.2)."""

from __future__ import annotations

import numpy as np

from mayfly.core.frontier import PageOrder
from mayfly.core.intervals import paper_plan
from mayfly.core.model import DAY, HOUR, Beliefs, FloatArray, Moments, PerSecond, Seconds
from mayfly.core.policies.turns import PaperPolicy, Turn, pages_first


class Bfs(PaperPolicy):
    """Sources one after another in a fixed random order; after each, all new pages it links."""

    uses_beliefs = False
    pages_first = True
    seed_rounds = 0  # all its rounds are alike

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        """There is none."""

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        # The one crawled longest ago is the next in the order, for the order is kept from the first round on.
        return now - seen

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        return pages_first(page)


class FixedQuota(PaperPolicy):
    """Half of the fetches recrawl, at intervals that are best for that half; the other half fetches the newest page."""

    def __init__(self, quota: float = 0.5) -> None:
        self._quota = quota
        self._per_second: FloatArray = np.zeros(0)

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        self._per_second = 1 / paper_plan(beliefs, self._quota * budget, page_cost=False).interval

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        return lag(self._per_second, seen, now)

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        if page is None or source is None:
            return Turn.SOURCE if page is None else Turn.PAGE
        # Odd slots are the sources' at a quota of one half; at another, the same evenly spread share.
        odd = int((count + 1) * self._quota + 0.5) > int(count * self._quota + 0.5)
        return Turn.SOURCE if odd else Turn.PAGE


class Frequency(PaperPolicy):
    """ECHO-schedule without clicks: every page is worth the same and fades alike, only rates differ."""

    fits_profit = False

    def __init__(self, keep_edge: bool = True) -> None:
        self._keep_edge = keep_edge
        self._per_second: FloatArray = np.zeros(0)

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        same = beliefs._replace(page_profit=np.ones_like(seen), profit_decay=np.full_like(seen, 1 / DAY))
        self._per_second = 1 / paper_plan(same, budget, keep_edge=self._keep_edge).interval

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        return lag(self._per_second, seen, now)

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        return on_schedule(page, source)


class FixedInterval(PaperPolicy):
    """What most crawlers do: every source once an hour, a page when it is found; the longest due first."""

    page_order: PageOrder = "oldest"
    uses_beliefs = False
    seed_rounds = 0  # a source never crawled is the longest due

    def __init__(self, interval: Seconds = HOUR) -> None:
        self._interval = interval

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        """There is none."""

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        return now - (seen + self._interval)

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        late = -1.0 if source is None else source
        if page is not None and page >= late:
            return Turn.PAGE
        return Turn.SOURCE if late >= 0 else Turn.NOBODY


def lag(per_second: FloatArray, seen: FloatArray, now: Moments) -> FloatArray:
    """How far each source is behind its schedule: I'/I, the time waited by the interval; never where I is infinite."""
    return np.where(per_second > 0, (now - seen) * per_second, -np.inf)


def on_schedule(page: float | None, source: float | None) -> Turn:
    """A source that is due, else a page, else the source nearest to being due: every step fetches one or the other."""
    if source is not None and source >= 1:
        return Turn.SOURCE
    return pages_first(page)
