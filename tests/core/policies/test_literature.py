"""Rules of the literature: their rates and indices against the papers' own formulas."""

from __future__ import annotations

import numpy as np
import pytest

from mayfly.core.model import DAY, HOUR, beliefs
from mayfly.core.policies import POLICIES
from mayfly.core.policies.literature import crawl_rates
from mayfly.core.policies.turns import Turn

RATE = np.array([1.0, 4.0, 4.0, 30.0]) / DAY
PROFIT = np.array([2.0, 2.0, 8.0, 0.1])
DECAY = np.array([1.0, 1.0, 0.5, 3.0]) / DAY
BUDGET = 0.01
SEEN = np.zeros(4)


def planned(name: str, **options: object):
    policy = POLICIES[name](**options)
    policy.plan(beliefs(RATE, PROFIT, DECAY), BUDGET, SEEN, 0.0)
    return policy


def test_lambda_crawl_spends_the_budget_and_one_more_crawl_is_worth_the_same_everywhere() -> None:
    rates = crawl_rates(RATE, PROFIT, BUDGET)
    assert rates.sum() == pytest.approx(BUDGET)
    worth = PROFIT * RATE / (rates * (rates + RATE))  # of w·ln(1 + Δ/ρ), its harmonic staleness, by ρ
    assert worth == pytest.approx(np.full(4, worth[0]))


def test_lambda_crawl_is_due_after_its_interval() -> None:
    policy = planned("lambda-crawl", quota=1.0)
    assert policy.keys(SEEN, 1.0).sum() == pytest.approx(BUDGET)
    by_source = planned("lambda-crawl", quota=1.0, by_source=True)
    assert by_source.keys(SEEN, 1.0) == pytest.approx(crawl_rates(RATE, PROFIT * RATE, BUDGET))


@pytest.mark.parametrize("waited", [HOUR, 10 * HOUR, 5 * DAY])
def test_whittle_is_the_index_of_avrachenkov_and_borkar(waited: float) -> None:
    """Theirs counts steps; ours is theirs at ever smaller ones."""
    step = 0.1
    stays, comes, count = np.exp(-DECAY * step), RATE * PROFIT * step, waited / step
    theirs = comes * ((1 - stays**count) / (1 - stays) - count * stays**count)
    ours = planned("whittle").keys(SEEN, waited)
    assert ours / ours[0] == pytest.approx(theirs / theirs[0], rel=1e-4)


def test_whittle_reaches_its_price_when_that_spends_the_quota() -> None:
    policy = planned("whittle", sources_first=True)
    waits = np.geomspace(1.0, 100 * DAY, 20_000)
    keys = np.array([policy.keys(SEEN, wait) for wait in waits])
    due = np.where((keys >= 1).any(axis=0), waits[(keys >= 1).argmax(axis=0)], np.inf)
    assert (1 / due).sum() == pytest.approx(0.5 * BUDGET, rel=2e-3)


def test_sia_and_cho_allot_crawls_by_the_square_root() -> None:
    rates = planned("sia-cho", quota=1.0).keys(SEEN, 1.0)
    assert rates.sum() == pytest.approx(BUDGET)
    assert rates / rates[0] == pytest.approx(np.sqrt(RATE * PROFIT / (RATE * PROFIT)[0]))


def test_sia_and_cho_crawl_when_what_was_posted_is_what_will_be_until_the_next_time() -> None:
    """λ(t)·(next - t) = postings since the last crawl, where the rate falls to a quarter at noon."""
    policy = POLICIES["sia-cho"](quota=1.0)
    flat = beliefs(RATE[:1], PROFIT[:1], DECAY[:1])
    busy, quiet = (flat._replace(rhythm=np.array([rhythm])) for rhythm in (1.6, 0.4))
    budget, noon, night = 1 / (6 * HOUR), 4 * HOUR, 9 * HOUR
    policy.plan(busy, budget, SEEN[:1], 0.0)
    assert policy.keys(SEEN[:1], noon)[0] == pytest.approx(noon * budget * np.sqrt(1.6))
    policy.plan(quiet, budget, SEEN[:1], noon)
    postings = 1.6 * noon + 0.4 * (night - noon)
    until_next = 6 * HOUR / np.sqrt(0.4)
    assert policy.keys(SEEN[:1], night)[0] == pytest.approx(postings / (0.4 * until_next))


@pytest.mark.parametrize("name", ["lambda-crawl", "whittle", "sia-cho"])
def test_whose_turn_it_is(name: str) -> None:
    pages, sources = POLICIES[name](), POLICIES[name](sources_first=True)
    assert pages.pages_first and not sources.pages_first
    assert [policy.turn(9.0, 1.5, 0) for policy in (pages, sources)] == [Turn.PAGE, Turn.SOURCE]
    assert [policy.turn(9.0, 0.5, 0) for policy in (pages, sources)] == [Turn.PAGE, Turn.PAGE]
    assert [policy.turn(None, 0.5, 0) for policy in (pages, sources)] == [Turn.SOURCE, Turn.SOURCE]
