"""Rules of the literature for the same estimates: what a source is worth, where its pages cost nothing.

All three allot crawls to sources, and know no second kind of fetch. Here found pages are fetched before the next
source, first in first out; rates are those of half of the budget, and the source most behind its own goes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mayfly.core.curves import g
from mayfly.core.frontier import PageOrder
from mayfly.core.intervals import paper_plan
from mayfly.core.model import Beliefs, FloatArray, Moments, PerSecond, Seconds
from mayfly.core.policies.baselines import lag, on_schedule
from mayfly.core.policies.turns import PaperPolicy, Turn, pages_first

_LEAST = 1e-300


class _Crawls(PaperPolicy):
    """Keys of sources are 1 when they are due, where that matters."""

    seed_rounds = 1  # as `index`

    def __init__(self, sources_first: bool = False, page_order: PageOrder = "oldest", quota: float = 0.5) -> None:
        """`sources_first`: what is due goes before pages. `quota`: share of the budget that is planned for crawls."""
        self.pages_first = not sources_first
        self.page_order = page_order
        self._quota = quota

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        return pages_first(page) if self.pages_first else on_schedule(page, source)


class LambdaCrawl(_Crawls):
    """Kolobov, Peres, Lu, Horvitz (NeurIPS 2019): least harmonic staleness, weighted by importance.

    With change rate Δ and importance w the best crawl rate is ρ = (√(Δ² + 4wΔ/ω) - Δ)/2, at the price ω that spends the
    budget. A change is a new link, and what is at stake when one is missed is its page: w = P.
    """

    def __init__(self, by_source: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self._by_source = by_source  # w = λP: what all its new pages earn
        self._per_second: FloatArray = np.zeros(0)

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        change, profit = beliefs.link_rate, beliefs.found_profit
        self._per_second = crawl_rates(change, profit * change if self._by_source else profit, self._quota * budget)

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        return lag(self._per_second, seen, now)


class Whittle(_Crawls):
    """Avrachenkov and Borkar (CDC 2015, TCNS 2018): the Whittle index of a source of ephemeral content.

    Theirs counts steps: u·((1-αⁿ)/(1-α) - n·αⁿ) for what comes in a step and the part that stays. In continuous time it
    is (λP/μ)·g(μτ), as in `index` but for its cap: found pages cost them nothing.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._most: FloatArray = np.zeros(0)
        self._decay: FloatArray = np.zeros(0)

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        self._decay = beliefs.profit_decay
        self._most = beliefs.link_rate * beliefs.found_profit / self._decay
        if not self.pages_first:  # else only the order matters, and no price is needed
            found = beliefs._replace(page_profit=beliefs.found_profit)
            price = paper_plan(found, self._quota * budget, page_cost=False, poisson=True).price
            self._most = self._most / (price if np.isfinite(price) else 1.0)

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        return self._most * g(self._decay * (now - seen))


class SiaCho(_Crawls):
    """Sia, Cho, Cho (TKDE 2007): least delay of new postings, each by its worth, where they follow the hours of a day.

    Crawls are allotted by the square root of worth times rate, √(λP). Within the day their times obey
    λ(t)·(next - t) = postings since the last crawl: a source is due when it holds as many as will come before the next.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._ahead: FloatArray = np.zeros(0)  # postings per second now
        self._weight: FloatArray = np.zeros(0)
        self._posted: FloatArray = np.zeros(0)  # since the last crawl, at `_posted_at`
        self._posted_at: Seconds = -np.inf

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        if len(self._ahead) == len(seen):
            self._posted, self._posted_at = self._postings(seen, now), now
        else:  # sources were added: hold that postings came at an even rate since the last crawls
            self._posted, self._posted_at = np.zeros_like(seen), -np.inf
        self._ahead = np.maximum(beliefs.link_rate * beliefs.rhythm, _LEAST)
        root = np.sqrt(beliefs.link_rate * beliefs.found_profit)
        per_second = self._quota * budget * root / max(float(root.sum()), _LEAST)
        # The next gap, by the square-root law at the rate ahead, is the interval by √rhythm.
        self._weight = per_second * np.sqrt(beliefs.rhythm) / self._ahead

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        return self._postings(seen, now) * self._weight

    def stepped(self, by: Seconds) -> None:
        self._posted_at += by

    def _postings(self, seen: FloatArray, now: Moments) -> FloatArray:
        old = np.where(seen < self._posted_at, self._posted, 0.0)
        return old + self._ahead * (now - np.maximum(seen, self._posted_at))


def crawl_rates(change: FloatArray, importance: FloatArray, budget: PerSecond) -> FloatArray:
    """LambdaCrawl's rates for sources whose changes are seen only by crawling (its Algorithm 1), by bisection on ω.

    >>> float(crawl_rates(np.array([1.0, 1.0]), np.array([3.0, 3.0]), budget=4.0)[0].round(9))
    2.0
    """

    def rates(log_price: float) -> FloatArray:
        root: FloatArray = np.sqrt(change**2 + 4 * importance * change * np.exp(-log_price))
        return (root - change) / 2

    low, high = -200.0, 200.0  # spend falls with the price
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if rates(middle).sum() > budget else (low, middle)
    return rates(high)
