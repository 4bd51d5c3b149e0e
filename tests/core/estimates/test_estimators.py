"""One battery for every estimator: a new one is tested by being listed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from mayfly.core.estimates import ESTIMATORS, Estimator
from mayfly.core.model import DAY, HOUR, PLACES, Beliefs, Credited, Found

pytestmark = pytest.mark.parametrize("name", ESTIMATORS)
FEEDBACKS = ["fetched", "all", "none"]
COARSE = {"paper": {"bin_width": 7200.0}}  # fewer bins, to be quick


def made(name: str, **options: object) -> Estimator:
    return ESTIMATORS[name](**COARSE.get(name, {}), **options)


def no_clicks() -> Credited:
    whole, real = np.zeros(0, np.int64), np.zeros(0)
    return Credited(whole, whole, real, real, real, np.zeros(0, bool))


def clicks_of(rows: list[tuple[int, int, float, float, float]]) -> Credited:
    """Rows of source, place, share, age, number."""
    if not rows:
        return no_clicks()
    source, place, share, age, number = zip(*rows, strict=True)
    first = np.arange(len(rows)) % 3 > 0
    return Credited(
        np.array(source), np.array(place), np.array(share), np.array(age, float), np.array(number, float), first
    )


def sound(beliefs: Beliefs, sources: int) -> None:
    """Columns of the right length, of numbers a plan can use."""
    for field, column in zip(beliefs._fields, beliefs, strict=True):
        assert len(column) == (PLACES if field == "place_worth" else sources), field
        assert np.isfinite(column).all(), field
        assert (column >= 0).all(), field
    for field in "link_rate", "page_profit", "found_profit", "profit_decay", "rhythm", "place_worth":
        assert (getattr(beliefs, field) > 0).all(), field


def life(estimator: Estimator, seed: int, steps: int = 70, clicked: bool = True) -> Iterator[tuple[float, int]]:
    """Tell random but possible events; yields the time and the number of sources after each."""
    rng = np.random.default_rng(seed)
    sources, now, seen = 0, 1.7e9, {}
    pages: list[tuple[int, int, float]] = []
    fetched: list[tuple[int, int, float]] = []
    for _ in range(steps):
        now += float(rng.exponential(HOUR))
        what = rng.random() if sources else 0.0
        if what < 0.08:
            more = int(rng.integers(1, 4))
            estimator.added(rng.integers(0, 3, more))
            sources += more
        elif what < 0.6:
            source = int(rng.integers(sources))
            new, again = int(rng.poisson(2)), int(rng.poisson(1))
            places = [int(place) for place in rng.integers(0, PLACES, new)]
            found = Found(new, new + again, int(rng.poisson(5)), int(rng.poisson(2)), places)
            estimator.crawled(source, now, seen.get(source), found)
            seen[source] = now
            pages += [(source, place, now - float(rng.uniform(0, HOUR))) for place in places]
        elif what < 0.8 and pages:
            source, place, born = pages.pop(int(rng.integers(len(pages))))
            fetched.append((source, place, born))
            estimator.exposed(
                source, place, float(rng.choice([1.0, 0.5, 0.0])), now - born, now, first=bool(rng.integers(2))
            )
        else:
            many = int(rng.poisson(3)) if fetched and clicked else 0
            chosen = [fetched[int(rng.integers(len(fetched)))] for _ in range(many)]
            rows = [(source, place, 1.0, now - born, int(rng.poisson(3)) + 1) for source, place, born in chosen]
            estimator.counted(now, clicks_of(rows))
        yield now, sources


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("seed", range(2))
def test_beliefs_are_sound_after_every_event(name: str, feedback: str, seed: int) -> None:
    estimator = made(name, feedback=feedback)
    for now, sources in life(estimator, seed, clicked=feedback != "none"):
        sound(estimator.beliefs(now), sources)


def test_beliefs_are_sound_before_any_event(name: str) -> None:
    estimator = made(name)
    sound(estimator.beliefs(0.0), 0)
    estimator.added(np.array([0, 0, 1]))
    beliefs = estimator.beliefs(0.0)
    sound(beliefs, 3)
    for column in beliefs[:-1]:
        assert len(set(column.tolist())) == 1  # nothing tells them apart


@pytest.mark.parametrize("sources", [0, 2])
def test_empty_pushes_teach_nothing_and_break_nothing(name: str, sources: int) -> None:
    estimator = made(name)
    estimator.added(np.zeros(sources, np.int64))
    before = estimator.beliefs(0.0)
    for push in range(5):
        estimator.counted(push * HOUR, no_clicks())
        sound(estimator.beliefs(push * HOUR), sources)
    for then, now in zip(before, estimator.beliefs(5 * HOUR), strict=True):
        assert np.allclose(then, now)


def test_the_same_events_give_the_same_beliefs(name: str) -> None:
    told = []
    for _ in range(2):
        estimator = made(name)
        *_, (now, _) = life(estimator, seed=7)
        told.append(estimator.beliefs(now))
    for one, other in zip(*told, strict=True):
        assert one.tolist() == other.tolist()


def test_reading_beliefs_changes_nothing_and_answers_stay_as_they_were(name: str) -> None:
    """Asked twice at one moment, it tells the same; and nobody who holds an answer sees it change."""
    estimator = made(name)
    held, kept = None, None
    for now, _ in life(estimator, seed=3, steps=60):
        one, other = estimator.beliefs(now), estimator.beliefs(now)
        for first, second in zip(one, other, strict=True):
            assert first.tolist() == second.tolist()
        if held is not None and kept is not None:
            for column, copy in zip(held, kept, strict=True):
                assert column.tolist() == copy
        held, kept = one, [column.tolist() for column in one]


def crawl_daily(estimator: Estimator, source: int, links: int, days: int = 10) -> None:
    estimator.crawled(source, 0.0, None, Found(50, 50, 0, 0))
    for day in range(1, days + 1):
        estimator.crawled(source, day * DAY, (day - 1) * DAY, Found(links, links, 10, links))


def test_an_unseen_source_is_held_to_be_like_the_mean_of_all(name: str) -> None:
    estimator = made(name)
    estimator.added(np.array([0, 1, 2]))
    crawl_daily(estimator, 0, links=10)
    crawl_daily(estimator, 1, links=50)
    rate = estimator.beliefs(10 * DAY).link_rate * DAY
    assert rate[0] < rate[2] < rate[1]
    assert 0.75 < rate[2] / rate[:2].mean() < 1.05


def test_what_the_first_crawl_shows_says_nothing_of_the_rate(name: str) -> None:
    estimator = made(name)
    estimator.added(np.array([0, 1]))
    crawl_daily(estimator, 0, links=10)
    before = estimator.beliefs(10 * DAY).link_rate
    estimator.crawled(1, 10 * DAY, None, Found(5000, 5000, 0, 0))
    assert estimator.beliefs(10 * DAY).link_rate.tolist() == before.tolist()


def test_a_source_that_shows_more_links_has_the_higher_rate(name: str) -> None:
    estimator = made(name)
    estimator.added(np.array([0, 0]))
    crawl_daily(estimator, 0, links=2)
    crawl_daily(estimator, 1, links=40)
    rate = estimator.beliefs(10 * DAY).link_rate
    assert rate[1] > 3 * rate[0]


def test_sources_added_later_take_part(name: str) -> None:
    estimator = made(name)
    estimator.added(np.array([0]))
    crawl_daily(estimator, 0, links=5)
    estimator.counted(10 * DAY, no_clicks())
    first = estimator.beliefs(10 * DAY)
    estimator.added(np.array([0, 4]))
    sound(estimator.beliefs(10 * DAY), 3)
    crawl_daily(estimator, 2, links=80)
    estimator.exposed(2, 0, 1.0, HOUR, 10 * DAY, first=True)
    estimator.counted(11 * DAY, clicks_of([(2, 0, 1.0, 2 * HOUR, 9)]))
    beliefs = estimator.beliefs(11 * DAY)
    sound(beliefs, 3)
    assert beliefs.link_rate[2] > 3 * first.link_rate[0]


def well_and_ill_loved(estimator: Estimator) -> Beliefs:
    """Two sources of two hosts with forty pages each; the clicks are all of the first."""
    estimator.added(np.array([0, 1]))
    estimator.beliefs(0.0)
    for push in range(1, 41):
        now = push * HOUR
        for source in 0, 1:
            estimator.exposed(source, 0, 1.0, 600.0, now - 1800.0, first=True)
        estimator.counted(now, clicks_of([(0, 0, 1.0, age * 900.0, 2) for age in range(1, 5)]))
    return estimator.beliefs(41 * HOUR)


def test_many_clicks_raise_the_profit_above_that_of_a_source_with_none(name: str) -> None:
    profit = well_and_ill_loved(made(name)).page_profit
    assert profit[0] > 3 * profit[1]


@pytest.mark.parametrize("gap", [1e-6, 1.0, 400 * DAY])
def test_gaps_of_any_length_are_taken(name: str, gap: float) -> None:
    estimator = made(name)
    estimator.added(np.array([0]))
    estimator.crawled(0, 1.7e9, None, Found(3, 3, 0, 0))
    estimator.crawled(0, 1.7e9 + gap, 1.7e9, Found(1, 2, 2, 1))
    sound(estimator.beliefs(1.7e9 + gap), 1)


def test_two_crawls_at_the_same_moment_are_taken(name: str) -> None:
    estimator = made(name)
    estimator.added(np.array([0]))
    estimator.crawled(0, 100.0, None, Found(3, 3, 0, 0))
    estimator.crawled(0, 100.0, 100.0, Found(1, 2, 2, 1))
    sound(estimator.beliefs(100.0), 1)


def test_every_estimator_is_made_by_its_name_alone(name: str) -> None:
    estimator: Estimator = ESTIMATORS[name]()
    estimator.added(np.array([0]))
    sound(estimator.beliefs(0.0), 1)
