"""Pages that wait, by site."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.core.frontier import Frontier
from mayfly.core.model import DAY, HOUR, PLACES, Beliefs, beliefs

NEVER_DROP = -np.inf


def worth_of(*profit: float, decay: float = 1 / DAY, places: np.ndarray | None = None) -> Beliefs:
    size = len(profit)
    made = beliefs(np.full(size, 1e-4), np.array(profit, float), np.full(size, decay))
    return made if places is None else made._replace(place_worth=places)


def valued(*profit: float, sites: int = 2) -> Frontier:
    frontier = Frontier("worth")
    frontier.grow(sites)
    frontier.revalue(worth_of(*profit), 0.0, NEVER_DROP, NEVER_DROP)
    return frontier


@pytest.mark.parametrize(("order", "expected"), [("newest", [2, 3, 1]), ("oldest", [1, 3, 2])])
def test_pages_come_by_when_they_were_found(order: str, expected: list[int]) -> None:
    frontier = Frontier(order)
    frontier.grow(1)
    for page, found_at in (1, 10.0), (2, 30.0), (3, 20.0):
        frontier.add(page, 0, 0.0, found_at, [0], 0)
    taken = []
    while (head := frontier.head(0)) is not None:
        taken.append(head[1])
        frontier.take(head[1])
    assert taken == expected
    assert len(frontier) == 0


def test_valued_pages_come_by_what_they_are_worth_now() -> None:
    frontier = valued(1.0, 5.0)
    frontier.add(1, 0, published=0.0, found_at=0.0, sources=[0], place=0)
    frontier.add(2, 0, published=-DAY, found_at=0.0, sources=[1], place=0)  # 5/e
    frontier.add(3, 0, published=-2 * DAY, found_at=0.0, sources=[1], place=0)  # 5/e²
    assert frontier.head(0)[1] == 2
    assert np.isclose(frontier.worth(2, now=DAY), 5 * np.exp(-2))
    assert [page for page, _ in frontier.best(0.0, 2)] == [2, 1]
    assert np.allclose([worth for _, worth in frontier.best(0.0, 5)], [5 / np.e, 1.0, 5 / np.e**2])


def test_a_page_says_whether_it_leads_its_site() -> None:
    frontier = valued(1.0, 5.0)
    assert frontier.add(1, 0, 0.0, 0.0, [0], 0)
    assert frontier.add(2, 0, 0.0, 0.0, [1], 0)
    assert not frontier.add(3, 0, 0.0, 0.0, [0], 0)
    assert frontier.add(4, 1, 0.0, 0.0, [0], 0)  # another site
    assert (frontier.site_of(2), frontier.site_of(4)) == (0, 1)


def test_more_sources_make_a_page_the_mean_of_them_at_a_new_place() -> None:
    places = np.ones(PLACES)
    places[1] = 3.0
    frontier = Frontier("worth")
    frontier.grow(1)
    frontier.revalue(worth_of(2.0, 6.0, places=places), 0.0, NEVER_DROP, NEVER_DROP)
    frontier.add(1, 0, 0.0, 0.0, sources=[0], place=0)
    assert np.isclose(frontier.worth(1, 0.0), 2.0)
    frontier.show(1, source=1, place=1)
    frontier.revalue(worth_of(2.0, 6.0, places=places), 0.0, NEVER_DROP, NEVER_DROP)
    assert np.isclose(frontier.worth(1, 0.0), 3.0 * (2.0 + 6.0) / 2)


def test_pages_worth_too_little_are_dropped_and_poor_ones_stand_aside() -> None:
    frontier = valued(0.01, 1.0, 10.0)
    for page, source in (1, 0), (2, 1), (3, 2):
        frontier.add(page, 0, 0.0, 0.0, [source], 0)
    assert frontier.revalue(worth_of(0.01, 1.0, 10.0), 0.0, drop=0.1, admit=5.0) == [1]
    assert 1 not in frontier
    assert frontier.head(0)[1] == 3
    frontier.take(3)
    assert frontier.head(0) is None  # page 2 is kept for cheaper hours
    assert 2 in frontier
    frontier.revalue(worth_of(0.01, 1.0, 10.0), 0.0, drop=0.1, admit=0.5)
    assert frontier.head(0)[1] == 2


def test_the_order_of_age_drops_nothing() -> None:
    frontier = Frontier("newest")
    frontier.grow(1)
    frontier.add(1, 0, 0.0, 0.0, [0], 0)
    assert frontier.revalue(worth_of(0.0), 100 * DAY, drop=1.0, admit=1.0) == []
    assert frontier.head(0)[1] == 1


steps = st.lists(
    st.tuples(st.sampled_from(["add", "add", "add", "take", "show", "revalue"]), st.integers(0, 10**6)), max_size=60
)


@settings(max_examples=80, deadline=None)
@given(steps)
def test_the_head_of_a_site_is_its_best_waiting_page_whatever_happened_before(steps: list[tuple[str, int]]) -> None:
    sites, sources = 3, 4
    profit = np.array([1.0, 2.0, 5.0, 0.3])
    places = np.linspace(0.5, 2.0, PLACES)
    now, fresh = 0.0, 0
    frontier = Frontier("worth")
    frontier.grow(sites)
    frontier.revalue(worth_of(*profit, places=places), now, NEVER_DROP, NEVER_DROP)
    waiting: dict[int, int] = {}
    for what, dice in steps:
        now += HOUR
        known = sorted(waiting)
        if what == "add":
            fresh += 1
            waiting[fresh] = dice % sites
            frontier.add(fresh, dice % sites, now - dice % 7 * HOUR, now, [dice % sources], dice % PLACES)
        elif what == "take" and known:
            page = known[dice % len(known)]
            assert frontier.take(page) == waiting.pop(page)
        elif what == "show" and known:
            frontier.show(known[dice % len(known)], dice % sources, dice % PLACES)
        elif what == "revalue":
            profit = np.roll(profit, 1)
            assert frontier.revalue(worth_of(*profit, places=places), now, NEVER_DROP, NEVER_DROP) == []
        assert len(frontier) == len(waiting)
        for site in range(sites):
            mine = [page for page, of in waiting.items() if of == site]
            head = frontier.head(site)
            if not mine:
                assert head is None
            else:
                best = max(frontier.worth(page, now) for page in mine)
                assert head[1] in mine
                assert np.isclose(frontier.worth(head[1], now), best)


def test_many_pages_come_and_go() -> None:
    """Room grows and is used again; nothing is lost."""
    frontier = valued(1.0, sites=1)
    rng = np.random.default_rng(1)
    for page in range(5000):
        frontier.add(page, 0, -float(rng.uniform(0, DAY)), 0.0, [0], 0)
        if page % 3 == 0:
            frontier.take(frontier.head(0)[1])
        if page % 500 == 0:
            frontier.revalue(worth_of(1.0), 0.0, NEVER_DROP, NEVER_DROP)
    assert len(frontier) == 5000 - 1667
    last = np.inf
    while (head := frontier.head(0)) is not None:
        assert head[0] <= last
        last = head[0]
        frontier.take(head[1])
    assert len(frontier) == 0
