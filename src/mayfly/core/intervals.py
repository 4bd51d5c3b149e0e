"""Recrawl intervals, and the price ω that makes them spend the budget.

Given the price, every source's interval is its own affair: (λP/μ)·g(μI) = ω. So a plan is one number, found by a
search on `spend(price)`, which falls as the price rises. It also JUMPS, by a source's whole page traffic, at the price
where that source is refused: no price may spend the budget exactly, and the paper's loop, which waits for that, may
never end. Here the search ends when its bracket is narrow, keeps the affordable side, and then

- `exact_plan` gives what is left to the source at the edge, for that share of the time (MATH §2.2: no gap remains);
- `paper_plan` (Algorithm 1) solves again on the kept sources alone, where spend is continuous.

They differ in which sources they keep. The paper refuses a source when ω > p, the most one crawl can bring; but a kept
source costs λ page fetches too, so the right edge is ω > P/r(μ/λ), always lower (`curves.reserve_ratio`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mayfly.core.curves import g_inverse, reserve_ratio
from mayfly.core.model import Beliefs, FloatArray, IntArray, PerSecond

_SAMPLE = 4096
_SMALLEST_DECAY = 1e-15  # per second: profit that never fades, as the limit of profit that hardly does


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
    edge = profit / reserve_ratio(np.divide(decay, rate, out=np.full_like(rate, np.inf), where=rate > 0))
    open_ = np.flatnonzero((edge > 0) & (worth > 0))
    if not len(open_):
        return _plan_of(beliefs, np.inf, np.zeros(len(rate)), 0.0)

    def spend(price: float, among: IntArray) -> float:
        some = among[edge[among] > price]
        return float(np.sum(rate[some]) + np.sum(decay[some] / g_inverse(price / worth[some])))

    low, high = _search(spend, budget, open_, top=float(edge[open_].max()))
    taken = (edge > high).astype(float)
    marginal = (edge > low) & (edge <= high)
    price = high
    interval = np.full(len(rate), np.inf)
    kept = taken > 0
    interval[kept] = g_inverse(price / worth[kept]) / decay[kept]
    interval[marginal] = g_inverse(np.minimum(edge[marginal], price) / worth[marginal]) / decay[marginal]
    left = budget - float(np.sum(rate[kept] + 1 / interval[kept]))
    if marginal.any() and left > 0:
        taken[marginal] = min(1.0, left / float(np.sum(rate[marginal] + 1 / interval[marginal])))
    return _plan_of(beliefs, price, taken, budget, interval)


def paper_plan(beliefs: Beliefs, budget: PerSecond, page_cost: bool = True) -> Plan:
    """Algorithm 1 as printed, with an end. `page_cost=False` leaves out Σλ: all of `budget` goes to recrawls.

    >>> from mayfly.core.model import beliefs
    >>> one = beliefs(np.array([0.1]), np.array([5.0]), np.array([1e-3]))
    >>> float(paper_plan(one, budget=0.3).interval[0].round(6))
    5.0
    """
    rate, profit, decay = _checked(beliefs, budget)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where((rate > 0) & (profit > 0), profit / -np.expm1(-decay / np.maximum(rate, 1e-300)), 0.0)  # p_i
    open_ = np.flatnonzero(most > 0)
    if not len(open_):
        return _plan_of(beliefs, np.inf, np.zeros(len(rate)), 0.0)
    cost = rate if page_cost else np.zeros_like(rate)

    def spend(price: float, among: IntArray) -> float:
        some = among[most[among] > price]
        return float(np.sum(cost[some]) + np.sum(decay[some] / g_inverse(price / most[some])))

    low, high = _search(spend, budget, open_, top=float(most.max()))
    kept = open_[most[open_] > high]
    if len(kept):
        # With the set fixed, spend is continuous: lower the price until these sources use what is left.
        _, price = _search(spend, budget, kept, top=high)
    else:
        # Not even the best source can be afforded with all its pages: it is crawled as seldom as the rule allows.
        price = low
        kept = open_[most[open_] > low]
    interval = np.full(len(rate), np.inf)
    interval[kept] = g_inverse(price / most[kept]) / decay[kept]
    taken = np.zeros(len(rate))
    taken[kept] = 1.0
    return _plan_of(beliefs, price, taken, budget, interval, page_cost)


def refusal_free_budget(beliefs: Beliefs) -> PerSecond:
    """The smallest budget at which the exact plan refuses no source that has anything to give (paper, section 4.1)."""
    rate, profit, decay = _checked(beliefs, 1.0)
    some = (rate > 0) & (profit > 0)
    if not some.any():
        return 0.0
    rate, profit, decay = rate[some], profit[some], decay[some]
    price = float((profit / reserve_ratio(decay / rate)).min())
    return float(np.sum(rate + decay / g_inverse(price * decay / (rate * profit))))


def quality_of(beliefs: Beliefs, interval: FloatArray) -> FloatArray:
    """Profit per second each source brings when crawled every `interval` and all its new pages fetched (MATH §2.1)."""
    rate, profit, decay = beliefs[:3]
    decay = np.maximum(decay, _SMALLEST_DECAY)
    with np.errstate(invalid="ignore", over="ignore"):
        per_crawl = -np.expm1(-decay * interval) * rate * profit / decay
        return np.where(np.isinf(interval), 0.0, per_crawl / interval)


def _plan_of(
    beliefs: Beliefs,
    price: float,
    taken: FloatArray,
    budget: PerSecond,
    interval: FloatArray | None = None,
    page_cost: bool = True,
) -> Plan:
    if interval is None:
        interval = np.full(len(taken), np.inf)
    quality = float(np.sum(taken * quality_of(beliefs, interval)))
    recrawls = float(np.sum(taken / interval))
    pages = float(np.sum(taken * beliefs.link_rate))
    if page_cost and 0 < budget < recrawls + pages and pages < budget:
        # Rounding only (parts in 10⁹): waiting that much longer keeps the promise never to overspend.
        stretch = recrawls / (budget - pages) * (1 + 1e-15)
        interval, recrawls = interval * stretch, budget - pages
    return Plan(price, interval, taken, recrawls, pages, quality)


def _search(
    spend: Callable[[float, IntArray], float], budget: PerSecond, among: IntArray, top: float
) -> tuple[float, float]:
    """A narrow bracket of the price at which `spend` falls to the budget: (too cheap, affordable).

    Spend is close to a power of the price, so false position on logarithms needs few steps; a stride of the sources
    gives the first bracket, so that few of these steps read them all.
    """
    low, high = top * 1e-30, top
    if len(among) > 8 * _SAMPLE:
        stride = len(among) // _SAMPLE
        sample = among[::stride]
        share = budget * len(sample) / len(among)
        low, high = _narrow(lambda price: spend(price, sample), share, low, high, steps=40, slack=1e-3 * share)
        low, high = low * 0.97, min(high * 1.03, top)
        while spend(low, among) < budget and low > top * 1e-30:
            low *= 0.8
        while high < top and spend(high, among) > budget:
            high = min(high * 1.25, top)
    return _narrow(lambda price: spend(price, among), budget, low, high, steps=200, slack=1e-12 * len(among) * budget)


def _narrow(
    spend: Callable[[float], float], budget: float, low: float, high: float, steps: int, slack: float
) -> tuple[float, float]:
    """Shrink [low, high] around the budget until it is a few ulps wide, or `high` leaves less than `slack` unspent."""
    x_low, x_high = np.log(low), np.log(high)
    over, under = np.log(max(spend(low), 1e-300) / budget), np.log(max(spend(high), 1e-300) / budget)
    if over <= 0:
        return low, low
    same_side = 0
    for _ in range(steps):
        if x_high - x_low < 4e-15 * max(1.0, abs(x_high)):
            break
        x = (x_low + x_high) / 2
        if abs(same_side) < 3 and over - under > 0:
            x = x_low + (x_high - x_low) * over / (over - under)
            x = min(max(x, x_low + 1e-3 * (x_high - x_low)), x_high - 1e-3 * (x_high - x_low))
        spent = spend(float(np.exp(x)))
        value = np.log(max(spent, 1e-300) / budget)
        if value > 0:
            x_low, over, same_side = x, value, max(same_side, 0) + 1
            under /= 2 if same_side > 1 else 1
        else:
            x_high, under, same_side = x, value, min(same_side, 0) - 1
            over /= 2 if same_side < -1 else 1
            if budget - spent <= slack:
                break
        if abs(same_side) > 3:
            same_side = 0
    return float(np.exp(x_low)), float(np.exp(x_high))


def _checked(beliefs: Beliefs, budget: PerSecond) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three columns, refused if any number in them is not a finite, non-negative one."""
    if not (np.isfinite(budget) and budget > 0):
        raise ValueError(f"budget must be a positive number of fetches per second, got {budget}")
    for name, column in zip(beliefs._fields[:3], beliefs[:3], strict=True):
        wrong = ~(np.isfinite(column) & (column >= 0))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(f"{name} must be finite and not negative, got {column[at]} for source {at}")
    return beliefs.link_rate, beliefs.page_profit, np.maximum(beliefs.profit_decay, _SMALLEST_DECAY)
