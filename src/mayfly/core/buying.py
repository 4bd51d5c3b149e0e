"""What a budget buys, if what is believed of the sources is true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mayfly.core.intervals import Plan, exact_plan, refusal_free_budget
from mayfly.core.model import Beliefs, PerSecond

SHARES = (0.9, 0.95, 0.99)  # of the bound, for which the smallest budgets are told


def bound_of(beliefs: Beliefs) -> PerSecond:
    """Clicks a second, if every page were fetched the moment it appears."""
    return float(np.sum(beliefs.link_rate * beliefs.page_profit))


def offer(beliefs: Beliefs, budget: PerSecond, curve: Iterable[PerSecond]) -> dict[str, Any]:
    """All there is to say of a budget and of others; the sources must be worth something."""
    bound = bound_of(beliefs)
    return {
        "budget": budget,
        "upper_bound": bound,
        "exact": facts(exact_plan(beliefs, budget), bound),
        "smallest_budget": {f"{share:.0%}": budget_for(beliefs, share, bound) for share in SHARES},
        "no_source_refused": refusal_free_budget(beliefs),
        "curve": [point(beliefs, other, bound) for other in curve],
    }


def facts(plan: Plan, bound: float) -> dict[str, Any]:
    """What a plan brings, spends and leaves out; `bound` is what could be had at most."""
    inside = plan.taken > 0
    active = plan.interval[inside]
    return {
        "price": plan.price if np.isfinite(plan.price) else None,
        "quality": plan.quality,
        "share": plan.quality / bound,
        "recrawls": plan.recrawls,
        "pages": plan.pages,
        "sources_in": int(inside.sum()),
        "sources_out": int((~inside).sum()),
        "shortest_interval": float(active.min()) if len(active) else None,
        "median_interval": float(np.median(active)) if len(active) else None,
    }


def point(beliefs: Beliefs, budget: PerSecond, bound: float) -> dict[str, float]:
    """Of the curve of quality against budget."""
    best = exact_plan(beliefs, budget)
    return {"budget": budget, "share": best.quality / bound, "price": best.price}


def budget_for(beliefs: Beliefs, share: float, bound: float) -> PerSecond:
    """The smallest budget whose exact plan reaches a share of the bound: quality never falls as the budget grows."""
    low, high = 0.0, float(beliefs.link_rate.sum())
    while exact_plan(beliefs, high).quality < share * bound:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        if exact_plan(beliefs, middle).quality < share * bound:
            low = middle
        else:
            high = middle
    return high
