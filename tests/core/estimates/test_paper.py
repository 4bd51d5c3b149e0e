"""The paper's estimator, to the letter of sections 4.2.1 and 4.2.2."""

from __future__ import annotations

import numpy as np
import pytest

from mayfly.core.estimates.paper import Paper
from mayfly.core.model import DAY, HOUR, Credited, Found


def clicks(source: list[int], age: list[float], number: list[float] | None = None) -> Credited:
    count = np.ones(len(source)) if number is None else np.array(number, float)
    return Credited(
        np.array(source, int),
        np.zeros(len(source), int),
        np.ones(len(source)),
        np.array(age, float),
        count,
        np.ones(len(source), bool),
    )


@pytest.mark.parametrize("history", [3, 7, 10])
def test_rate_is_links_of_the_last_crawls_over_the_time_they_span(history: int) -> None:
    estimator = Paper(history=history)
    estimator.added(np.array([0, 0]))
    rng = np.random.default_rng(history)
    times, links = [1.7e9], [99]
    estimator.crawled(0, times[0], None, Found(99, 99, 0, 0))
    for _ in range(25):
        times.append(times[-1] + float(rng.integers(60, 90_000)))
        links.append(int(rng.integers(0, 30)))
        # Links another source had shown before are new to the source, not to the crawler: they do not count.
        estimator.crawled(0, times[-1], times[-2], Found(links[-1], links[-1] + 7, 3, 2))
        used = min(history, len(times) - 1)
        expected = sum(links[-used:]) / (times[-1] - times[-1 - used])
        if expected > 0:
            assert np.isclose(estimator.beliefs(times[-1]).link_rate[0], expected, rtol=1e-6)


def test_before_two_crawls_the_rate_is_the_mean_of_all_others() -> None:
    estimator = Paper()
    estimator.added(np.zeros(4, int))
    assert np.allclose(estimator.beliefs(0.0).link_rate, 1 / DAY)
    for source, links in (0, 10), (1, 40):
        estimator.crawled(source, 0.0, None, Found(0, 0, 0, 0))
        estimator.crawled(source, DAY, 0.0, Found(links, links, 0, 0))
    estimator.crawled(2, DAY, None, Found(500, 500, 0, 0))
    assert np.allclose(estimator.beliefs(DAY).link_rate * DAY, [10, 40, 25, 25], rtol=1e-6)


def test_a_silent_source_keeps_half_a_link() -> None:
    """With a rate of 0 one quiet night would end it for ever."""
    estimator = Paper(history=3)
    estimator.added(np.array([0]))
    for day in range(5):
        estimator.crawled(0, day * DAY, (day - 1) * DAY if day else None, Found(0, 0, 0, 0))
    assert np.isclose(estimator.beliefs(5 * DAY).link_rate[0], 0.5 / (3 * DAY), rtol=1e-6)


@pytest.mark.parametrize("fit", [True, False])
def test_before_any_click_profit_is_the_default_and_interest_lasts_a_day(fit: bool) -> None:
    estimator = Paper(fit=fit, default_profit=0.02)
    estimator.added(np.array([0, 0]))
    estimator.exposed(0, 0, 1.0, 60.0, HOUR, first=True)
    estimator.counted(2 * HOUR, clicks([1], [60.0]))
    beliefs = estimator.beliefs(2 * HOUR)
    assert beliefs.page_profit[0] == 0.02
    assert np.isclose(beliefs.profit_decay[0], 1 / DAY)


def test_without_a_fit_profit_is_clicks_per_page() -> None:
    estimator = Paper(fit=False)
    estimator.added(np.array([0, 0]))
    for page in range(8):
        estimator.exposed(0, 0, 1.0, 60.0, HOUR + page, first=True)
    estimator.counted(3 * HOUR, clicks([0, 0], [100.0, 5000.0], [3, 17]))
    estimator.counted(4 * HOUR, clicks([0], [7000.0], [2]))
    assert estimator.beliefs(4 * HOUR).page_profit[0] == (3 + 17 + 2) / 8
    assert np.isclose(estimator.beliefs(4 * HOUR).profit_decay[0], 1 / DAY)


def test_profit_and_decay_are_fitted_to_the_clicks() -> None:
    rng = np.random.default_rng(1)
    estimator = Paper()
    estimator.added(np.array([0]))
    pages, profit, decay = 400, 6.0, 1 / (8 * HOUR)
    for _ in range(pages):
        estimator.exposed(0, 0, 1.0, 0.0, 0.0, first=True)
    age = rng.exponential(1 / decay, rng.poisson(profit * pages))
    for day in range(7):
        some = age[(age >= day * DAY) & (age < (day + 1) * DAY)]
        estimator.counted((day + 1) * DAY, clicks([0] * len(some), some.tolist()))
    beliefs = estimator.beliefs(7 * DAY)
    assert np.isclose(beliefs.page_profit[0], profit, rtol=0.1)
    assert np.isclose(beliefs.profit_decay[0], decay, rtol=0.1)


def test_only_sources_with_new_clicks_are_fitted_again() -> None:
    estimator = Paper()
    estimator.added(np.zeros(3, int))
    for source in range(3):
        estimator.exposed(source, 0, 1.0, 0.0, 0.0, first=True)
    estimator.counted(6 * HOUR, clicks([0, 0, 1, 1], [1000.0, 9000.0, 2000.0, 4000.0]))
    first = estimator.beliefs(6 * HOUR)
    # One more page would lower both means, were both fitted again.
    estimator.exposed(0, 0, 1.0, 0.0, 0.0, first=True)
    estimator.exposed(1, 0, 1.0, 0.0, 0.0, first=True)
    estimator.counted(12 * HOUR, clicks([0], [30_000.0]))
    second = estimator.beliefs(12 * HOUR)
    assert second.page_profit[0] != first.page_profit[0]
    assert second.page_profit[1] == first.page_profit[1]
    assert second.profit_decay[1] == first.profit_decay[1]


def test_clicks_of_a_page_older_than_the_first_one_fetched_are_in_the_fit() -> None:
    """The newest page is often fetched first; the histogram must reach as far back as the oldest."""
    estimator = Paper()
    estimator.added(np.array([0]))
    now = 10 * DAY
    estimator.exposed(0, 0, 1.0, 60.0, now, first=True)
    estimator.exposed(0, 0, 1.0, 2 * DAY, now, first=True)
    estimator.counted(now + HOUR, clicks([0] * 5, [2 * DAY + 60.0 * k for k in range(5)]))
    assert estimator.beliefs(now + HOUR).page_profit[0] > 0.1  # five clicks on two pages
    estimator.counted(now + 2 * HOUR, clicks([0], [2 * DAY + HOUR]))
    assert estimator.beliefs(now + 2 * HOUR).page_profit[0] > 0.1


def test_clicks_older_than_a_week_fall_into_the_last_bin() -> None:
    estimator = Paper()
    estimator.added(np.array([0]))
    estimator.exposed(0, 0, 1.0, 0.0, 0.0, first=True)
    estimator.counted(20 * DAY, clicks([0, 0], [DAY, 19 * DAY]))
    beliefs = estimator.beliefs(20 * DAY)
    assert np.isfinite(beliefs.page_profit[0])
    assert beliefs.page_profit[0] > 0


def test_the_paper_knows_no_loss_no_rhythm_and_no_places() -> None:
    estimator = Paper()
    estimator.added(np.array([0, 0]))
    beliefs = estimator.beliefs(0.0)
    assert (beliefs.page_profit == 0.01).all()  # P_default
    assert not beliefs.link_loss.any()
    assert (beliefs.rhythm == 1).all()
    assert (beliefs.place_worth == 1).all()


def test_a_day_of_clicks_feeds_the_profit_and_not_the_decay() -> None:
    def told(timed: list[bool] | None, more: int = 0) -> tuple[float, float]:
        estimator = Paper()
        estimator.added(np.array([0]))
        for _ in range(10):
            estimator.exposed(0, 0, 1.0, 0.0, 0.0, first=True)
        rng = np.random.default_rng(1)
        ages = [*rng.exponential(3 * HOUR, 100).tolist(), *[12 * HOUR] * more]
        estimator.counted(3 * DAY, clicks([0] * len(ages), ages)._replace(timed=timed and np.array(timed)))
        beliefs = estimator.beliefs(3 * DAY)
        return float(beliefs.page_profit[0]), float(beliefs.profit_decay[0])

    profit, decay = told(None)
    twice, same = told([True] * 100 + [False] * 100, more=100)
    assert (twice, same) == (pytest.approx(2 * profit), decay)
    assert told([False] * 100) == (10.0, 1 / DAY)  # clicks by page, and the decay of before any fit
