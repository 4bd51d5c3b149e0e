"""The paper's own policies (sections 4.2.3 and 5.2)."""

from __future__ import annotations

import numpy as np

from mayfly.core.intervals import exact_plan, paper_plan
from mayfly.core.model import Beliefs, FloatArray, Moments, PerSecond, Seconds
from mayfly.core.policies.baselines import lag, on_schedule
from mayfly.core.policies.turns import PaperPolicy, Turn, pages_first


class EchoNewpages(PaperPolicy):
    """Pages as soon as they are found; with none left, the source most behind the schedule."""

    pages_first = True

    def __init__(self, keep_edge: bool = True, poisson: bool = False, exact: bool = False) -> None:
        self._keep_edge = keep_edge
        self._poisson = poisson  # p = λP/μ
        self._exact = exact  # the sources that should be kept, not those Algorithm 1 keeps
        self._per_second: FloatArray = np.zeros(0)

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        if self._exact:
            plan = exact_plan(beliefs, budget)
        else:
            plan = paper_plan(beliefs, budget, keep_edge=self._keep_edge, poisson=self._poisson)
        self._per_second, self.price = 1 / plan.mean_interval, plan.price

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        return lag(self._per_second, seen, now)

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        return pages_first(page)


class EchoSchedule(EchoNewpages):
    """Sources at their intervals; pages, the newest first, with what is left."""

    pages_first = False

    def __init__(self, keep_edge: bool = True, idle: bool = False) -> None:
        super().__init__(keep_edge)
        self._idle = idle  # leave a slot unused rather than crawl before the time

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        turn = on_schedule(page, source)
        early = turn is Turn.SOURCE and (source is None or source < 1)
        return Turn.NOBODY if self._idle and early else turn


class EchoGreedy(PaperPolicy):
    """The source with the highest expected profit λ·P·I', then all its new pages."""

    fits_profit = False
    pages_first = True

    def __init__(self) -> None:
        self._per_second: FloatArray = np.zeros(0)

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        self._per_second = beliefs.link_rate * beliefs.page_profit

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        return (now - seen) * self._per_second

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        return pages_first(page)
