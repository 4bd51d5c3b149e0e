"""What a budget buys, if what is believed of the sources is true."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mayfly.core.intervals import Plan, budget_for_sources, edge_prices, exact_plan, quality_of
from mayfly.core.model import Beliefs, FloatArray, PerSecond

SHARES = (0.9, 0.95, 0.99)  # of the bound, for which the smallest budgets are told
OF_SOURCES = (0.9, 1.0)  # that have anything to give: the same for these shares of them


def bound_of(beliefs: Beliefs) -> PerSecond:
    """Clicks a second, if every page were fetched the moment it appears."""
    return float(np.sum(beliefs.link_rate * beliefs.page_profit))


def offer(beliefs: Beliefs, budget: PerSecond, curve: Iterable[PerSecond], host_of: Sequence[str]) -> dict[str, Any]:
    """All there is to say of a budget and of others; the sources must be worth something. `host_of` each source."""
    bound = bound_of(beliefs)
    best = exact_plan(beliefs, budget)
    smallest_for_sources = {f"{share:.0%}": budget_for_sources(beliefs, share) for share in OF_SOURCES}
    return {
        "budget": budget,
        "upper_bound": bound,
        "exact": facts(best, bound),
        "marginal_value": _finite(best.price),
        "smallest_budget": {f"{share:.0%}": budget_for(beliefs, share, bound) for share in SHARES},
        "smallest_budget_for_sources": smallest_for_sources,
        "no_source_refused": smallest_for_sources["100%"],
        "curve": [point(beliefs, other, bound) for other in curve],
        "hosts": by_host(beliefs, best, host_of),
    }


def by_host(beliefs: Beliefs, plan: Plan, host_of: Sequence[str]) -> list[dict[str, Any]]:
    """What an exact plan spends on each host and has from it, per second: the host that brings most first.

    The marginal value is what one more fetch spent there would earn: the price, as everywhere in the plan; at a host
    that is left out, what the first would.
    """
    number: dict[str, int] = {}
    of = np.fromiter((number.setdefault(host, len(number)) for host in host_of), np.int64, len(host_of))

    def total(column: FloatArray) -> FloatArray:
        return np.bincount(of, column, len(number)).astype(float)

    inside = plan.taken > 0
    fetches = total(plan.taken * (beliefs.link_rate + 1 / plan.interval))
    clicks = total(plan.taken * quality_of(beliefs, plan.interval))
    sources, sources_in = total(np.ones(len(of))), total(inside.astype(float))
    first = np.zeros(len(number))
    np.maximum.at(first, of, edge_prices(beliefs))
    marginal = np.where(sources_in > 0, plan.price, first)
    names = list(number)
    return [
        {
            "host": names[row],
            "sources": int(sources[row]),
            "sources_in": int(sources_in[row]),
            "fetches": float(fetches[row]),
            "clicks": float(clicks[row]),
            "marginal_value": float(marginal[row]),
        }
        for row in np.lexsort((-marginal, -clicks))
    ]


def facts(plan: Plan, bound: float) -> dict[str, Any]:
    """What a plan brings, spends and leaves out; `bound` is what could be had at most."""
    inside = plan.taken > 0
    active = plan.interval[inside]
    return {
        "price": _finite(plan.price),
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


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
