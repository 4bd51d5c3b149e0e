"""The best schedule when sites limit how often they may be asked.

A site that would be asked more often than it may be gets a price of its own, above the common one, at which its sources
and their pages share what it can take. What it cannot take goes to the others, which lowers the common price, and may
bring further sites to their limits; so this is repeated until none is above. Sites at their limit stay there, as the
price only falls, so that it ends after as many rounds as there are such sites, and mostly after two or three.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mayfly.core.curves import g_inverse, reserve_ratio
from mayfly.core.intervals import Plan, exact_plan, plan_of
from mayfly.core.model import Beliefs, BoolArray, FloatArray, IntArray, PerSecond

_STEPS = 60  # of bisection: each halves the error of the logarithm of a price
_ABOVE = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class PolitePlan:
    """A plan, and which sources are crawled less often for their site's sake."""

    plan: Plan
    limited: BoolArray  # by source


def polite_plan(beliefs: Beliefs, budget: PerSecond, site: IntArray, most: FloatArray) -> PolitePlan:
    """The plan of greatest quality that asks no site more often than `most` (by site, per second).

    >>> from mayfly.core.model import beliefs
    >>> two = beliefs(np.array([0.1, 0.1]), np.array([5.0, 5.0]), np.array([1e-3, 1e-3]))
    >>> polite = polite_plan(two, 1.0, np.array([0, 1]), np.array([0.2, np.inf]))
    >>> polite.limited.tolist(), polite.plan.interval.round(3).tolist()      # 1/(.2 - λ) and 1/(.8 - λ)
    ([True, False], [10.0, 1.429])
    """
    full = np.zeros(len(most), bool)
    taken, interval = np.zeros(len(site)), np.full(len(site), np.inf)
    price, left = np.inf, budget
    while True:
        of_free = np.flatnonzero(~full[site])
        if len(of_free) and left > 0:
            free = exact_plan(_some(beliefs, of_free), left)
            taken[of_free], interval[of_free], price = free.taken, free.interval, free.price
        asked = np.bincount(site, taken * (beliefs.link_rate + 1 / interval), len(most))
        over = (asked > most * _ABOVE) & ~full
        if not over.any():
            break
        full |= over
        rows = np.flatnonzero(over[site])
        taken[rows], interval[rows] = _shared(_some(beliefs, rows), site[rows], most)
        left -= float(most[over].sum())
    return PolitePlan(plan_of(beliefs, price, taken, budget, interval), full[site])


def _shared(beliefs: Beliefs, site: IntArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How the sources of each site use what it can take, all sites together: `taken` and `interval` of a plan."""
    rate, profit, decay = beliefs.link_rate, beliefs.page_profit, beliefs.profit_decay
    worth = rate * profit / decay
    edge = profit / reserve_ratio(decay / rate)
    high = np.full(len(most), -np.inf)
    np.maximum.at(high, site, np.log(edge))
    low = high - 60.0
    high += 1e-9  # at this price none is kept

    def asks(price: FloatArray) -> FloatArray:
        return np.where(price <= edge, rate + decay / g_inverse(np.minimum(price / worth, 1.0)), 0.0)

    for _ in range(_STEPS):
        middle = (low + high) / 2
        affordable = np.bincount(site, asks(np.exp(middle)[site]), len(most)) <= most
        high, low = np.where(affordable, middle, high), np.where(affordable, low, middle)
    # Spend jumps where a source is refused; the one at the edge gets what the others leave.
    kept, wanted = asks(np.exp(high)[site]), asks(np.exp(low)[site])
    at_edge = (kept == 0) & (wanted > 0)
    left = most - np.bincount(site, kept, len(most))
    edges = np.bincount(site, np.where(at_edge, wanted, 0.0), len(most))
    part = np.divide(left, edges, out=np.zeros_like(left), where=edges > 0)
    taken = np.where(at_edge, np.clip(part, 0.0, 1.0)[site], kept > 0)
    price = np.exp(np.where(edges > 0, low, high))[site]
    interval = np.where(taken > 0, g_inverse(np.minimum(price / worth, 1.0)) / decay, np.inf)
    return taken, interval


def _some(beliefs: Beliefs, rows: IntArray) -> Beliefs:
    return Beliefs._make([*(column[rows] for column in beliefs[:-1]), beliefs.place_worth])
