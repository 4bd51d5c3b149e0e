"""Crawls are valued by the pages that will be fetched."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.curves import above
from mayfly.core.model import DAY, HOUR, beliefs
from mayfly.core.policies.index import Index


def keys(
    spread: list[float], profit: list[float], price: float, selective: bool = True, waited: float = 5 * HOUR
) -> np.ndarray:
    """Of sources alike but for the values of their pages, so long after their last crawl."""
    size = len(spread)
    known = beliefs(np.full(size, 20 / DAY), np.array(profit), np.full(size, 1 / DAY))
    policy = Index(selective=selective)
    policy.price = price
    policy.plan(known._replace(value_spread=np.array(spread)), 0.01, np.zeros(size), waited)
    return policy.keys(np.zeros(size), waited)


def test_a_source_with_rare_great_pages_is_crawled_at_a_price_above_its_mean() -> None:
    even, uneven = keys([0.0, 1.5], [1.0, 1.0], price=2.0, waited=2 * DAY)
    assert even < 1.0 < 2.0 < uneven


def test_where_all_pages_are_fetched_anyway_spread_changes_little() -> None:
    even, uneven = keys([0.0, 0.5], [10.0, 10.0], price=0.1)
    assert np.isclose(even, uneven, rtol=0.01)


def test_it_can_be_switched_off() -> None:
    even, uneven = keys([0.0, 1.5], [1.0, 1.0], price=2.0, selective=False)
    assert even == uneven


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.floats(0.05, 3))
def test_shares_above_a_price_are_those_of_drawn_values(price: float, profit: float, spread: float) -> None:
    share, value = (float(part[0]) for part in above(price, np.array([profit]), np.array([spread])))
    drawn = profit * np.exp(spread * np.random.default_rng(0).standard_normal(40_000) - spread**2 / 2)
    if share < 1.0 or value < 1.0 or (drawn > price).all():
        assert abs(share - (drawn > price).mean()) < 0.02
        assert 0.0 <= share <= value <= 1.0


def test_a_higher_price_leaves_fewer_pages_but_better_ones() -> None:
    shares, values = zip(
        *(above(price, np.array([1.0]), np.array([1.0])) for price in (0.5, 1.0, 2.0, 4.0)), strict=True
    )
    assert (np.diff(np.ravel(shares)) < 0).all()
    assert (np.diff(np.ravel(values) / np.ravel(shares)) > 0).all()
