"""Sources that wait, by site."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.core.rota import Rota


def arranged(*site: int) -> Rota:
    rota = Rota()
    rota.arrange(np.array(site, np.intp), max(site, default=-1) + 1)
    return rota


def test_the_most_wanted_source_of_the_free_sites_is_the_best() -> None:
    rota = arranged(0, 0, 1, 2)
    free = np.array([True, True, False])
    rota.refresh(np.array([1.0, 3.0, 2.0, 9.0]), free)
    assert rota.best(free) == (3.0, 1)
    rota.take(1)
    assert rota.best(np.array([False, True, False])) == (2.0, 2)


def test_a_site_that_is_free_again_competes_again() -> None:
    rota = arranged(0, 0, 1)
    free = np.array([False, True])
    rota.refresh(np.array([5.0, 4.0, 1.0]), free)
    assert rota.best(free) == (1.0, 2)
    free[0] = True
    rota.offer(0)
    assert rota.best(free) == (5.0, 0)


def test_sources_kept_out_are_never_given() -> None:
    rota = arranged(0, 1)
    free = np.ones(2, bool)
    rota.refresh(np.array([-np.inf, -np.inf]), free)
    assert rota.best(free) is None
    rota.offer(0)
    assert rota.best(free) is None


def test_one_site_needs_no_heap() -> None:
    rota = arranged(0, 0, 0)
    free = np.ones(1, bool)
    rota.refresh(np.array([1.0, 7.0, -2.0]), free)
    assert rota.best(free) == (7.0, 1)
    rota.take(1)
    assert rota.best(free) == (1.0, 0)
    assert rota.best(np.zeros(1, bool)) is None


def test_a_site_of_pages_alone_has_no_source_to_offer() -> None:
    rota = arranged(0, 1)
    free = np.ones(4, bool)
    rota.refresh(np.array([1.0, 2.0]), free)
    rota.offer(3)
    assert rota.best(free) == (2.0, 1)


def test_no_sources_no_best() -> None:
    rota = arranged()
    rota.refresh(np.zeros(0), np.zeros(0, bool))
    assert rota.best(np.zeros(0, bool)) is None


def test_a_round_is_one_decision_for_a_hundred_sources_and_longer_for_many() -> None:
    assert arranged(*range(100)).round == 1
    assert arranged(*range(100)).round < arranged(*range(2000)).round < 2000 / 20


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 8), st.integers(1, 30))
def test_served_from_one_round_sources_come_by_key_while_their_sites_are_free(
    seed: int, sources: int, sites: int, decisions: int
) -> None:
    """The heap against a search through everything. A site is locked by each decision and freed some later."""
    rng = np.random.default_rng(seed)
    site = np.unique(rng.integers(0, sites, sources), return_inverse=True)[1]  # sites with sources come first
    rota = Rota()
    rota.arrange(site, sites)
    free = np.ones(sites, bool)
    locked: list[int] = []
    key = np.zeros(0)
    for decision in range(decisions):
        if decision % rota.round == 0:
            key = rng.choice([-np.inf, *range(1, 9)], sources).astype(float)
            rota.refresh(key.copy(), free)
        open_ = np.where(free[site], key, -np.inf)
        best = rota.best(free)
        if not np.isfinite(open_).any():
            assert best is None
        else:
            assert best is not None
            assert best[0] == open_.max() == key[best[1]]
            assert free[site[best[1]]]
            key[best[1]] = -np.inf
            rota.take(best[1])
            free[site[best[1]]] = False
            locked.append(int(site[best[1]]))
        if len(locked) > 2 or (locked and best is None):
            freed = locked.pop(0)
            free[freed] = True
            rota.offer(freed)
