"""Decay by host from clicks seen in part."""

from __future__ import annotations

import numpy as np
import pytest

from mayfly.core.estimates.decay import CANDIDATES, FIRST_GUESS, Decay
from mayfly.core.model import DAY, HOUR


def clicks_between(rng: np.random.Generator, decay: float, begin: np.ndarray, end: np.ndarray, profit: float):
    """Ages of the clicks on pages seen from age `begin` to age `end`."""
    page = np.repeat(np.arange(len(begin)), rng.poisson(profit, len(begin)))
    age = rng.exponential(1 / decay, len(page))
    return age[(age >= begin[page]) & (age < end[page])]


@pytest.mark.parametrize("hours", [2, 6, 20, 60, 150])
def test_decay_is_recovered_though_pages_are_seen_in_part(hours: float) -> None:
    rng = np.random.default_rng(hours)
    decay, life = 1 / (hours * HOUR), hours * HOUR
    begin = rng.exponential(life / 2, 6000)
    end = begin + rng.exponential(1.5 * life, 6000)
    estimate = Decay()
    estimate.grow(1)
    estimate.expose(np.zeros(6000, int), begin, end)
    age = clicks_between(rng, decay, begin, end, 4.0)
    estimate.count(np.zeros(len(age), int), age, np.ones(len(age)))
    assert np.isclose(estimate.fit()[0], decay, rtol=0.1)


def test_time_that_passes_exposes_as_pages_told_later_would_be() -> None:
    early, late = Decay(), Decay()
    for estimate in early, late:
        estimate.grow(2)
    host, begin, end = np.array([0, 0, 1]), np.array([0.0, 500.0, 9000.0]), np.array([1000.0, 700.0, 20_000.0])
    early.expose(host, begin, end)
    early.advance(DAY, forget=1.0)
    late.expose(host, begin, end + DAY)
    for estimate in early, late:
        estimate.count(np.array([0, 0, 1]), np.array([900.0, 40_000.0, 70_000.0]), np.array([30.0, 50.0, 80.0]))
    assert np.allclose(early.fit(), late.fit(), rtol=1e-4)


def test_without_clicks_every_host_has_the_first_guess() -> None:
    estimate = Decay()
    estimate.grow(3)
    assert np.allclose(estimate.fit(), FIRST_GUESS, rtol=0.02)


def test_a_host_without_clicks_leans_on_all_hosts() -> None:
    rng = np.random.default_rng(3)
    decay = 1 / (4 * HOUR)
    begin, end = np.zeros(3000), np.full(3000, 2 * DAY)
    estimate = Decay()
    estimate.grow(2)
    estimate.expose(np.zeros(3000, int), begin, end)
    age = clicks_between(rng, decay, begin, end, 3.0)
    estimate.count(np.zeros(len(age), int), age, np.ones(len(age)))
    assert np.isclose(estimate.fit()[1], decay, rtol=0.2)


def test_hosts_with_many_clicks_are_told_apart() -> None:
    rng = np.random.default_rng(4)
    decays = [1 / (3 * HOUR), 1 / (40 * HOUR)]
    estimate = Decay()
    estimate.grow(2)
    begin, end = np.zeros(5000), np.full(5000, 5 * DAY)
    for host, decay in enumerate(decays):
        estimate.expose(np.full(5000, host), begin, end)
        age = clicks_between(rng, decay, begin, end, 3.0)
        estimate.count(np.full(len(age), host), age, np.ones(len(age)))
    assert np.allclose(estimate.fit(), decays, rtol=0.1)


def test_what_is_forgotten_weighs_less() -> None:
    rng = np.random.default_rng(5)
    estimate = Decay()
    estimate.grow(1)
    begin, end = np.zeros(2000), np.full(2000, 30 * DAY)
    for decay, forget in (1 / (3 * HOUR), 1.0), (1 / (40 * HOUR), 0.02):
        estimate.advance(1.0, forget)
        estimate.expose(np.zeros(2000, int), begin, end)
        age = clicks_between(rng, decay, begin, end, 3.0)
        estimate.count(np.zeros(len(age), int), age, np.ones(len(age)))
    assert np.isclose(estimate.fit()[0], 1 / (40 * HOUR), rtol=0.15)


def test_decays_beyond_all_candidates_end_near_the_last() -> None:
    estimate = Decay()
    estimate.grow(2)
    estimate.expose(np.array([0, 1]), np.zeros(2), np.full(2, 60 * DAY))
    estimate.count(np.array([0, 1]), np.array([1.0, 50 * DAY]), np.array([1e6, 1e6]))
    fitted = estimate.fit()
    step = CANDIDATES[1] / CANDIDATES[0]
    assert CANDIDATES[-1] / step**2 < fitted[0] <= CANDIDATES[-1] * step
    assert CANDIDATES[0] / step <= fitted[1] < CANDIDATES[0] * step**2


def test_what_pages_have_shown_is_seen_anew_when_interest_is_held_to_fade_otherwise() -> None:
    estimate = Decay()
    estimate.grow(2)
    begin, end = np.array([0.0, 3 * HOUR, 0.0]), np.array([2 * HOUR, 5 * HOUR, DAY])
    estimate.expose(np.array([0, 0, 1]), begin, end)
    before, after = CANDIDATES[[10, 12]], CANDIDATES[[4, 12]]
    shown, left = estimate.restated(before, after)

    def seen(decay: float) -> tuple[float, float]:
        then, now = np.exp(-decay * begin[:2]), np.exp(-decay * end[:2])
        return float((then - now).sum()), float(now.sum())

    (shown_before, left_before), (shown_after, left_after) = seen(before[0]), seen(after[0])
    assert np.allclose(shown, [shown_after / shown_before, 1.0], rtol=1e-3)
    assert np.allclose(left, [left_after / left_before, 1.0], rtol=1e-3)


def part(seed: int, pages: int, life: float) -> Decay:
    """What one of several has seen of interest that fades in `life`."""
    rng = np.random.default_rng(seed)
    begin = rng.exponential(life / 2, pages)
    end = begin + rng.exponential(1.5 * life, pages)
    estimate = Decay()
    estimate.grow(1)
    estimate.expose(np.zeros(pages, int), begin, end)
    age = clicks_between(rng, 1 / life, begin, end, 4.0)
    estimate.count(np.zeros(len(age), int), age, np.ones(len(age)))
    return estimate


def test_who_saw_little_leans_on_what_others_saw() -> None:
    little, much = part(1, 3, 20 * HOUR), part(2, 4000, 20 * HOUR)
    alone = little.fit()[0]
    little.lean_on(much.told())
    assert abs(np.log(little.fit()[0] * 20 * HOUR)) < 0.1 < abs(np.log(alone * 20 * HOUR))


def test_what_others_saw_counts_by_how_much_it_was() -> None:
    one, many = part(1, 100, 20 * HOUR), part(2, 4000, 60 * HOUR)
    many.lean_on(one.told())
    assert np.isclose(many.fit()[0], 1 / (60 * HOUR), rtol=0.1)


def test_who_saw_nothing_has_no_say() -> None:
    nothing, much = Decay(), part(2, 4000, 20 * HOUR)
    nothing.grow(1)
    alone = much.fit()[0]
    much.lean_on(nothing.told())
    assert much.fit()[0] == alone


def test_who_counts_otherwise_is_not_heard() -> None:
    much = part(2, 4000, 20 * HOUR)
    alone = much.fit()[0]
    much.lean_on((1.0, 2.0, 3.0))
    much.lean_on(())
    assert much.fit()[0] == alone


def test_many_who_each_saw_next_to_nothing_know_together_what_one_would() -> None:
    seeds, life = range(60), 20 * HOUR
    parts = [part(seed, 1, life) for seed in seeds]
    told = np.array([one.told() for one in parts])
    one = parts[0]
    one.lean_on(tuple((told.sum(axis=0) - told[0]).tolist()))
    stranger = Decay()  # who has only what was said
    stranger.grow(1)
    stranger.lean_on(tuple(told.sum(axis=0).tolist()))
    assert abs(np.log(stranger.fit()[0] * life)) < 0.5
    assert abs(np.log(one.fit()[0] * life)) < 0.6
