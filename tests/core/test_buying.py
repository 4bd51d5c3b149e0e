"""What a budget buys, host by host."""

from __future__ import annotations

import numpy as np
import pytest

from mayfly.core import buying
from mayfly.core.intervals import edge_prices, exact_plan
from mayfly.core.model import beliefs

# λ, P, μ: two of one host, loved; one that is in now and then; one too poor for the budget; one with nothing to give
SOURCES = beliefs(
    np.array([1e-3, 2e-3, 1e-3, 1e-3, 1e-3]),
    np.array([9.0, 5.0, 1.0, 0.01, 0.0]),
    np.full(5, 1e-4),
)
HOSTS = ["a.example", "a.example", "b.example", "c.example", "d.example"]


def test_hosts_share_out_all_that_is_spent_and_had() -> None:
    plan = exact_plan(SOURCES, 0.005)
    rows = buying.by_host(SOURCES, plan, HOSTS)
    assert [row["host"] for row in rows] == ["a.example", "b.example", "c.example", "d.example"]
    assert [(row["sources"], row["sources_in"]) for row in rows] == [(2, 2), (1, 1), (1, 0), (1, 0)]
    assert sum(row["fetches"] for row in rows) == pytest.approx(plan.spend)
    assert sum(row["clicks"] for row in rows) == pytest.approx(plan.quality)


def test_one_more_fetch_earns_the_price_or_what_the_first_would_there() -> None:
    plan = exact_plan(SOURCES, 0.005)
    a, b, c, d = buying.by_host(SOURCES, plan, HOSTS)
    assert a["marginal_value"] == b["marginal_value"] == plan.price
    assert c["marginal_value"] == pytest.approx(edge_prices(SOURCES)[3]) and 0 < c["marginal_value"] < plan.price
    assert d["marginal_value"] == 0.0


def test_an_offer_has_the_budgets_for_sources() -> None:
    told = buying.offer(SOURCES, 0.005, [0.01], HOSTS)
    assert told["marginal_value"] == told["exact"]["price"]
    smallest = told["smallest_budget_for_sources"]
    assert list(smallest) == ["90%", "100%"] and smallest["100%"] == told["no_source_refused"]
