"""Pages fetched to know their hosts better."""

from __future__ import annotations

import numpy as np

from mayfly.core.frontier import Frontier
from mayfly.core.model import DAY, HOUR, beliefs
from mayfly.core.samples import UNTRIED, Samples

HOSTS = np.array([0, 0, 1, 2])  # of sources 0 to 3
SLOW = np.full(4, 1 / (3 * DAY))


def waiting() -> Frontier:
    frontier = Frontier("worth")
    frontier.grow(2)
    frontier.revalue(beliefs(np.ones(4), np.array([4.0, 1.0, 2.0, 3.0]), np.full(4, 1 / DAY)), 0.0, -np.inf, -np.inf)
    for page, source in (10, 0), (11, 1), (12, 2), (13, 2), (14, 3):
        frontier.add(page, page % 2, 0.0, 0.0, [source], 0, merit=2.0 if page == 13 else 1.0)
    return frontier


def samples() -> Samples:
    made = Samples()
    made.grow(3, 0.0)
    made.fetched(0, 5 * HOUR)
    return made


def test_the_best_page_of_a_host_is_that_of_the_source_that_showed_it_first() -> None:
    frontier = waiting()
    frontier.show(11, 3, 0)
    assert frontier.best_by(HOSTS, 4) == {0: 10, 1: 13, 2: 14}
    frontier.take(13)
    frontier.take(14)
    assert frontier.best_by(HOSTS, 4) == {0: 10, 1: 12}


def test_nobody_is_sampled_who_was_tried_lately() -> None:
    frontier, sampled = waiting(), samples()
    sampled.choose(frontier, HOSTS, SLOW, UNTRIED)
    assert sampled.take(frontier, np.ones(2, bool)) is None


def test_the_host_longest_untried_comes_first_and_each_once() -> None:
    frontier, sampled = waiting(), samples()
    sampled.fetched(2, HOUR)
    sampled.choose(frontier, HOSTS, SLOW, UNTRIED + 2 * HOUR)
    taken = [sampled.take(frontier, np.ones(2, bool)) for _ in range(3)]
    assert taken == [13, 14, None]


def test_a_site_that_rests_is_left_alone_and_a_page_that_is_gone_is_passed_over() -> None:
    frontier, sampled = waiting(), samples()
    sampled.choose(frontier, HOSTS, SLOW, UNTRIED + 2 * HOUR)
    assert sampled.take(frontier, np.array([False, True])) == 13
    frontier.take(14)
    assert sampled.take(frontier, np.ones(2, bool)) is None


def test_pages_that_are_not_valued_are_not_sampled() -> None:
    frontier = Frontier("newest")
    frontier.grow(1)
    frontier.add(1, 0, 0.0, 0.0, [0], 0)
    assert frontier.best_by(HOSTS, 3) == {}


def test_a_clock_that_was_set_makes_nobody_untried() -> None:
    frontier, sampled = waiting(), samples()
    sampled.stepped(10 * DAY)
    sampled.choose(frontier, HOSTS, SLOW, 10 * DAY + HOUR)
    assert sampled.take(frontier, np.ones(2, bool)) is None


def test_where_interest_fades_fast_a_host_is_tried_after_a_lifetime() -> None:
    frontier, sampled = waiting(), samples()
    sampled.choose(frontier, HOSTS, np.array([1 / DAY, 1 / DAY, 1 / HOUR, 1 / DAY]), 2 * HOUR)
    assert [sampled.take(frontier, np.ones(2, bool)) for _ in range(2)] == [13, None]


def test_what_is_to_be_tried_is_not_dropped_however_poor_it_looks() -> None:
    frontier, sampled = waiting(), samples()
    now, poor = UNTRIED + 2 * HOUR, beliefs(np.ones(4), np.full(4, 1e-6), SLOW)
    dropped = frontier.revalue(poor, now, 1.0, 1.0, spared=lambda: sampled.choose(frontier, HOSTS, SLOW, now))
    assert sorted(dropped) == [10, 11, 12]
    assert {sampled.take(frontier, np.ones(2, bool)) for _ in range(2)} == {13, 14}
