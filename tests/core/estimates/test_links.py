"""Rates of links that come and go."""

from __future__ import annotations

import numpy as np
import pytest

from mayfly.core.estimates.links import Links
from mayfly.core.model import DAY, HOUR, Found


def links(**changes: object) -> Links:
    made = Links(**({"half_life": 3 * DAY, "trust": 1.0, "twin_share": 0.05, "rhythm": False} | changes))
    made.grow(np.array([0, 0, 1]))
    return made


def crawl_every(made: Links, source: int, gap: float, number: int, begin: float, end: float) -> None:
    for at in np.arange(begin + gap, end + 1, gap).tolist():
        made.crawled(source, at - gap, at, Found(number, number, 20, 0))


@pytest.mark.parametrize("gap", [600.0, HOUR, 12 * HOUR, 2 * DAY])
def test_the_rate_does_not_depend_on_how_often_we_came(gap: float) -> None:
    made = links()
    daily = 288
    crawl_every(made, 0, gap, round(daily * gap / DAY), 0.0, 20 * DAY)
    assert np.isclose(made.rates()[0] * DAY, daily, rtol=0.08)


def test_a_change_of_pace_is_followed_within_some_half_lives() -> None:
    made = links()
    crawl_every(made, 0, 6 * HOUR, 25, 0.0, 20 * DAY)
    crawl_every(made, 0, 6 * HOUR, 5, 20 * DAY, 32 * DAY)
    assert 19 < made.rates()[0] * DAY < 28  # 100 a day before, 20 since


def test_little_known_sources_lean_on_their_host_then_on_all() -> None:
    made = links()
    crawl_every(made, 0, 6 * HOUR, 25, 0.0, 20 * DAY)
    rate = made.rates() * DAY
    assert np.isclose(rate[1], rate[0], rtol=0.05)
    made.grow(np.array([1]))
    crawl_every(made, 2, 6 * HOUR, 1, 0.0, 20 * DAY)
    rate = made.rates() * DAY
    assert rate[3] < 0.2 * rate[1]


def test_links_that_stay_have_a_small_loss_and_links_that_go_a_large_one() -> None:
    made = links()
    for hour in range(1, 300):
        made.crawled(0, (hour - 1) * HOUR, hour * HOUR, Found(1, 1, 30, 0))
        made.crawled(1, (hour - 1) * HOUR, hour * HOUR, Found(10, 10, 10, 10))
    stays, goes, unknown = made.losses().tolist()
    assert stays < 1 / (7 * DAY)
    assert np.isclose(goes, np.log(2) / HOUR, rtol=0.15)  # half of them go in an hour
    assert np.isclose(unknown, 1 / (7 * DAY))


def test_a_long_silence_is_soon_forgotten_when_links_come_again() -> None:
    made = links()
    crawl_every(made, 2, DAY, 20, 0.0, 14 * DAY)
    crawl_every(made, 0, DAY, 0, 0.0, 14 * DAY)
    silent = float(made.rates()[0]) * DAY
    made.crawled(0, 14 * DAY, 15 * DAY, Found(20, 20, 0, 0))
    assert silent < 1
    assert made.rates()[0] * DAY > 8


@pytest.mark.parametrize("half_life", [HOUR, 3 * DAY])
def test_a_gap_of_many_half_lives_is_taken(half_life: float) -> None:
    made = links(half_life=half_life)
    made.crawled(0, 0.0, 60 * DAY, Found(60, 60, 0, 5))
    assert np.isfinite(made.rates()).all()
    assert made.rates()[0] > 0


@pytest.mark.parametrize("gap", [2.0, 600.0, HOUR])
def test_sources_that_never_change_their_pace_have_no_rhythm_however_young_the_crawl(gap: float) -> None:
    made, links_each = links(rhythm=True), np.array([2, 12, 4])
    for crawl in range(100):
        at = 1.7e9 + crawl * gap
        for source, number in enumerate(links_each.tolist()):
            made.crawled(source, at, at + gap, Found(number, number, 20, 0))
        rate, ahead = made.rates(), made.rhythm(at + gap)
        assert ahead.min() > 0.75
        assert ahead.max() < 1.25
    assert np.allclose(rate * ahead * gap, links_each, rtol=0.15)


def test_the_rhythm_is_learned_though_nobody_asks_for_rates_meanwhile() -> None:
    """As while the past is told again."""
    learned = []
    for asked in (True, False):
        made = links(rhythm=True)
        for hour in range(14 * 24):
            at = 1.7e9 + hour * HOUR
            for source in range(3):
                found = 10 if 8 <= (at // HOUR) % 24 < 20 else 1
                made.crawled(source, at, at + HOUR, Found(found, found, 20, 0))
            made.take_stock()
            if asked:
                made.rates()
        learned.append([made.rhythm(1.7e9 + (14 * 24 + hour) * HOUR)[0] for hour in range(24)])
    assert learned[0] == learned[1]
    assert max(learned[1]) > 3 * min(learned[1])


def test_a_first_guess_of_rates_gives_way_to_a_few_links_of_anyone() -> None:
    made = links()
    crawl_every(made, 2, 2.0, 1, 0.0, 60.0)
    assert made.rates()[0] > 0.1  # another host's has one each two seconds


def test_a_host_that_showed_nothing_yet_is_not_given_up_by_looks_at_many_of_its_sources() -> None:
    made = links(trust=0.05)
    made.grow(np.full(5, 2))
    crawl_every(made, 2, 10.0, 1, 0.0, 100.0)
    for source in range(3, 8):
        made.crawled(source, 0.0, 10.0, Found(0, 0, 20, 0))
    silent = made.rates()[3:]
    assert silent.sum() > 0.05  # one link in twenty seconds, after fifty seconds of five sources without any
    made.crawled(3, 10.0, 20.0, Found(20, 20, 0, 0))
    assert (
        made.rates()[4:].max() < silent.max()
    )  # now it is known who shows them, though the host's mean is 20 times that
