"""Profiles by hour of the week."""

from __future__ import annotations

import numpy as np

from mayfly.core.estimates.rhythm import BINS, Rhythm
from mayfly.core.model import DAY, HOUR, WEEK


def week_of(rhythm: Rhythm, host: int, busy_hour: int, links: int, days: int = 7) -> None:
    """Hourly crawls; all links of a day come in one hour."""
    for hour in range(24 * days):
        at = hour * HOUR
        rhythm.count(host, at, at + HOUR, links if hour % 24 == busy_hour else 0, links / 24)


def level(rhythm: Rhythm, host: int, hour: float) -> float:
    rhythm.refit()
    return float(rhythm.ahead(np.array([host]), hour * HOUR)[0])


def test_only_hosts_with_two_hundred_links_have_a_profile_of_their_own() -> None:
    rhythm = Rhythm()
    week_of(rhythm, host=0, busy_hour=8, links=100)  # 700 links
    week_of(rhythm, host=1, busy_hour=20, links=28)  # 196
    week_of(rhythm, host=2, busy_hour=20, links=29)  # 203
    assert level(rhythm, 0, 8) > 3 * level(rhythm, 0, 20)
    assert level(rhythm, 1, 8) == level(rhythm, 9, 8)  # follows all hosts, as one never seen does
    assert level(rhythm, 1, 20) == level(rhythm, 9, 20)
    assert level(rhythm, 2, 20) > level(rhythm, 1, 20)


def test_until_two_hundred_links_are_counted_the_week_is_flat() -> None:
    rhythm = Rhythm()
    week_of(rhythm, host=0, busy_hour=8, links=28)
    assert {level(rhythm, 0, hour) for hour in range(0, BINS, 5)} == {1.0}
    week_of(rhythm, host=1, busy_hour=8, links=1)
    assert level(rhythm, 0, 8) > 1


def test_long_gaps_say_nothing_of_the_hour() -> None:
    rhythm = Rhythm()
    for day in range(7):
        rhythm.count(0, day * DAY, day * DAY + 3 * HOUR + 1, 500, 100.0)
    assert level(rhythm, 0, 1.5) == 1.0


def test_a_profile_is_one_on_the_average_and_never_silent() -> None:
    rhythm = Rhythm()
    week_of(rhythm, host=0, busy_hour=8, links=2000)
    levels = [level(rhythm, 0, hour) for hour in range(BINS)]
    assert np.isclose(np.mean(levels), 1.0)
    assert min(levels) > 0


def test_span_counts_hours_by_how_busy_they_are() -> None:
    rhythm = Rhythm()
    week_of(rhythm, host=0, busy_hour=8, links=300)
    rhythm.refit()
    assert np.isclose(rhythm.span(0, 5 * WEEK, 6 * WEEK), WEEK)
    busy, quiet = rhythm.span(0, 7 * HOUR, 10 * HOUR), rhythm.span(0, 15 * HOUR, 18 * HOUR)
    assert busy > 3 * HOUR > quiet > 0
    pieces = sum(rhythm.span(0, 1.7e9 + k * 1000.0, 1.7e9 + (k + 1) * 1000.0) for k in range(900))
    assert np.isclose(pieces, rhythm.span(0, 1.7e9, 1.7e9 + 900_000.0), rtol=1e-9)


def test_span_of_a_flat_week_is_time_itself() -> None:
    assert np.isclose(Rhythm().span(3, 1.7e9 + 17.0, 1.7e9 + 98_765.0), 98_748.0)


def test_many_hosts_are_kept_apart() -> None:
    """Also those seen after a refit, and more than there was room for."""
    rhythm = Rhythm()
    for host in range(40):
        week_of(rhythm, host, busy_hour=host % 24, links=60)
        if host % 7 == 0:
            rhythm.refit()
    assert rhythm.span(39, 0.0, HOUR) > 0  # seen since the last refit
    for host in range(40):
        assert level(rhythm, host, host % 24) > 2 * level(rhythm, host, (host + 12) % 24)
