"""Plans: laws of the exact one, known limits of the paper's, and both against numbers that can be had otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from mayfly.core.curves import g, reserve_ratio
from mayfly.core.intervals import (
    Plan,
    budget_for_sources,
    edge_prices,
    exact_plan,
    paper_plan,
    quality_of,
    refusal_free_budget,
)
from mayfly.core.model import Beliefs, beliefs

laws = settings(max_examples=100, deadline=None)


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda e: 10.0**e)


def sources_of(
    rate: st.SearchStrategy[float], profit: st.SearchStrategy[float], decay: st.SearchStrategy[float], most: int = 12
) -> st.SearchStrategy[Beliefs]:
    rows = st.lists(st.tuples(rate, profit, decay), min_size=1, max_size=most)
    repeated = st.tuples(rows, st.integers(1, 5)).map(lambda pair: pair[0] * pair[1])
    return repeated.map(lambda rows: beliefs(*(np.array(column) for column in zip(*rows, strict=True))))


wild = sources_of(
    st.one_of(st.just(0.0), powers(-9, 3)),
    st.one_of(st.just(0.0), powers(-6, 6)),
    st.one_of(st.just(0.0), powers(-9, -1)),
)
tame = sources_of(powers(-6, -1), powers(-2, 2), powers(-6, -3), most=8)
budgets = powers(-6, 3)

COUNTEREXAMPLE = [(0.00018, 21.0, 6e-4), (0.00093, 1.5, 8e-5)]  # λ, P, μ: slow and loved, prolific and poor
COUNTEREXAMPLE_BUDGETS = 0.0011, 0.0013


def of(*rows: tuple[float, float, float]) -> Beliefs:
    """Sources as (λ, P, μ)."""
    return beliefs(*(np.array(column, float) for column in zip(*rows, strict=True)))


def recomputed_spend(plan: Plan, sources: Beliefs) -> float:
    return float(np.sum(plan.taken * (sources.link_rate + 1 / plan.interval)))


# The exact plan


@laws
@given(wild, budgets)
def test_exact_plan_never_overspends(sources: Beliefs, budget: float) -> None:
    plan = exact_plan(sources, budget)
    assert plan.spend <= budget * (1 + 1e-12)
    assert recomputed_spend(plan, sources) <= budget * (1 + 1e-12)
    assert np.isclose(plan.spend, recomputed_spend(plan, sources), rtol=1e-9)
    assert ((plan.taken >= 0) & (plan.taken <= 1)).all()
    assert (plan.interval > 0).all()


@laws
@given(tame, powers(-4, -0.5))
def test_exact_plan_leaves_nothing_over(sources: Beliefs, share: float) -> None:
    """While any source is refused there is something left to buy, so all of the budget is spent."""
    budget = share * refusal_free_budget(sources)
    assert np.isclose(exact_plan(sources, budget).spend, budget, rtol=1e-6)


@laws
@given(wild, budgets)
def test_sources_with_nothing_to_give_are_refused(sources: Beliefs, budget: float) -> None:
    plan = exact_plan(sources, budget)
    idle = (sources.link_rate == 0) | (sources.page_profit == 0)
    assert (plan.taken[idle] == 0).all()
    assert np.isinf(plan.interval[idle]).all()


@laws
@given(wild, budgets)
def test_a_refused_source_has_an_infinite_interval_and_a_taken_one_a_finite(sources: Beliefs, budget: float) -> None:
    plan = exact_plan(sources, budget)
    assert (np.isinf(plan.interval) == (plan.taken == 0)).all()


@laws
@given(wild, budgets, st.floats(1.0001, 100.0))
def test_more_budget_never_lowers_the_planned_quality(sources: Beliefs, budget: float, more: float) -> None:
    less, much = exact_plan(sources, budget), exact_plan(sources, budget * more)
    assert much.quality >= less.quality * (1 - 1e-7)
    assert much.price <= less.price * (1 + 1e-7)


@laws
@given(wild, budgets)
def test_exact_quality_is_never_below_the_papers(sources: Beliefs, budget: float) -> None:
    """Where the paper's plan keeps to the budget; it does not where no source at all can be afforded."""
    paper = paper_plan(sources, budget)
    if paper.spend <= budget * (1 + 1e-9):
        assert exact_plan(sources, budget).quality >= paper.quality * (1 - 1e-6)


@laws
@given(tame, powers(-4, 1), powers(-3, 3))
def test_scaling_all_profits_scales_the_price_and_leaves_the_intervals(
    sources: Beliefs, share: float, scale: float
) -> None:
    budget = share * float(sources.link_rate.sum())
    scaled = sources._replace(page_profit=sources.page_profit * scale)
    for make in exact_plan, paper_plan:
        plain, other = make(sources, budget), make(scaled, budget)
        assert np.isclose(other.price, plain.price * scale, rtol=1e-6)
        waits = sources.profit_decay * plain.interval
        close = (waits < 12) | (plain.taken == 0)  # beyond, an interval hangs on the last digits of the price
        assert np.allclose(other.mean_interval[close], plain.mean_interval[close], rtol=1e-5)


@laws
@given(st.tuples(powers(-6, -1), powers(-2, 2), powers(-6, -3)), st.integers(2, 40), powers(-4, 2), st.booleans())
def test_equal_sources_are_treated_alike(
    source: tuple[float, float, float], count: int, share: float, among_others: bool
) -> None:
    rows = [source] * count
    if among_others:
        rows += [(1e-3, 3.0, 1e-5), (1e-5, 0.2, 1e-4), (1e-4, 30.0, 1e-6)]
    sources = of(*rows)
    plan = exact_plan(sources, share * float(sources.link_rate.sum()))
    assert np.allclose(plan.interval[:count], plan.interval[0], rtol=1e-9)
    assert np.allclose(plan.taken[:count], plan.taken[0], rtol=1e-9)


@laws
@given(tame, powers(-3, 0.5))
def test_at_the_edge_stands_one_kind_of_source_only(sources: Beliefs, share: float) -> None:
    """All others are crawled always or never."""
    plan = exact_plan(sources, share * float(sources.link_rate.sum()))
    between = np.flatnonzero((plan.taken > 1e-6) & (plan.taken < 1 - 1e-6))
    edge = sources.page_profit / reserve_ratio(sources.profit_decay / sources.link_rate)
    assert len(between) == 0 or np.allclose(edge[between], edge[between[0]], rtol=1e-9)
    assert (plan.taken[edge > plan.price * (1 + 1e-6)] > 1 - 1e-6).all()
    assert (plan.taken[edge < plan.price * (1 - 1e-6)] < 1e-6).all()


def best_quality(sources: Beliefs, budget: float) -> float:
    """A linear programme over a fine grid: every source may spend any share of its time at any interval."""
    grid = np.geomspace(1.0, 1e7, 600)
    quality, spend, owner = [], [], []
    for number in range(len(sources.link_rate)):
        one = Beliefs(*(column[number : number + 1] for column in sources[:-1]), sources.place_worth)
        quality.append(quality_of(one, grid))
        spend.append(one.link_rate + 1 / grid)
        owner.append(np.full(len(grid), number))
    of_source = np.equal.outer(np.arange(len(sources.link_rate)), np.concatenate(owner)).astype(float)
    scale = max(float(np.concatenate(quality).max()), 1e-300)
    solved = linprog(
        -np.concatenate(quality) / scale,
        A_ub=np.vstack([np.concatenate(spend) / budget, of_source]),
        b_ub=np.ones(1 + len(of_source)),
        method="highs",
    )
    assert solved.status == 0
    return -float(solved.fun) * scale


@settings(max_examples=60, deadline=None)
@given(sources_of(powers(-5, -1), powers(-1.5, 1.5), powers(-5.5, -3), most=3), powers(-1.5, 1.0))
def test_tiny_plans_match_brute_force(sources: Beliefs, share: float) -> None:
    sources = Beliefs(*(column[:3] for column in sources[:-1]), sources.place_worth)
    budget = share * float(sources.link_rate.sum())
    assert np.isclose(exact_plan(sources, budget).quality, best_quality(sources, budget), rtol=1e-3)


def test_quality_of_is_the_mean_worth_of_links_that_come_at_random() -> None:
    """The closed form against a simulated source."""
    rate, profit, decay, interval = 0.02, 3.0, 2e-3, 400.0
    rng = np.random.default_rng(5)
    came = np.sort(rng.uniform(0, 4e6, rng.poisson(rate * 4e6)))
    age = np.ceil(came / interval) * interval - came
    simulated = profit * float(np.exp(-decay * age).sum()) / 4e6
    assert np.isclose(float(quality_of(of((rate, profit, decay)), np.array([interval]))[0]), simulated, rtol=0.02)


def test_thousands_of_sources_are_planned_as_well_as_a_few() -> None:
    """One price for all that are kept, the budget spent and not overspent, no source refused that is worth more."""
    rng = np.random.default_rng(7)
    size = 5000
    rate = np.exp(rng.normal(-11, 1.5, size))
    sources = beliefs(rate, np.exp(rng.normal(0, 2, size)), np.exp(rng.normal(-11, 0.5, size)))
    edge = sources.page_profit / reserve_ratio(sources.profit_decay / sources.link_rate)
    worth = sources.link_rate * sources.page_profit / sources.profit_decay
    before = 0.0
    for share in 0.1, 0.5, 1.0, 3.0:
        budget = share * float(rate.sum())
        plan = exact_plan(sources, budget)
        assert budget * (1 - 1e-5) <= plan.spend <= budget * (1 + 1e-12)
        kept = plan.taken == 1
        assert np.allclose((worth * g(sources.profit_decay * plan.interval))[kept], plan.price, rtol=1e-4)
        assert (edge[plan.taken == 0] <= plan.price * (1 + 1e-6)).all()
        assert (edge[kept] >= plan.price * (1 - 1e-6)).all()
        assert plan.quality > max(before, paper_plan(sources, budget).quality * (1 - 1e-6))
        before = plan.quality


# What a person can check


@pytest.mark.parametrize("make", [exact_plan, paper_plan])
@pytest.mark.parametrize(("rate", "budget"), [(0.1, 0.3), (0.001, 0.5), (0.02, 0.021), (1e-6, 1e-4)])
def test_golden_one_source_is_crawled_with_all_that_its_pages_leave(make: type, rate: float, budget: float) -> None:
    """Paper, section 4.1: one source, I = 1 / (N - λ)."""
    plan = make(of((rate, 5.0, 1e-6)), budget)
    assert plan.taken.tolist() == [1.0]
    assert np.isclose(plan.interval[0], 1 / (budget - rate), rtol=1e-6)
    assert np.isclose(plan.spend, budget, rtol=1e-9)


@pytest.mark.parametrize("make", [exact_plan, paper_plan])
@pytest.mark.parametrize("budget", [0.0001, 0.05, 0.0999999])
def test_a_lone_source_with_more_links_than_the_budget_has_a_plan(make: type, budget: float) -> None:
    """The printed loop waits for a price that spends the budget exactly; here there is none."""
    plan = make(of((0.1, 5.0, 1e-5)), budget)
    assert np.isfinite(plan.interval[0])
    assert plan.price > 0
    if make is exact_plan:
        assert np.isclose(plan.spend, budget, rtol=1e-9)
        assert 0 < plan.taken[0] < 1


def test_more_budget_may_lower_the_quality_of_the_papers_plan() -> None:
    """A known limit of Algorithm 1: a few more fetches let in a prolific source whose pages crowd out the good one."""
    sources = of(*COUNTEREXAMPLE)
    less, more = (paper_plan(sources, budget) for budget in COUNTEREXAMPLE_BUDGETS)
    assert COUNTEREXAMPLE_BUDGETS[0] < COUNTEREXAMPLE_BUDGETS[1]
    assert max(less.spend - COUNTEREXAMPLE_BUDGETS[0], more.spend - COUNTEREXAMPLE_BUDGETS[1]) < 1e-9
    assert more.quality < 0.8 * less.quality
    exact = [exact_plan(sources, budget).quality for budget in COUNTEREXAMPLE_BUDGETS]
    assert exact[0] <= exact[1]
    assert exact[1] > more.quality


@laws
@given(tame)
def test_refusal_free_budget_is_where_refusals_end(sources: Beliefs) -> None:
    budget = refusal_free_budget(sources)
    assert np.allclose(exact_plan(sources, 1.001 * budget).taken, 1.0)
    assert exact_plan(sources, 0.9 * budget).taken.min() < 1


@laws
@given(tame, st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_the_budget_for_a_share_of_the_sources_is_the_smallest(sources: Beliefs, share: float) -> None:
    wanted = share * len(sources.link_rate) - 1e-9
    budget = budget_for_sources(sources, share)
    # The source at the edge is in for a part of the time before it is in whole.
    assert np.count_nonzero(exact_plan(sources, budget * (1 + 1e-6)).taken == 1) >= wanted
    assert np.count_nonzero(exact_plan(sources, budget * (1 - 1e-3)).taken == 1) < wanted


def test_sources_with_nothing_to_give_are_not_waited_for() -> None:
    some = [(0.1, 5.0, 1e-3), (0.1, 1.0, 1e-3)]
    with_others = of(*some, (0.0, 5.0, 1e-3), (0.1, 0.0, 1e-3))
    for share in 0.5, 0.9, 1.0:
        assert budget_for_sources(with_others, share) == budget_for_sources(of(*some), share)
    assert edge_prices(with_others)[2:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, np.nan])
def test_a_share_of_the_sources_is_one(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        budget_for_sources(of((0.1, 1.0, 1e-5)), share)


@laws
@given(tame, powers(-2, 1))
def test_the_price_is_what_one_more_fetch_brings(sources: Beliefs, share: float) -> None:
    budget = share * refusal_free_budget(sources)
    step = 1e-4 * budget
    less, plan, more = (exact_plan(sources, budget + side * step) for side in (-1, 0, 1))
    # Prices fall as the budget grows: a gain lies between those at its ends.
    assert (plan.quality - less.quality) / step >= plan.price * (1 - 1e-4)
    assert (more.quality - plan.quality) / step <= plan.price * (1 + 1e-4)


@laws
@given(tame, powers(-1.2, 3))
def test_without_page_cost_the_whole_budget_is_recrawls(sources: Beliefs, share: float) -> None:
    budget = share * float(sources.profit_decay.sum())  # at least one crawl in sixteen lifetimes of interest
    plan = paper_plan(sources, budget, page_cost=False)
    # Where a source waits for more than some 25 lifetimes, its price is p but for rounding: how long cannot be told.
    untold = float(np.sum(sources.profit_decay[sources.profit_decay * plan.interval > 25])) / 25
    assert abs(float(np.sum(1 / plan.interval)) - budget) <= 1e-6 * budget + untold
    assert np.isclose(plan.recrawls, np.sum(1 / plan.interval))


def test_without_page_cost_a_source_at_the_edge_does_not_overspend_the_budget() -> None:
    sources = of((0.1, 1.0, 1e-6), (0.1, 0.1, 1e-6), (0.1, 0.1, 3.1622776601683794e-4))
    plan = paper_plan(sources, 5.66e-5, page_cost=False)
    assert plan.recrawls <= 5.66e-5 * (1 + 1e-6)


@pytest.mark.parametrize(
    ("source", "budget", "page_cost"),
    [
        ((1e-5, 1.0, 1e-3), 1e-5, False),  # 1 / N is a hundred lifetimes of interest: the price is p but for rounding
        ((0.1, 5.0, 1e-5), 0.1, True),  # N = λ: nothing is left for crawls
    ],
)
def test_a_source_the_papers_plan_keeps_is_crawled_at_all(
    source: tuple[float, float, float], budget: float, page_cost: bool
) -> None:
    plan = paper_plan(of(source), budget, page_cost)
    assert plan.taken.tolist() == [1.0]
    assert np.isfinite(plan.interval[0])
    assert plan.quality > 0


@laws
@given(tame, powers(-3, 1))
def test_paper_plan_keeps_to_the_budget_unless_it_cannot_afford_even_the_best_source(
    sources: Beliefs, share: float
) -> None:
    budget = share * float(sources.link_rate.sum())
    plan = paper_plan(sources, budget)
    assert set(plan.taken.tolist()) <= {0.0, 1.0}
    most = sources.page_profit / -np.expm1(-sources.profit_decay / sources.link_rate)  # p, section 4.1
    best = most >= most.max() * (1 - 1e-9)
    if sources.link_rate[best].sum() < budget:
        assert plan.spend <= budget * (1 + 1e-6)
    else:
        assert (plan.taken[~best] == 0).all()
    kept = np.isfinite(plan.interval)
    if (sources.profit_decay * plan.interval)[kept].max(initial=0.0) > 30:
        return  # beyond that the price is p but for rounding
    price = most[kept] * g(sources.profit_decay[kept] * plan.interval[kept])  # eq. 4, the same for all it keeps
    assert np.allclose(price, plan.price, rtol=1e-6)


# What is refused


@pytest.mark.parametrize("make", [exact_plan, paper_plan, lambda sources, budget: refusal_free_budget(sources)])
@pytest.mark.parametrize("name", ["link_rate", "page_profit", "profit_decay"])
@pytest.mark.parametrize("wrong", [np.nan, -1.0, np.inf, -np.inf])
def test_broken_numbers_are_refused_with_the_name_of_their_column(make: type, name: str, wrong: float) -> None:
    sources = of((0.1, 1.0, 1e-5), (0.2, 1.0, 1e-5), (0.3, 1.0, 1e-5))
    getattr(sources, name)[1] = wrong
    with pytest.raises(ValueError, match=rf"{name} .*source 1"):
        make(sources, 1.0)


@pytest.mark.parametrize("make", [exact_plan, paper_plan])
@pytest.mark.parametrize("wrong", [np.nan, -1.0, 0.0, np.inf])
def test_a_broken_budget_is_refused(make: type, wrong: float) -> None:
    with pytest.raises(ValueError, match="budget"):
        make(of((0.1, 1.0, 1e-5)), wrong)


@pytest.mark.parametrize("make", [exact_plan, paper_plan])
def test_without_sources_nothing_is_spent(make: type) -> None:
    nothing = beliefs(np.zeros(0), np.zeros(0), np.zeros(0))
    plan = make(nothing, 1.0)
    assert (plan.spend, plan.quality, len(plan.interval)) == (0.0, 0.0, 0)
    assert refusal_free_budget(nothing) == 0.0
