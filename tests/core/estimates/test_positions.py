"""What is shown high is clicked more: the curve is learned, and who began at the bottom does not stay there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.estimates.bayes import Bayes
from mayfly.core.estimates.positions import MOST, Positions
from mayfly.core.model import DAY, HOUR, Credited, Found


def counted(positions: Positions, page, position, clicks, shows, at: float = 0.0) -> Positions:
    page, position = np.tile(page, 2), np.tile(position, 2)
    number, show = np.concatenate([clicks, shows]).astype(float), np.arange(len(page)) >= len(clicks)
    positions.count(at, page, position, number, show)
    return positions


def readers(seed: int, exponent: float, pages: int = 200, shows: int = 100) -> Positions:
    """Pages that stand higher the better they are, but not always; readers who look down by a curve."""
    rng = np.random.default_rng(seed)
    worth = np.sort(rng.lognormal(-2.0, 0.7, pages))[::-1]
    usual = np.linspace(1, 10, pages)
    page = np.repeat(np.arange(pages), 10)
    position = np.tile(np.arange(1, 11), pages)
    times = rng.poisson(shows * np.exp(-0.5 * (position - usual[page]) ** 2 / 4))
    clicks = rng.poisson(times * np.minimum(worth[page], 1.0) * position**-exponent)
    return counted(Positions(), page, position, clicks, times)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_the_curve_is_found_though_good_pages_stand_high(exponent: float) -> None:
    curve = readers(1, exponent).propensity[:10]
    assert curve == pytest.approx(np.arange(1, 11.0) ** -exponent, rel=0.2)


def test_pages_that_never_move_say_nothing_of_positions() -> None:
    page = np.arange(1, 11)
    positions = counted(Positions(), page, page, 1000 // page, np.full(10, 10_000))
    assert positions.propensity == pytest.approx(np.ones(len(positions.propensity)))


def test_unknown_positions_and_an_untaught_curve_weigh_one() -> None:
    assert Positions().weight(np.array([0, 1, 5, 900])).tolist() == [1.0] * 4
    assert readers(2, 1.0).weight(np.array([0, 1])).tolist() == [1.0, 1.0]


def test_clicks_without_shows_teach_nothing() -> None:
    page, position = np.repeat(np.arange(50), 2), np.tile([1, 9], 50)
    positions = counted(Positions(), page, position, np.tile([90, 10], 50), np.zeros(100))
    assert positions.weight(np.array([9])) == 1.0


def test_what_was_not_shown_for_long_is_forgotten() -> None:
    page, position = np.repeat(np.arange(50), 2), np.tile([1, 9], 50)
    positions = counted(Positions(), page, position, np.tile([90, 10], 50), np.full(100, 1000))
    assert positions.weight(np.array([9])) > 5.0
    counted(positions, page + 100, position, np.full(100, 50), np.full(100, 1000), at=30 * DAY)
    assert positions.weight(np.array([9])) == pytest.approx(1.0, abs=0.1)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 3000), st.integers(0, 50), st.integers(0, 500)), min_size=1
    ),
    cut=st.integers(0, 20),
)
def test_weights_are_bounded_and_never_fall(rows, cut: int) -> None:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    positions = counted(Positions(), *columns)
    weight = positions.weight(np.arange(1, 4000))
    assert (weight >= 1).all() and (weight <= MOST).all() and (np.diff(weight) >= 0).all()


# The loop: what is believed to be worth more is shown higher, and so clicked more.

SOURCES, SHOWS, ROUNDS, TRUTH = 8, 400, 80, np.array([1.7] * 7 + [2.0])
GOOD = SOURCES - 1  # and at first the last


def in_the_loop(weighted: bool) -> tuple[float, float]:
    """What P of the good source is believed to be at the end, and at which position it stands then."""
    rng = np.random.default_rng(3)
    bayes, positions = Bayes(hope=0.0, profit_half_life=2 * DAY, places=False), Positions()
    bayes.added(np.arange(SOURCES))  # a host each: nobody is like another
    believed = 2.0 - np.arange(SOURCES) / 5
    looks = np.arange(1.0, SOURCES + 1) ** -1.0
    for push in range(1, ROUNDS + 1):
        now = push * 3 * HOUR
        for source in range(SOURCES):
            bayes.crawled(source, now - 3 * HOUR, None, Found(1, 1, 0, 0, [0]))
            bayes.exposed(source, 0, 1.0, 0.0, now - 3 * HOUR, first=True)
        # Each query wants something else, so the order is not always the same. All clicks come at once.
        liked = believed * rng.lognormal(0.0, 0.2, (SHOWS, SOURCES))
        position = np.argsort(np.argsort(-liked, axis=1), axis=1) + 1
        clicked = rng.random((SHOWS, SOURCES)) < TRUTH / SHOWS * 20 * looks[position - 1]
        source = np.tile(np.arange(SOURCES), (SHOWS, 1))
        page = push * SOURCES + source
        everything = np.ones(SHOWS * SOURCES)
        positions.count(now, page.ravel(), position.ravel(), everything, everything > 0)
        positions.count(now, page[clicked], position[clicked], np.ones(clicked.sum()), np.zeros(clicked.sum(), bool))
        worth = positions.weight(position[clicked]) if weighted else np.ones(clicked.sum())
        of = source[clicked]
        flat = np.zeros(len(of))
        bayes.counted(now, Credited(of, flat.astype(int), flat + 1, flat + 60.0, worth / 20, flat == 0))
        believed = bayes.beliefs(now).page_profit
    return float(believed[GOOD]), float(1 + (believed > believed[GOOD]).sum())


def test_a_source_ranked_low_at_first_is_not_kept_low() -> None:
    profit, place = in_the_loop(weighted=True)
    assert profit == pytest.approx(TRUTH[GOOD], rel=0.2)
    assert place == 1


def test_without_weights_it_is() -> None:
    profit, place = in_the_loop(weighted=False)
    assert profit < 0.5 * TRUTH[GOOD]
    assert place > 2
