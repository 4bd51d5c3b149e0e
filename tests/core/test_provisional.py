"""Dynamic quality before it is known, and a source drawn from what was seen: made-up examples, by hand."""

import numpy as np
import pytest

from mayfly.core.habits import HOURS, by_hour_of_week, clicks_by_age
from mayfly.core.model import DAY, HOUR, WEEK
from mayfly.core.provisional import Profits, dynamic, expected_rest

MONDAY = 4 * DAY
NOW = MONDAY + 3 * WEEK


def test_seen_so_far_and_the_rest() -> None:
    """Two pages: one settled with five clicks, one an hour old with one click and half of eight still to come."""
    published = np.array([NOW - 10 * DAY, NOW - HOUR])
    fetched = published + 60.0
    decay = np.log(2) / HOUR
    rest = expected_rest(published, fetched, np.array([8.0, 8.0]), np.full(2, decay), known_until=NOW)
    assert rest == pytest.approx([0.0, 4.0], abs=1e-9)
    told = dynamic(Profits(fetched, np.array([5.0, 1.0]), rest), np.array([NOW - 8 * DAY, NOW - WEEK, NOW]), WEEK, NOW)
    assert told.seen * WEEK == pytest.approx([5.0, 5.0, 1.0])
    assert told.whole * WEEK == pytest.approx([5.0, 5.0, 5.0])
    assert told.provisional.tolist() == [False, False, True]


def test_without_any_clicks_all_is_expected_from_the_fetch_on() -> None:
    rest = expected_rest(np.zeros(1), np.array([HOUR]), np.array([8.0]), np.array([np.log(2) / HOUR]), -np.inf)
    assert rest == pytest.approx([4.0])


def test_a_page_whose_interest_never_fades_keeps_all_of_it() -> None:
    assert expected_rest(np.zeros(1), np.ones(1), np.array([3.0]), np.zeros(1), WEEK) == pytest.approx([3.0])


def test_hours_of_a_week_are_means_of_what_was_watched() -> None:
    at = MONDAY + np.array([0.5, 168.5, 336.2, 30.0]) * HOUR  # the first hour of each week, and once on Tuesday at six
    rates = by_hour_of_week(at, MONDAY, NOW)
    assert rates[0] == pytest.approx(1.0) and rates[30] == pytest.approx(1 / 3)
    assert rates.sum() == pytest.approx(4 / 3) and len(rates) == HOURS


def test_an_hour_that_was_not_watched_is_not_silent() -> None:
    rates = by_hour_of_week(np.array([MONDAY + 60.0]), MONDAY, MONDAY + 1.5 * HOUR)
    assert rates[0] == 1.0 and rates[1] == 0.0 and np.isnan(rates[2:]).all()
    assert np.isnan(by_hour_of_week(np.empty(0), NOW, NOW)).all()


def test_clicks_by_age_find_the_curve_they_were_drawn_from() -> None:
    draw = np.random.default_rng(3)
    pages, profit, decay = 4000, 6.0, 1 / (5 * HOUR)
    begin, end = draw.uniform(0, 2 * HOUR, pages), draw.uniform(10 * HOUR, 40 * HOUR, pages)
    number = draw.poisson(profit, pages)
    age, page = draw.exponential(1 / decay, number.sum()), np.repeat(np.arange(pages), number)
    seen = (age >= begin[page]) & (age < end[page])
    ages = np.linspace(0, 20 * HOUR, 41)
    curve = clicks_by_age(begin, end, age[seen], np.ones(seen.sum()), ages)
    assert curve == pytest.approx(profit * (1 - np.exp(-decay * ages)), abs=0.2)


def test_nothing_seen_is_nothing_known() -> None:
    curve = clicks_by_age(np.empty(0), np.empty(0), np.empty(0), np.empty(0), np.linspace(0, HOUR, 5))
    assert curve[0] == 0.0 and np.isnan(curve[1:]).all()
