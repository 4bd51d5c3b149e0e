"""The gate and the budget: one request a site, a rest after its end; so many a second, and no more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.politeness import Bucket, Gate


def test_a_site_is_locked_while_asked_and_rests_from_the_end() -> None:
    gate = Gate(10.0)
    gate.grow(2)
    gate.lock(0)
    assert gate.free.tolist() == [False, True]
    assert gate.freed(1e9) == []  # the request is still under way
    gate.release(0, at=50.0)
    assert gate.next_free == 60.0
    assert gate.freed(59.999) == []
    assert gate.freed(60.0) == [0]
    assert gate.free.all()
    assert gate.freed(60.0) == []  # told once
    assert gate.next_free == float("inf")


def test_new_sites_are_free_and_locks_survive_growing() -> None:
    gate = Gate(1.0)
    gate.grow(1)
    gate.lock(0)
    gate.grow(3)
    assert gate.free.tolist() == [False, True, True]


def test_a_gate_without_delay_stands_open() -> None:
    assert Gate(0.0).stands_open
    assert not Gate(0.1).stands_open


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 20)), max_size=40), st.floats(0.1, 15))
def test_no_site_is_free_within_its_delay(requests: list[tuple[int, float]], delay: float) -> None:
    gate, now = Gate(delay), 0.0
    gate.grow(5)
    ended: dict[int, float] = {}
    for site, step in requests:
        now += step
        gate.freed(now)
        for number, is_free in enumerate(gate.free.tolist()):
            assert is_free == (number not in ended or now >= ended[number] + delay)
        if gate.free[site]:
            gate.lock(site)
            gate.release(site, now + 1.0)
            ended[site] = now + 1.0


@given(st.lists(st.floats(0, 20), max_size=40), st.sampled_from([0.0, 3.0, 7.5, 30.0]))
def test_the_sites_that_are_soon_free_are_told_in_time(ends: list[float], ahead: float) -> None:
    gate = Gate(5.0)
    gate.grow(len(ends))
    for site, end in enumerate(ends):
        gate.lock(site)
        gate.release(site, end)
    if ends:
        gate.rest(0, 100.0)  # this one longer
    expected = sorted((end + 5.0, site) for site, end in enumerate(ends) if site and end + 5.0 <= ahead)
    assert gate.freed_by(ahead) == expected
    assert not any(gate.free)  # nothing changes by asking


@given(st.floats(0.05, 500.0), st.lists(st.tuples(st.booleans(), st.floats(0, 1)), max_size=60))
def test_a_token_that_is_kept_for_something_better_costs_no_other(rate: float, steps: list[tuple[bool, float]]) -> None:
    """Whoever takes one as soon as his patience is over has had all there were."""
    bucket, now, taken = Bucket(rate, 0.0), 0.0, 0
    bucket.start(0.0)
    for keeps, part in steps:
        now = max(now, bucket.next_token(now))
        if keeps:
            now += part * bucket.patience(now)
        assert bucket.take(now)
        taken += 1
    while bucket.take(now):
        taken += 1
    assert taken == pytest.approx(1 + rate * now, abs=1.0 + 1e-5 * taken)


@pytest.mark.parametrize("rate", [1 / 7, 3.0, 36.0, 100.0, 200.0, 999.0])
def test_whoever_is_told_that_a_token_is_there_gets_it(rate: float) -> None:
    """Clocks tick in milliseconds, and tenths of tokens do not add up to one."""
    bucket = Bucket(rate, 40_000.0)
    bucket.start(40_000.0)
    taken = 0
    for tick in range(20_000):
        now = 40_000.0 + tick / 1000
        while bucket.next_token(now) <= now:
            assert bucket.take(now)
            taken += 1
    assert taken == pytest.approx(20 * rate, abs=1.1)
