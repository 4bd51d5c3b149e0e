"""What a run was worth, against direct counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.core.model import DAY, WEEK
from mayfly.core.quality import Interest, Quality, dynamic_quality, judge, profits

laws = settings(max_examples=60, deadline=None)
WINDOW = (100.0, 200.0)


class Run:
    """A random run that keeps the order of things: published, then shown, then fetched, then clicked."""

    def __init__(self, seed: int, pages: int = 60, clicks: int = 300) -> None:
        rng = np.random.default_rng(seed)
        self.published = rng.uniform(0, 300, pages).round()
        self.shown = self.published + rng.exponential(15, pages).round()
        self.fetched = self.shown + rng.exponential(15, pages).round()
        self.shown[rng.random(pages) < 0.2] = np.inf
        self.fetched[np.isinf(self.shown) | (rng.random(pages) < 0.3)] = np.inf
        known = np.flatnonzero(np.isfinite(self.shown) & np.isinf(self.fetched))
        self.dropped = known[rng.random(len(known)) < 0.5]
        page = rng.integers(0, pages, clicks)
        at = self.published[page] + rng.exponential(40, clicks).round()
        self.interest = Interest(page, at, rng.integers(1, 5, clicks).astype(float))

    def judged(self) -> Quality:
        return judge(self.published, self.shown, self.fetched, self.interest, WINDOW, self.dropped)


@laws
@given(st.integers(0, 10_000), st.sampled_from([1.0, 7.0, 50.0]))
def test_dynamic_quality_is_eq_1_counted_page_by_page(seed: int, width: float) -> None:
    run = Run(seed)
    times = np.arange(0.0, 350.0, 3.5)
    profit = profits(run.fetched, run.interest)
    later = [
        sum(n for of, at, n in zip(*run.interest, strict=True) if of == page and at >= fetched)
        for page, fetched in enumerate(run.fetched)
    ]
    expected = [
        sum(worth for worth, fetched in zip(later, run.fetched, strict=True) if t - width <= fetched <= t) / width
        for t in times
    ]
    assert max(expected) > 0
    assert np.allclose(dynamic_quality(profit, run.fetched, times, width), expected)


@laws
@given(st.integers(0, 100_000))
def test_what_was_kept_and_what_was_missed_make_the_whole(seed: int) -> None:
    judged = Run(seed).judged()
    assert judged.share is not None
    missed = judged.never_shown, judged.too_late, judged.dropped, judged.left_waiting
    assert 0 <= judged.share <= 1
    assert all(0 <= part.share <= 1 and (part.pages > 0) == (part.share > 0) for part in missed)
    assert np.isclose(judged.share + sum(part.share for part in missed), 1.0)
    assert np.isclose(judged.share, judged.quality / judged.upper_bound)


@laws
@given(st.integers(0, 100_000))
def test_shares_are_those_of_a_count_page_by_page(seed: int) -> None:
    run = Run(seed)
    begin, end = WINDOW
    worth = dict.fromkeys(["all", "kept", "too_late", "never_shown", "dropped", "left_waiting"], 0.0)
    for page, published in enumerate(run.published):
        if not begin <= published < end:
            continue
        mine = [(at, n) for of, at, n in zip(*run.interest, strict=True) if of == page]
        everything = sum(n for _, n in mine)
        worth["all"] += everything
        if begin <= run.fetched[page] < end:
            after = sum(n for at, n in mine if at >= run.fetched[page])
            worth["kept"] += after
            worth["too_late"] += everything - after
        elif np.isinf(run.shown[page]):
            worth["never_shown"] += everything
        else:
            worth["dropped" if page in run.dropped else "left_waiting"] += everything
    judged = run.judged()
    assert np.isclose(judged.quality, worth["kept"] / 100.0)
    assert np.isclose(judged.upper_bound, worth["all"] / 100.0)
    for name in "too_late", "never_shown", "dropped", "left_waiting":
        assert np.isclose(getattr(judged, name).share, worth[name] / worth["all"]), name


def test_a_page_fetched_when_published_keeps_all() -> None:
    published = np.array([110.0, 150.0, 199.0])
    interest = Interest(np.array([0, 0, 1, 2]), np.array([110.0, 900.0, 150.0, 5000.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    judged = judge(published, published, published, interest, WINDOW)
    assert judged.share == 1.0
    assert judged.quality == judged.upper_bound == 10 / 100
    assert judged.too_late.pages == judged.left_waiting.pages == 0


def test_clicks_before_the_fetch_are_lost_and_those_at_its_moment_kept() -> None:
    interest = Interest(np.array([0, 0, 0]), np.array([119.0, 120.0, 121.0]), np.array([1.0, 10.0, 100.0]))
    judged = judge(np.array([110.0]), np.array([112.0]), np.array([120.0]), interest, WINDOW)
    assert judged.quality == 110 / 100
    assert judged.too_late.pages == 1
    assert np.isclose(judged.too_late.share, 1 / 111)


@pytest.mark.parametrize(("published", "fetched"), [(99.0, 150.0), (200.0, 210.0)])
def test_pages_published_outside_the_window_count_for_nothing(published: float, fetched: float) -> None:
    interest = Interest(np.array([0]), np.array([1000.0]), np.array([5.0]))
    judged = judge(np.array([published]), np.array([published]), np.array([fetched]), interest, WINDOW)
    assert (judged.quality, judged.upper_bound, judged.share) == (0.0, 0.0, None)


def test_pages_fetched_after_the_window_were_left_waiting() -> None:
    interest = Interest(np.array([0]), np.array([1000.0]), np.array([5.0]))
    judged = judge(np.array([150.0]), np.array([160.0]), np.array([200.0]), interest, WINDOW)
    assert judged.share == 0.0
    assert judged.left_waiting.share == 1.0


def test_delays_are_from_publication_to_fetch_of_the_pages_that_count() -> None:
    published = np.array([100.0, 110.0, 120.0, 130.0, 50.0, 190.0, 150.0])
    delay = np.array([1.0, 2.0, 3.0, 40.0, 7777.0, 9999.0, np.inf])
    judged = judge(published, published, published + delay, Interest(*(np.zeros(0, int),) * 3), WINDOW)
    assert judged.delay_median == 2.5
    assert np.isclose(judged.delay_p90, np.quantile([1.0, 2.0, 3.0, 40.0], 0.9))


def test_a_run_that_fetched_nothing_has_no_delays_and_no_share_of_anything() -> None:
    never = np.full(2, np.inf)
    interest = Interest(np.array([0, 1]), np.array([150.0, 160.0]), np.array([1.0, 3.0]))
    judged = judge(np.array([120.0, 130.0]), never, never, interest, WINDOW)
    assert (judged.delay_median, judged.delay_p90, judged.share) == (None, None, 0.0)
    assert (judged.never_shown.pages, judged.never_shown.share) == (2, 1.0)
    assert (judged.dynamic_mean, judged.dynamic_std) == (0.0, 0.0)


def test_weekly_quality_of_a_steady_run_is_steady() -> None:
    """A page worth 3 every minute for three weeks: 3/60 a second in the last week, with no spread."""
    fetched = np.arange(0.0, 3 * WEEK, 60.0)
    pages = np.arange(len(fetched))
    interest = Interest(pages, fetched + 30.0, np.full(len(fetched), 3.0))
    judged = judge(fetched, fetched, fetched, interest, (2 * WEEK, 3 * WEEK))
    assert np.isclose(judged.dynamic_mean, 3 / 60, rtol=1e-3)
    assert judged.dynamic_std < 1e-3 * judged.dynamic_mean
    late = judge(fetched, fetched, fetched, interest, (DAY, 2 * DAY))
    assert late.dynamic_std > 0.1 * late.dynamic_mean  # the first week is still filling up
