"""What places are worth: learned apart from the source, on one scale, by all who share a budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.core.estimates.bayes import Bayes
from mayfly.core.model import DAY, HOUR, NO_EVIDENCE, PLACES, Evidence, Found

from .test_bayes import DECAY, PROFIT, credited


def test_clicks_are_learned_by_place_apart_from_the_source() -> None:
    estimator = Bayes()
    estimator.added(np.array([0]))
    top, bottom = 4, 20
    for push in range(1, 200):
        now = push * HOUR
        estimator.crawled(0, now - 1800, now - HOUR - 1800, Found(2, 2, 10, 2, [top, bottom]))
        for place in top, bottom:
            estimator.exposed(0, place, 1.0, 0.0, now - 1800, first=True)
        estimator.beliefs(now)
        source, age, place = np.zeros(10, int), np.full(10, 600.0), np.array([top] * 9 + [bottom])
        estimator.counted(now, credited(source, age, place))
    worth = estimator.beliefs(200 * HOUR).place_worth
    assert worth[top] > 1.3
    assert worth[bottom] < 0.7
    assert len(worth) == PLACES
    assert np.isclose((worth[top] + worth[bottom]) / 2, 1.0, atol=0.05)  # one for the mean page found


@pytest.mark.parametrize("fetched_at_place", [0, 3])
def test_profit_is_that_of_the_mean_page_wherever_pages_stood_when_they_were_fetched(fetched_at_place: int) -> None:
    """A page that is fetched late was shown by other sources since, and so stands elsewhere than where it was found."""
    rng = np.random.default_rng(2)
    estimator = Bayes(hope=0.0)
    estimator.added(np.array([0]))
    for push in range(1, 400):
        now = push * HOUR
        estimator.crawled(0, now - 1800, now - HOUR - 1800, Found(1, 1, 10, 1, [0]))
        estimator.exposed(0, fetched_at_place, 1.0, 0.0, now - 1800, first=True)
        estimator.beliefs(now)
        clicks = rng.poisson(PROFIT * (1 - np.exp(-push * HOUR / DAY)))  # of all pages so far, each fading in a day
        source, age = np.zeros(clicks, int), rng.exponential(DAY, clicks)
        estimator.counted(now, credited(source, age, np.full(clicks, fetched_at_place)))
    assert np.isclose(estimator.beliefs(400 * HOUR).page_profit[0], PROFIT, rtol=0.1)


@pytest.mark.parametrize("truth", [0.02, 300.0])
def test_a_place_is_not_judged_by_what_was_believed_of_sources_when_nothing_was_known(truth: float) -> None:
    """Pages of two places are alike, but those of one were fetched while the first guess of P was far off."""
    rng = np.random.default_rng(7)
    early, late, pages, days = 5, 9, 40, 24
    estimator = Bayes(hope=0.0, profit_half_life=1000 * DAY)
    estimator.added(np.zeros(2, int))
    born: list[tuple[float, int]] = []
    for day in range(days):
        place = early if day < 2 else late
        for _ in range(pages):
            estimator.crawled(0, day * DAY, None, Found(1, 1, 0, 0, [place]))
            estimator.exposed(0, place, 1.0, 0.0, day * DAY, first=True)
            born.append((day * DAY, place))
        left = np.array([np.exp(-DECAY * (day * DAY - at)) for at, _ in born])
        count = rng.poisson(truth * left * (1 - np.exp(-DECAY * DAY)))
        of = np.repeat(np.arange(len(born)), count)
        age = np.array([day * DAY - at for at, _ in born])[of] + np.minimum(
            rng.exponential(1 / DECAY, len(of)), 0.99 * DAY
        )
        where = np.array([place for _, place in born])[of]
        estimator.counted((day + 1) * DAY, credited(np.zeros(len(of), int), age, where))
        believed = estimator.beliefs((day + 1) * DAY)
    assert np.isclose(believed.place_worth[early] / believed.place_worth[late], 1.0, rtol=0.5)
    assert np.isclose(believed.page_profit[0], truth, rtol=0.25)


def test_fetched_pages_are_on_the_whole_not_much_better_than_those_found() -> None:
    """Most pages are found where nobody clicks, and half of the fetched ones are elsewhere."""
    poor, rich, pages = 20, 5, 50
    estimator = Bayes(hope=0.0)
    estimator.added(np.zeros(1, int))
    estimator.crawled(0, 0.0, None, Found(1000, 1000, 0, 0, [poor] * 1000))
    for place in (poor, rich) * pages:
        estimator.exposed(0, place, 1.0, 0.0, 0.0, first=True)
    clicks = 20 * pages
    age = np.random.default_rng(3).exponential(1 / DECAY, clicks)
    estimator.counted(30 * DAY, credited(np.zeros(clicks, int), age, np.full(clicks, rich)))
    worth = estimator.beliefs(30 * DAY).place_worth
    assert worth[rich] > 10 * worth[poor]
    assert (worth[rich] + worth[poor]) / 2 < 1.6


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_those_who_share_a_budget_have_one_scale_of_places(seed: int) -> None:
    """Each of two sees some hosts; of what places are worth they know what one would who sees all."""
    one, few, many = seen_by(range(5), seed), seen_by(range(1), seed), seen_by(range(1, 5), seed)
    told = [each.evidence() for each in (few, many)]
    for estimator, others in zip((one, few, many), (NO_EVIDENCE, told[1], told[0]), strict=True):
        estimator.lean_on(others)
        estimator.counted(30 * DAY, credited(np.zeros(0, int), np.zeros(0), np.zeros(0, int)))
    worth = [each.beliefs(30 * DAY).place_worth for each in (one, few, many)]
    assert np.allclose(worth[1], worth[0]) and np.allclose(worth[2], worth[0])
    few.lean_on(Evidence(places=(1.0, 2.0)))  # of another version: what it knows of places is nothing to us
    few.counted(30 * DAY, credited(np.zeros(0, int), np.zeros(0), np.zeros(0, int)))
    assert np.allclose(few.beliefs(30 * DAY).place_worth, worth[0])


def seen_by(hosts: range, seed: int) -> Bayes:
    """Who has looked at these hosts, a source each: a push of clicks on pages at places by chance."""
    estimator = Bayes()
    estimator.added(np.arange(len(hosts)))
    clicks = []
    for number, host in enumerate(hosts):
        rng = np.random.default_rng([seed, host])
        places = rng.integers(0, PLACES, 40).tolist()
        estimator.crawled(number, 0.0, None, Found(40, 40, 0, 0, places))
        for place in places[:20]:
            estimator.exposed(number, place, 1.0, 0.0, 0.0, first=True)
            clicks += [(number, place)] * rng.poisson(1.5)
    source, place = np.array(clicks, int).reshape(-1, 2).T
    estimator.counted(30 * DAY, credited(source, np.full(len(source), HOUR), place))
    return estimator


def test_places_may_be_left_out() -> None:
    estimator = Bayes(places=False)
    estimator.added(np.array([0]))
    estimator.exposed(0, 4, 1.0, 0.0, 0.0, first=True)
    estimator.counted(HOUR, credited(np.zeros(90, int), np.full(90, 600.0), np.full(90, 4)))
    assert (estimator.beliefs(HOUR).place_worth == 1).all()
