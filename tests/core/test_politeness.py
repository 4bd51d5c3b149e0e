"""The gate: one request a site, a rest after its end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.politeness import Gate


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
