"""`index`, the default: one queue of sources and pages, always what earns most for one fetch.

A page is worth what it will still earn, P·e^(-μ·age). A source is worth its Whittle index: what a crawl would find now,
less what waiting would have found anyway, (λP/μ)·g(μτ), but never more than the price P/r(μ/λ) above which its pages
are not worth their own fetches. When the rate of new links follows the hour of the week, time since the last crawl says
too little; the stock of undiscovered value U does, with the rate ahead λ̃: q = μU/(λ̃P), (λ̃P/μ)·(q + (1-q)·ln(1-q)).

The price ω follows the keys at which sources are crawled. Pages worth less than it wait for the cheap hours, and are
dropped when they would not even have been fetched at the cheapest hour of the day.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from mayfly.core.curves import above, reserve_ratio
from mayfly.core.events import SourceCrawled
from mayfly.core.frontier import PageOrder
from mayfly.core.intervals import exact_plan
from mayfly.core.model import DAY, Beliefs, FloatArray, Moments, PerSecond, Seconds
from mayfly.core.policies.turns import Turn


class Index:
    """Capped source index against page value."""

    page_order: PageOrder = "worth"
    pages_first = False
    seed_rounds = 1  # a first look at every source; what it is worth then, it says itself
    probe = 0.02
    fits_profit = True
    uses_beliefs = True

    def __init__(
        self,
        cap: bool = True,
        memory: int = 50,
        hopeless: float = 0.1,
        hopeful: float = 0.25,
        selective: bool = True,
        loss: bool = True,
    ) -> None:
        self._cap = cap
        self._loss = loss  # links leave their sources before they are seen
        self._selective = selective  # crawls are valued by the pages that will be fetched, not by the mean page
        self._memory = memory  # crawls over which the price is averaged
        self._hopeless = hopeless
        self._hopeful = hopeful
        self.price: float | None = None
        self._prices: deque[tuple[Seconds, float]] = deque()
        self._ahead: FloatArray = np.zeros(0)  # λ̃
        self._profit: FloatArray = np.zeros(0)
        self._decay: FloatArray = np.zeros(0)
        self._full: FloatArray = np.zeros(0)  # stock at which as much fades as comes
        self._most: FloatArray = np.zeros(0)
        self._stock: FloatArray = np.zeros(0)  # undiscovered pages, each by what is left of its worth, at `_stock_at`
        self._stock_at: Seconds = 0.0

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        if self.price is None:
            first = exact_plan(beliefs, budget).price
            self.price = first if np.isfinite(first) else None  # none yet in a world without sources
        if len(self._ahead) == len(seen):
            self._stock, self._stock_at = self._stock_now(seen, now), now
        else:  # sources were added: hold that links came at the same rate since the last crawls
            self._stock, self._stock_at = np.zeros_like(seen), -np.inf
        self._ahead = beliefs.link_rate * beliefs.rhythm
        self._profit = beliefs.found_profit
        self._decay = beliefs.profit_decay + beliefs.link_loss if self._loss else beliefs.profit_decay
        self._full = self._ahead / self._decay
        fetched = np.ones_like(seen)
        if self._selective and self.price is not None:
            fetched, kept = above(self.price, self._profit, beliefs.value_spread)
            self._profit = self._profit * kept
        self._most = (
            self._profit / fetched / reserve_ratio(beliefs.profit_decay / (self._ahead * fetched))
            if self._cap
            else np.full(len(seen), np.inf)
        )
        if self.price is not None:
            self._prices.append((now, self.price))
        while self._prices and self._prices[0][0] < now - DAY:
            self._prices.popleft()

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        stock = self._stock_now(seen, now)
        share = stock / self._full  # q
        rest = np.maximum(1 - share, 1e-12)
        worth = np.where(share < 1, self._full * (share + rest * np.log(rest)), stock)
        return np.minimum(worth * self._profit, self._most)

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        if page is None:
            return Turn.SOURCE
        return Turn.PAGE if source is None or page >= source else Turn.SOURCE

    def crawled(self, key: float) -> None:
        self.price = key if self.price is None else self.price + (key - self.price) / self._memory

    def saw(self, crawl: SourceCrawled, links: int) -> None:
        """All that is known comes with the beliefs."""

    def stepped(self, by: Seconds) -> None:
        self._stock_at += by
        self._prices = deque((at + by, price) for at, price in self._prices)

    def limits(self, now: Seconds) -> tuple[float, float]:
        if self.price is None or not self._prices:
            return -np.inf, -np.inf
        lowest = min(price for _, price in self._prices)
        whole_day = now - self._prices[0][0] > 0.9 * DAY
        return self._hopeless * lowest if whole_day else -np.inf, self._hopeful * self.price

    def _stock_now(self, seen: FloatArray, now: Moments) -> FloatArray:
        """Undiscovered value in pages: what was there at the last plan and is left, and what came since."""
        since = np.maximum(seen, self._stock_at)
        faded = np.exp(-self._decay * (now - since))
        old = np.where(seen < self._stock_at, self._stock, 0.0)
        return old * faded + self._full * (1 - faded)
