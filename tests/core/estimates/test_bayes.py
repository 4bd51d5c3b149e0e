"""The default estimator on sources whose truth is known."""

from __future__ import annotations

import tracemalloc
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from mayfly.core.estimates.bayes import Bayes
from mayfly.core.model import DAY, HOUR, PLACES, Beliefs, Credited, Found

PROFIT, DECAY = 4.0, 1 / (10 * HOUR)
END = 12 * DAY


def credited(
    source: np.ndarray, age: np.ndarray, place: np.ndarray | None = None, first: np.ndarray | None = None
) -> Credited:
    where = np.zeros(len(source), int) if place is None else place
    shown_first = np.ones(len(source), bool) if first is None else first
    return Credited(source, where, np.ones(len(source)), age, np.ones(len(source)), shown_first)


@cache
def watched_in_part(feedback: str) -> tuple[Beliefs, float]:
    """Pages fetched at random delays, whose clicks are seen from the fetch to now only. Also clicks by page."""
    rng = np.random.default_rng(11)
    pages = 4000
    born = rng.uniform(0, END, pages)
    fetched = born + rng.exponential(8 * HOUR, pages)
    of = np.repeat(np.arange(pages), rng.poisson(PROFIT, pages))
    at = born[of] + rng.exponential(1 / DECAY, len(of))
    told_from = fetched[of] if feedback == "fetched" else born[of]
    of, at = of[at >= told_from], at[at >= told_from]
    estimator = Bayes(feedback=feedback, hope=0.0, profit_half_life=1000 * DAY)
    estimator.added(np.zeros(1, int))
    seen = 0
    exposed_at = fetched if feedback == "fetched" else born
    for push in np.arange(HOUR * 6, END + 1, HOUR * 6):
        for page in np.flatnonzero((exposed_at < push) & (exposed_at >= push - HOUR * 6)):
            at_page = float(exposed_at[page])
            estimator.crawled(0, at_page, None, Found(1, 1, 0, 0, [0]))
            estimator.exposed(0, 0, 1.0, at_page - float(born[page]), at_page, first=True)
        now = (at < push) & (at >= push - HOUR * 6)
        estimator.counted(float(push), credited(np.zeros(now.sum(), int), at[now] - born[of[now]]))
        seen += int(now.sum())
    return estimator.beliefs(END), seen / int((exposed_at < END).sum())


@pytest.mark.parametrize("feedback", ["fetched", "all"])
def test_profit_by_exposure_is_unbiased(feedback: str) -> None:
    assert np.isclose(watched_in_part(feedback)[0].page_profit[0], PROFIT, rtol=0.1)


def test_clicks_by_page_would_be_far_off() -> None:
    """Else the test above would show nothing."""
    assert watched_in_part("fetched")[1] < 0.65 * PROFIT


@pytest.mark.parametrize("feedback", ["fetched", "all"])
def test_decay_is_recovered_from_truncated_clicks(feedback: str) -> None:
    assert np.isclose(watched_in_part(feedback)[0].profit_decay[0], DECAY, rtol=0.15)


def crawl(
    estimator: Bayes, source: int, times: np.ndarray, came: np.ndarray, left: np.ndarray, read_every: int = 10
) -> Beliefs:
    """Crawl a source at `times`, on which links are from `came` to `left`."""
    showing: set[int] = set()
    known: set[int] = set()
    since = None
    for count, now in enumerate(times.tolist()):
        there = set(np.flatnonzero((came <= now) & (left > now)).tolist())
        new = there - known
        known |= there
        found = Found(len(new), len(new), len(there & showing), len(showing - there))
        estimator.crawled(source, now, since, found)
        showing, since = there, now
        if count % read_every == 0:
            estimator.beliefs(now)
    return estimator.beliefs(float(times[-1]))


def by_day(rate: float, days: float, depth: float, rng: np.random.Generator) -> np.ndarray:
    """Links that come at `rate` on the average, most at noon and few at night."""
    at = np.sort(rng.uniform(0, days * DAY, rng.poisson(rate * (1 + depth) * days * DAY)))
    level = (1 - depth * np.cos(2 * np.pi * at / DAY)) / (1 + depth)
    return at[rng.random(len(at)) < level]


@pytest.mark.parametrize("seed", range(3))
def test_rate_is_recovered_from_uneven_gaps_through_day_and_night(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rate = 300 / DAY
    came = by_day(rate, 21, 0.9, rng)
    gaps = rng.choice([0.3 * HOUR, HOUR, 2.5 * HOUR], 600, p=[0.4, 0.4, 0.2])
    times = np.cumsum(gaps)
    hour = times % DAY / HOUR
    times = times[(times < 21 * DAY) & ((hour > 7) | (rng.random(len(times)) < 0.3))]  # few crawls by night
    estimator = Bayes()
    estimator.added(np.zeros(1, int))
    beliefs = crawl(estimator, 0, times, came, np.full(len(came), np.inf))
    assert np.isclose(beliefs.link_rate[0], rate, rtol=0.15)


def test_noon_is_held_to_be_busier_than_midnight() -> None:
    rng = np.random.default_rng(1)
    estimator = Bayes()
    estimator.added(np.zeros(1, int))
    came = by_day(300 / DAY, 21, 0.9, rng)
    crawl(estimator, 0, np.arange(0, 21 * DAY, HOUR), came, np.full(len(came), np.inf))
    noon, midnight = (float(estimator.beliefs(21 * DAY + hour * HOUR).rhythm[0]) for hour in (12, 0))
    assert noon > 1.4
    assert midnight < 0.5


@pytest.mark.parametrize("life", [HOUR, 2 * HOUR])
def test_rate_is_recovered_where_links_leave_faster_than_we_come(life: float) -> None:
    rng = np.random.default_rng(5)
    rate = 400 / DAY
    came = by_day(rate, 15, 0.0, rng)
    left = came + rng.exponential(life, len(came))
    times = np.cumsum(rng.choice([HOUR, 4 * HOUR], 150))
    times = times[times < 15 * DAY]
    estimator = Bayes(rhythm=False)
    estimator.added(np.zeros(1, int))
    beliefs = crawl(estimator, 0, times, came, left)
    seen = [np.sum((came <= now) & (came > then) & (left > now)) for then, now in pairwise(times.tolist())]
    assert np.sum(seen) / (times[-1] - times[0]) < 0.7 * rate  # simply counted, many are missed
    assert np.isclose(beliefs.link_rate[0], rate, rtol=0.3)
    assert 0.5 < beliefs.link_loss[0] * life < 2


def test_an_unknown_source_is_like_its_host_and_an_unknown_host_like_all() -> None:
    estimator = Bayes(hope=0.0)
    estimator.added(np.array([0, 0, 1, 1, 2]))  # the second of host 0, the second of host 1, and host 2 stay unseen
    for push in range(1, 200):
        for source in 0, 2:
            estimator.exposed(source, 0, 1.0, 0.0, (push - 1) * HOUR, first=True)
        many = 6 if push % 2 else 4
        estimator.counted(push * HOUR, credited(np.zeros(many, int), np.full(many, 1800.0)))
    profit = estimator.beliefs(200 * HOUR).page_profit
    assert profit[0] > profit[1] > profit[4] > profit[3] > profit[2]


def test_what_a_source_shows_first_is_valued_apart_from_what_it_repeats() -> None:
    """An archive links the great stories too, but others had shown them: a crawl of it brings only the lesser ones."""
    estimator = Bayes(hope=0.0)
    estimator.added(np.array([0, 0]))
    for push in range(1, 200):
        at = (push - 1) * HOUR
        estimator.exposed(0, 0, 0.5, 0.0, at, first=True)  # a great story, first on the front page
        estimator.exposed(1, 0, 0.5, 0.0, at, first=False)
        estimator.exposed(1, 0, 1.0, 0.0, at, first=True)  # a small one, on the archive alone
        source, first = np.repeat([0, 1, 1], [9, 9, 1]), np.repeat([True, False, True], [9, 9, 1])
        estimator.counted(push * HOUR, credited(source, np.full(19, 1800.0), first=first))
    beliefs = estimator.beliefs(200 * HOUR)
    assert np.isclose(beliefs.found_profit[0], beliefs.page_profit[0], rtol=0.05)
    assert np.isclose(beliefs.page_profit[1], beliefs.page_profit[0] * 5 / 9, rtol=0.1)
    assert np.isclose(beliefs.found_profit[1], beliefs.page_profit[0] / 9, rtol=0.3)


def test_firsts_may_be_left_out() -> None:
    estimator = Bayes(firsts=False)
    estimator.added(np.array([0, 0]))
    estimator.exposed(0, 0, 1.0, 0.0, 0.0, first=True)
    estimator.exposed(1, 0, 1.0, 0.0, 0.0, first=False)
    estimator.counted(HOUR, credited(np.zeros(9, int), np.full(9, 600.0)))
    beliefs = estimator.beliefs(HOUR)
    assert (beliefs.found_profit == beliefs.page_profit).all()


def test_a_source_that_repeats_is_judged_by_others_of_its_host_that_repeat() -> None:
    """Nothing was yet seen first on the second archive; the first one tells what to expect of it."""
    estimator = Bayes(hope=0.0, rhythm=False)
    estimator.added(np.array([0, 0, 0]))
    for push in range(1, 200):
        at = (push - 1) * HOUR
        for source, found in enumerate((Found(5, 5, 5, 5), Found(1, 20, 5, 20), Found(0, 20, 5, 20))):
            estimator.crawled(source, push * HOUR, at, found)
        for source in 0, 1, 2:
            estimator.exposed(source, 0, 1.0, 0.0, at, first=source == 0)
        estimator.exposed(1, 0, 1.0, 0.0, at, first=True)
        source = np.repeat([0, 1, 2, 1], [9, 9, 9, 1])
        first = np.repeat([True, False, False, True], [9, 9, 9, 1])
        estimator.counted(push * HOUR, credited(source, np.full(28, 1800.0), first=first))
    beliefs = estimator.beliefs(200 * HOUR)
    assert beliefs.found_profit[2] < 0.5 * beliefs.page_profit[2]
    assert beliefs.found_profit[0] > 0.9 * beliefs.page_profit[0]


def test_hope_is_for_what_is_little_known_and_fades_with_knowledge() -> None:
    seen = []
    for hope in 0.0, 1.0:
        estimator = Bayes(hope=hope)
        estimator.added(np.array([0, 1]))
        for push in range(1, 300):
            estimator.exposed(0, 0, 1.0, 0.0, (push - 1) * HOUR, first=True)
            estimator.counted(push * HOUR, credited(np.zeros(3, int), np.full(3, 1800.0)))
        seen.append(estimator.beliefs(300 * HOUR).page_profit)
    extra = seen[1] / seen[0] - 1
    assert extra[1] > 2 * extra[0] > 0


def test_without_feedback_exposure_is_not_held_against_a_source() -> None:
    estimator = Bayes(feedback="none")
    estimator.added(np.array([0, 0]))
    for _ in range(100):
        estimator.exposed(0, 0, 1.0, 0.0, 0.0, first=True)
    estimator.counted(DAY, credited(np.zeros(0, int), np.zeros(0)))
    profit = estimator.beliefs(DAY).page_profit
    assert profit[0] == profit[1]


def test_links_of_twins_count_a_little() -> None:
    """A source that only shows what another showed before is kept in mind, far below one that shows it first."""
    estimator = Bayes(rhythm=False)
    estimator.added(np.array([0, 0, 0]))
    for day in range(1, 11):
        for source, found in enumerate((Found(20, 20, 5, 20), Found(0, 20, 5, 20), Found(0, 0, 5, 0))):
            estimator.crawled(source, day * DAY, (day - 1) * DAY, found)
    first, twin, silent = estimator.beliefs(10 * DAY).link_rate.tolist()
    assert first > 5 * twin
    assert twin > 2 * silent


def test_a_million_sources_fit_into_a_gigabyte() -> None:
    tracemalloc.start()
    try:
        estimator = Bayes()
        estimator.added(np.repeat(np.arange(50_000), 20))
        beliefs = estimator.beliefs(0.0)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(beliefs.link_rate) == 1_000_000
    assert held > 50_000_000  # the columns are there, and were counted
    assert peak < 1_000_000_000


def test_a_day_of_clicks_feeds_the_profit_and_not_the_decay() -> None:
    """The same pages and clicks; of one half of the hosts only the day is known."""
    rng = np.random.default_rng(5)
    estimator = Bayes(hope=0.0, profit_half_life=1000 * DAY)
    estimator.added(np.arange(2))
    for day in range(1, 15):
        for source in (0, 1):
            estimator.crawled(source, (day - 1) * DAY, None, Found(20, 20, 0, 0, [0] * 20))
            for _ in range(20):
                estimator.exposed(source, 0, 1.0, 0.0, (day - 1) * DAY, first=True)
        number = rng.poisson(PROFIT, (2, 20))
        source = np.repeat([0, 1], number.sum(axis=1))
        age = rng.exponential(2 * HOUR, len(source))
        days = credited(source, np.where(source, 12 * HOUR, age))
        estimator.counted(day * DAY, days._replace(timed=source == 0))
    told = estimator.beliefs(14 * DAY)
    assert told.page_profit == pytest.approx(PROFIT, rel=0.15)
    assert told.profit_decay[0] == pytest.approx(1 / (2 * HOUR), rel=0.15)
    assert told.profit_decay[1] == pytest.approx(told.profit_decay[0], rel=0.5)  # nothing of its own: as the others


def test_it_learns_the_same_whether_or_not_anyone_asks_meanwhile() -> None:
    """As nobody does while the past is told again. Pages are worth many clicks, high on the source more."""
    believed = []
    for asked in (True, False):
        rng = np.random.default_rng(5)
        estimator = Bayes()
        estimator.added(np.zeros(2, int))
        for push in range(1, 240):
            now = push * HOUR
            for source in (0, 1):
                place = int(rng.integers(PLACES))
                found = Found(1, 1, 5, 0, [place])
                estimator.crawled(source, now - 60.0, now - 60.0 - HOUR, found)
                estimator.exposed(source, place, 1.0, 60.0, now - 50.0, first=True)
                clicks = rng.poisson((place + 1) * 20.0)
                at = rng.exponential(DAY, clicks)
                told = credited(np.full(clicks, source), at, np.full(clicks, place))
                estimator.counted(now, told)
            if asked:
                estimator.beliefs(now)
        believed.append(estimator.beliefs(now))
    for asked_for, not_asked_for in zip(*believed, strict=True):
        np.testing.assert_allclose(not_asked_for, asked_for, rtol=0.02)
