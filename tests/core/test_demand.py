"""What shards say they want, held against the sources one by one; and the price made of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.core.demand import GRID, at_price, demand, price_for, price_grid, wanted
from mayfly.core.intervals import edge_prices, exact_plan, refusal_free_budget
from mayfly.core.model import Beliefs, beliefs

laws = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda e: 10.0**e)


rows = st.tuples(
    st.one_of(st.just(0.0), powers(-9, 3)),
    st.one_of(st.just(0.0), powers(-6, 6)),
    st.one_of(st.just(0.0), powers(-9, 0)),
)
wild = st.lists(rows, min_size=1, max_size=20).map(
    lambda some: beliefs(*(np.array(column) for column in zip(*some, strict=True)))
)


def many(seed: int, sources: int = 10_000, spreads: tuple[float, float] = (1.5, 2.1)) -> Beliefs:
    """Sources like the paper's: some 6.6 new pages a day each, interest of 20 hours."""
    rng = np.random.default_rng(seed)
    rate = rng.lognormal(np.log(7.6e-5) - spreads[0] ** 2 / 2, spreads[0], sources)
    return beliefs(rate, rng.lognormal(0.0, spreads[1], sources), rng.lognormal(np.log(1 / 72000), 0.5, sources))


def some(world: Beliefs, rows: np.ndarray) -> Beliefs:
    return Beliefs._make([*(column[rows] for column in world[:-1]), world.place_worth])


def largest_jump(world: Beliefs) -> float:
    """The most that demand falls as one source is refused: its pages, and the crawls it is refused at."""
    heavy = some(world, np.argsort(-world.link_rate)[:20])
    edge = edge_prices(heavy) * (1 - 1e-12)
    return max(wanted(some(heavy, np.array([row])), price) for row, price in enumerate(edge))


@laws
@given(wild)
def test_demand_is_what_the_sources_want_one_by_one(world: Beliefs) -> None:
    one_by_one = np.array([wanted(world, price) for price in GRID])
    np.testing.assert_allclose(demand(world)[told(world)], one_by_one[told(world)], rtol=2e-3, atol=1e-300)


def told(world: Beliefs) -> np.ndarray:
    """All prices but those within a bin of what a source is worth in all, where it is hardly crawled any more."""
    worth = world.link_rate * world.page_profit / np.maximum(world.profit_decay, 1e-15)
    return (np.abs(GRID[:, None] / np.maximum(worth, 1e-300) - 1) > 0.03).all(axis=1)


@pytest.mark.parametrize("points", [2, 33, 257, 1025])
def test_on_any_grid(points: int) -> None:
    grid, world = price_grid(points), many(1, 500)
    np.testing.assert_allclose(demand(world, grid), [wanted(world, price) for price in grid], rtol=1e-4)


@laws
@given(wild)
def test_demand_never_rises_with_the_price(world: Beliefs) -> None:
    curve = demand(world)
    assert (np.diff(curve) <= 1e-9 * curve[:-1]).all() and (curve >= 0).all()


@laws
@given(wild, seeds)
def test_demands_of_shards_add_up(world: Beliefs, seed: int) -> None:
    shard = np.random.default_rng(seed).integers(0, 3, len(world.link_rate))
    parts = [demand(some(world, np.flatnonzero(shard == number))) for number in range(3)]
    np.testing.assert_allclose(sum(parts), demand(world), rtol=1e-9, atol=1e-300)


@laws
@given(wild, st.floats(0.05, 0.95))
def test_it_is_the_demand_the_exact_plan_meets(world: Beliefs, share: float) -> None:
    if (budget := share * refusal_free_budget(world)) <= 0:
        return
    price = exact_plan(world, budget).price
    assert wanted(world, price * (1 + 1e-6)) <= budget * (1 + 1e-3)
    assert wanted(world, price * (1 - 1e-6)) >= budget * (1 - 1e-3)


def test_sources_are_valued_as_the_policy_does() -> None:
    plain = many(2, 2_000)
    twice = plain._replace(found_profit=2 * plain.found_profit)
    np.testing.assert_allclose(price_of(twice, 0.5), 2 * price_of(plain, 0.5), rtol=5e-3)
    busy, quiet = plain._replace(rhythm=2 * plain.rhythm), plain._replace(rhythm=0 * plain.rhythm)
    assert (demand(busy)[GRID < 1] > demand(plain)[GRID < 1]).all() and not demand(quiet).any()
    lossy = plain._replace(link_loss=100 * plain.profit_decay)
    # Where links leave at once no crawl finds much: dear ones are not made, and the pages not found not counted.
    assert wanted(lossy, 10.0) < wanted(plain, 10.0)


def price_of(world: Beliefs, budget: float) -> float:
    return price_for(demand(world), GRID, budget)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seeds, st.tuples(st.floats(1.0, 2.0), st.floats(1.5, 2.5)), st.floats(-1.3, 1.0))
def test_the_price_spends_the_budget(seed: int, spreads: tuple[float, float], share: float) -> None:
    """To half a percent, and one source more or less."""
    world = many(seed, 20_000, spreads)
    budget = 10**share * float(world.link_rate.sum())
    error = abs(wanted(world, price_of(world, budget)) - budget)
    assert error <= 0.005 * budget + largest_jump(world)


@laws
@given(wild, st.floats(0.0, 1.0))
def test_no_price_is_off_by_more_than_one_step_of_the_grid(world: Beliefs, place: float) -> None:
    curve = demand(world)
    cell = int(place * (len(GRID) - 2))
    low, high = curve[cell + 1], curve[cell]
    if not low < (budget := (low + high) / 2) < high:
        return
    price = price_for(curve, GRID, budget)
    assert GRID[cell] <= price * (1 + 1e-9) and price <= GRID[cell + 1] * (1 + 1e-9)
    refused = [edge for edge in edge_prices(world) if GRID[cell] < edge * (1 + 1e-3) and edge <= 2 * GRID[cell + 1]]
    if not refused:  # smooth: a power, nearly
        assert abs(wanted(world, price) - budget) <= 0.005 * budget


def test_a_budget_nobody_can_spend_has_the_cheapest_price() -> None:
    world = many(3, 50)
    assert price_for(demand(world), GRID, 1e9) == GRID[0]
    assert price_for(np.zeros(257), GRID, 1.0) == GRID[0]
    assert price_for(np.full(257, 2.0), GRID, 1.0) == GRID[-1]


def test_where_all_are_refused_at_once_they_are_taken_in_part() -> None:
    curve = np.where(GRID < 1.0, 5.0, 0.0)
    assert wanted_by(curve, price_for(curve, GRID, 2.0)) == pytest.approx(2.0)


def wanted_by(curve: np.ndarray, price: float) -> float:
    return float(at_price(curve[None, :], GRID, price)[0])


@laws
@given(seeds, st.floats(0.01, 10.0))
def test_at_the_price_the_shards_together_want_the_budget(seed: int, share: float) -> None:
    shards = np.stack([demand(many(seed + number, 300)) for number in range(5)])
    budget = share * 1500 * 7.6e-5
    price = price_for(shards.sum(axis=0), GRID, budget)
    assert at_price(shards, GRID, price).sum() == pytest.approx(wanted_by(shards.sum(axis=0), price))
    less, more = shards.sum(axis=0)[np.searchsorted(GRID, price) - np.array([0, 1])]
    assert less <= at_price(shards, GRID, price).sum() <= more and less <= budget <= more


def test_wrong_numbers_are_named() -> None:
    with pytest.raises(ValueError, match="budget must be a positive number"):
        price_for(np.ones(257), GRID, 0.0)
    with pytest.raises(ValueError, match="2 prices or more, got 1"):
        price_grid(1)
    with pytest.raises(ValueError, match="link_rate must be finite"):
        demand(beliefs(np.array([np.nan]), np.ones(1), np.ones(1)))
