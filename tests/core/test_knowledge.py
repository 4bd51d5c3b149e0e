"""What is known is bounded, in time and in number."""

import numpy as np

from mayfly.core import knowledge
from mayfly.core.events import NewPage
from mayfly.core.knowledge import FORGET_AFTER, Knowledge
from mayfly.core.model import DAY


def known_with(pages):
    known = Knowledge(np.random.default_rng(1))
    known.add_sources(["h"], ["s"], 0.0)
    for number in range(pages):
        known.add_page(NewPage(number), 0, number * DAY, None)
    return known


def test_pages_found_too_long_ago_are_forgotten():
    known = known_with(10)
    assert known.forget(FORGET_AFTER + 4 * DAY) == [0, 1, 2, 3, 4]
    assert list(known.pages) == [5, 6, 7, 8, 9]


def test_of_too_many_pages_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(knowledge, "MOST_PAGES", 7)
    known = known_with(10)
    assert known.forget(9 * DAY) == [0, 1, 2]
    assert known.forget(9 * DAY) == []
