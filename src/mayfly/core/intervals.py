"""Recrawl intervals, and the price ω that makes them spend the budget.

Given the price, every source's interval is its own affair: (λP/μ)·g(μI) = ω. So a plan is one number, found by a
search on spend, which falls as the price rises. It also JUMPS, by a source's whole page traffic, at the price where
that source is refused: no price may spend the budget exactly, and the paper's loop, which waits for that, may never
end. Here the search first finds, by bisection over the sources in order of that price, how many can be afforded; then

- `exact_plan` gives what is left to the source at the edge, for that share of the time (no gap remains);
- `paper_plan` (Algorithm 1) solves again on the kept sources alone, where spend is continuous.

They differ in which sources they keep. The paper refuses a source when ω > p, the most one crawl can bring; but a kept
source costs λ page fetches too, so the right edge is ω > P/r(μ/λ), always lower (`curves.reserve_ratio`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mayfly.core.curves import g_inverse, reserve_ratio, rough_g_inverse
from mayfly.core.model import Beliefs, FloatArray, IntArray, PerSecond

_PRECISION = 1e-11  # relative to the budget
_MOST_STEPS = 100
_NEARLY_ALL = 1 - 1e-12  # of p: a kept source is crawled, if only after some thirty of its lifetimes
_MANY = 1 << 10  # beyond this many sources six digits will do
SMALLEST_DECAY = 1e-15  # per second: profit that never fades, as the limit of profit that hardly does


@dataclass(frozen=True, slots=True)
class Plan:
    """How a budget is spent. Rates are per second; a refused source has an infinite interval."""

    price: float  # ω: what the cheapest fetch still worth making earns
    interval: FloatArray  # I: seconds between two crawls of a source, while it is crawled
    taken: FloatArray  # share of the time a source is crawled at all: 1, 0, or between for the one at the edge
    recrawls: PerSecond  # fetches of sources
    pages: PerSecond  # fetches of the new pages they show
    quality: float  # profit per second this brings if the beliefs are true and links arrive at random

    @property
    def spend(self) -> PerSecond:
        """All fetches per second."""
        return self.recrawls + self.pages

    @property
    def mean_interval(self) -> FloatArray:
        """Seconds between two crawls on the average, resting times included."""
        with np.errstate(divide="ignore"):
            return self.interval / self.taken


def exact_plan(beliefs: Beliefs, budget: PerSecond) -> Plan:
    """The schedule of greatest quality for the budget, pages' own fetches counted.

    >>> from mayfly.core.model import beliefs
    >>> one = beliefs(np.array([0.1]), np.array([5.0]), np.array([1e-3]))
    >>> float(exact_plan(one, budget=0.3).interval[0].round(6))      # one source: 1 / (N - λ)
    5.0
    """
    rate, profit, decay = _checked(beliefs, budget)
    worth = rate * profit / decay  # what one crawl finds after an endless wait
    edge = _edges(rate, profit, decay)
    offers = _Offers(edge, worth, decay, rate)
    kept, marginal = offers.affordable(budget)
    price = float(edge[marginal[0]]) if len(marginal) else offers.price_among(len(kept), budget)
    taken = np.zeros(len(rate))
    interval = np.full(len(rate), np.inf)
    active = np.concatenate([kept, marginal])
    interval[active] = g_inverse(price / worth[active]) / decay[active]
    taken[kept] = 1.0
    if len(marginal):
        left = budget - float(np.sum(rate[kept] + 1 / interval[kept]))
        taken[marginal] = np.clip(left / float(np.sum(rate[marginal] + 1 / interval[marginal])), 0.0, 1.0)
    return plan_of(beliefs, price, taken, budget, interval)


def paper_plan(
    beliefs: Beliefs, budget: PerSecond, page_cost: bool = True, keep_edge: bool = False, poisson: bool = False
) -> Plan:
    """Algorithm 1 as printed, with an end. `page_cost=False` leaves out Σλ: all of `budget` goes to recrawls.

    `keep_edge` is another reading of its end: the source at the edge is kept too, and the budget overspent. `poisson`
    corrects p: λP/μ, as links come at random, not as by a clock.

    >>> from mayfly.core.model import beliefs
    >>> one = beliefs(np.array([0.1]), np.array([5.0]), np.array([1e-3]))
    >>> float(paper_plan(one, budget=0.3).interval[0].round(6))
    5.0
    """
    rate, profit, decay = _checked(beliefs, budget)
    with np.errstate(divide="ignore", invalid="ignore"):
        even = profit / -np.expm1(-decay / np.maximum(rate, 1e-300))
        most = np.where((rate > 0) & (profit > 0), rate * profit / decay if poisson else even, 0.0)  # p_i
    offers = _Offers(most, most, decay, rate if page_cost else np.zeros_like(rate))
    kept, marginal = offers.affordable(budget)
    if (len(kept) or not len(marginal)) and not (keep_edge and len(marginal)):
        # With the set fixed, spend is continuous: lower the price until these sources use what is left.
        price = offers.price_among(len(kept), budget)
    else:
        # Often not even the best source can be afforded with all its pages: it is crawled as seldom as the rule allows.
        kept, price = np.concatenate([kept, marginal]), float(most[marginal[0]]) * (1 - 1e-9)
    interval = np.full(len(rate), np.inf)
    interval[kept] = g_inverse(np.minimum(price / most[kept], _NEARLY_ALL)) / decay[kept]
    taken = np.zeros(len(rate))
    taken[kept] = 1.0
    return plan_of(beliefs, price, taken, budget, interval, page_cost)


def refusal_free_budget(beliefs: Beliefs) -> PerSecond:
    """The smallest budget at which the exact plan refuses no source that has anything to give (paper, section 4.1)."""
    return budget_for_sources(beliefs, 1.0)


def budget_for_sources(beliefs: Beliefs, share: float) -> PerSecond:
    """The smallest budget at which the exact plan keeps a share of the sources all of the time: of those that have
    anything to give. Sources of one price come in together.

    >>> from mayfly.core.model import beliefs
    >>> two = beliefs(np.array([0.1, 0.1]), np.array([5.0, 1.0]), np.array([1e-3, 1e-3]))
    >>> [round(budget_for_sources(two, share), 3) for share in (0.5, 1.0)]
    [0.107, 0.224]
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must be more than 0 and at most 1, got {share}")
    rate, profit, decay = _checked(beliefs, 1.0)
    return _Offers(_edges(rate, profit, decay), rate * profit / decay, decay, rate).spend_to_keep(share)


def edge_prices(beliefs: Beliefs) -> FloatArray:
    """What the first fetch spent on a source earns: above this price, P/r(μ/λ), the exact plan refuses it."""
    return _edges(*_checked(beliefs, 1.0))


def quality_of(beliefs: Beliefs, interval: FloatArray) -> FloatArray:
    """Profit per second each source brings when crawled every `interval` and all its new pages fetched."""
    rate, profit = beliefs.link_rate, beliefs.page_profit
    decay = np.maximum(beliefs.profit_decay, SMALLEST_DECAY)
    with np.errstate(invalid="ignore", over="ignore"):
        per_crawl = -np.expm1(-decay * interval) * rate * profit / decay
        return np.where(np.isinf(interval), 0.0, per_crawl / interval)


def plan_of(
    beliefs: Beliefs,
    price: float,
    taken: FloatArray,
    budget: PerSecond,
    interval: FloatArray | None = None,
    page_cost: bool = True,
) -> Plan:
    """A plan by its intervals; all it spends and brings is computed here."""
    if interval is None:
        interval = np.full(len(taken), np.inf)
    recrawls = float(np.sum(taken / interval))
    pages = float(np.sum(taken * beliefs.link_rate))
    left = budget - pages if page_cost else budget
    if 0 < left < recrawls:
        # Rounding: parts in 10⁹, and more only where floats cannot tell the price from what a source is worth at most.
        # Waiting that much longer keeps the promise never to overspend.
        interval, recrawls = interval * (recrawls / left * (1 + 1e-15)), left
    quality = float(np.sum(taken * quality_of(beliefs, interval)))
    return Plan(price, interval, taken, recrawls, pages, quality)


class _Offers:
    """Sources by the price up to which they stay, dearest first."""

    def __init__(self, edge: FloatArray, worth: FloatArray, decay: FloatArray, page_rate: FloatArray) -> None:
        order = np.argsort(-edge, kind="stable")
        self._order = order = order[: np.count_nonzero(edge > 0)]
        self._edge, self._worth, self._decay = edge[order], worth[order], decay[order]
        self._pages = np.concatenate([[0.0], np.cumsum(page_rate[order])])

    def affordable(self, budget: PerSecond) -> tuple[IntArray, IntArray]:
        """The sources that can be kept whole, and those at the edge that can be kept in part (all of one price).

        Spend, just below the price of the k-th source and with it, grows with k. The first k beyond the budget is the
        edge, unless those before it spend the budget at a price of their own.
        """
        order = self._order
        low, high = 0, int(np.searchsorted(self._pages[1:], budget, side="right"))  # spend is at least the pages
        while low < high:
            middle = (low + high) // 2
            if self._spend(middle + 1, float(self._edge[middle])) > budget:
                high = middle
            else:
                low = middle + 1
        if low == len(order):
            return order, order[:0]
        price = float(self._edge[low])
        above = int(np.searchsorted(-self._edge, -price, side="left"))
        if self._spend(above, price) > budget:
            return order[:above], order[:0]
        return order[:above], order[above : np.searchsorted(-self._edge, -price, side="right")]

    def price_among(self, kept: int, budget: PerSecond) -> float:
        """The price at which the dearest sources, this many, spend the budget among them: `inf` for none."""
        if not kept:
            return np.inf
        return _root(lambda price: self._spend(kept, price), budget, float(self._edge[kept - 1]))

    def spend_to_keep(self, share: float) -> float:
        """What is spent when a share of the sources is whole, at the price of the last of them."""
        if not len(self._order):
            return 0.0
        last = max(math.ceil(share * len(self._order) - 1e-9), 1) - 1
        price = float(self._edge[last])
        return self._spend(int(np.searchsorted(-self._edge, -price, side="right")), price)

    def _spend(self, kept: int, price: float) -> float:
        inverse = g_inverse if kept <= _MANY else rough_g_inverse
        crawls = self._decay[:kept] / inverse(np.minimum(price / self._worth[:kept], 1.0))
        return float(np.sum(crawls) + self._pages[kept])


def _root(spend: Callable[[float], float], budget: float, high: float) -> float:
    """The price below `high` at which a continuous, falling spend meets the budget, from the affordable side.

    Spend is close to a power of the price, so false position on logarithms (with the Illinois rule) needs few steps.
    """
    under = np.log(max(spend(high), 1e-300) / budget)
    if under >= 0:
        return high
    x_high = np.log(high)
    x_low, over, step = x_high, under, 1.0
    while over <= 0 and step < 2048:
        x_high, under = x_low, over
        x_low -= step
        step *= 2
        over = np.log(spend(float(np.exp(x_low))) / budget)
    side = 0
    for _ in range(_MOST_STEPS):
        if under >= -_PRECISION or x_high - x_low < 1e-15 * abs(x_high):
            break
        x = x_low + (x_high - x_low) * (over / (over - under))
        value = np.log(max(spend(float(np.exp(x))), 1e-300) / budget)
        if value > 0:
            x_low, over, under, side = x, value, under / (2 if side > 0 else 1), 1
        else:
            x_high, under, over, side = x, value, over / (2 if side < 0 else 1), -1
    return float(np.exp(x_high))


def _edges(rate: FloatArray, profit: FloatArray, decay: FloatArray) -> FloatArray:
    return profit / reserve_ratio(np.divide(decay, rate, out=np.full_like(rate, np.inf), where=rate > 0))


def _checked(beliefs: Beliefs, budget: PerSecond) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three columns, refused if any number in them is not a finite, non-negative one."""
    if not (np.isfinite(budget) and budget > 0):
        raise ValueError(f"budget must be a positive number of fetches per second, got {budget}")
    for name in "link_rate", "page_profit", "profit_decay":
        column = getattr(beliefs, name)
        wrong = ~(np.isfinite(column) & (column >= 0))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(f"{name} must be finite and not negative, got {column[at]} for source {at}")
    return beliefs.link_rate, beliefs.page_profit, np.maximum(beliefs.profit_decay, SMALLEST_DECAY)
