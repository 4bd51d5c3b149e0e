"""What a shard says it could fetch, held against what there is and what its sites take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.agenda import Agenda, agenda, asked, steadied, terms
from mayfly.core.columns import Columns
from mayfly.core.curves import g_inverse
from mayfly.core.demand import GRID, at_price, wanted
from mayfly.core.intervals import edge_prices
from mayfly.core.model import beliefs
from mayfly.core.policies.index import Index

worths = st.one_of(st.just(np.inf), st.floats(-9, 5).map(lambda e: 10.0**e))
items = st.lists(st.tuples(worths, st.floats(0.1, 0.9), st.integers(0, 3)), min_size=1, max_size=40)
takes = st.lists(st.floats(0.01, 5.0), min_size=4, max_size=4)


def agenda_of(some, takes):
    return Agenda(*(np.array(column) for column in zip(*some, strict=True)), np.array(takes))


@given(items, takes)
def test_it_is_what_is_dearer_by_site_and_no_more_than_each_takes(some, takes) -> None:
    curve = asked(agenda_of(some, takes), GRID)
    for at in range(1, len(GRID)):
        dearer = [sum(rate for worth, rate, site in some if site == one and worth > GRID[at]) for one in range(4)]
        one_by_one = sum(min(rate, 0.9 * most) for rate, most in zip(dearer, takes, strict=True))
        assert curve[at] == pytest.approx(one_by_one, abs=1e-9)
    sites = {site for _, _, site in some}
    assert curve[0] == pytest.approx(0.9 * sum(takes[site] for site in sites))


@given(items, takes)
def test_it_falls_as_the_price_rises(some, takes) -> None:
    assert np.all(np.diff(asked(agenda_of(some, takes), GRID)) <= 1e-9)


def test_where_there_is_nothing_nothing_is_asked_for() -> None:
    nothing = Agenda(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.ones(3))
    assert not asked(nothing, GRID).any()


def test_sites_without_a_limit_take_what_there_is() -> None:
    assert asked(agenda_of([(1.0, 0.5, 0)], [np.inf] * 4), GRID)[[0, -1]].tolist() == [0.5, 0.0]


@pytest.mark.parametrize("ahead", [25.0, 1000.0])
@pytest.mark.parametrize("price", [0.02, 0.2, 2.0])
def test_in_a_steady_state_it_is_the_demand_by_rates(price, ahead) -> None:
    """Of sources that are crawled whenever they are worth the price: λ + 1/I of each, for minutes as for days."""
    rng = np.random.default_rng(5)
    many, now = 50_000, 1e9
    known = beliefs(rng.lognormal(-9, 1.5, many), rng.lognormal(1, 1, many), rng.lognormal(-11, 0.3, many))
    offered = edge_prices(known) > price
    wait = g_inverse(np.minimum(price * known.profit_decay / (known.link_rate * known.page_profit), 0.999))
    interval = np.where(offered, wait / known.profit_decay, 1e8)  # those refused are hardly ever seen
    row = Columns(seen=0.0, crawls=0, site=0)
    row.grow(many)
    row.seen[:], row.crawls[:] = now - rng.random(many) * interval, 5
    policy = Index(selective=False)
    policy.plan(known, 1.0, row.seen, now)
    within = terms(row, many, now, ahead)
    keys = policy.keys(row.seen, now + within)
    items = agenda(known, row, keys, now, within, np.zeros(0), np.zeros(0, np.int64), ahead, np.array([np.inf]))
    found = at_price(asked(items, GRID)[None], GRID, price)[0]
    assert found == pytest.approx(wanted(known, price), rel=0.15)


def test_a_demand_is_remembered_for_a_while() -> None:
    first = steadied(None, np.array([4.0, 2.0]), 1.0, 8.0)
    assert first.tolist() == [4.0, 2.0]
    again = first
    for _ in range(100):
        again = steadied(again, np.array([8.0, 0.0]), 1.0, 8.0)
    assert again == pytest.approx([8.0, 0.0], abs=1e-4)
    assert steadied(first, np.array([8.0, 0.0]), 1.0, 8.0) == pytest.approx([4.47, 1.765], abs=1e-3)
