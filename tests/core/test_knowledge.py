"""What is known is bounded, in time and in number; and whom clicks are credited to."""

import numpy as np

from mayfly.core import knowledge
from mayfly.core.events import ClicksCounted, NewPage
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
    assert list(known.forget(FORGET_AFTER + 4 * DAY)) == [0, 1, 2, 3, 4]
    assert list(known.pages) == [5, 6, 7, 8, 9]


def test_of_too_many_pages_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(knowledge, "MOST_PAGES", 7)
    known = known_with(10)
    assert list(known.forget(9 * DAY)) == [0, 1, 2]
    assert not known.forget(9 * DAY)


def test_a_source_is_not_credited_with_clicks_before_it_showed_the_page() -> None:
    """Logs may come hours late. What a source did not show then, it was not exposed to."""
    known = Knowledge(np.random.default_rng(0))
    known.add_sources(["a", "a", "a"], ["a", "a", "a"], 0.0)
    page = known.add_page(NewPage(7), 0, 10.0, 0.0)
    page.shown_by(1, None)
    page.fetched = True
    page.shown_by(2, 30.0)
    credited = known.credit(ClicksCounted(50.0, np.array([7, 7, 8]), np.array([25.0, 30.0, 30.0]), np.ones(3)))
    assert credited.source.tolist() == [0, 1, 0, 1, 2]
    assert credited.share.tolist() == [0.5, 0.5, 0.5, 0.5, 0.0]  # a click counts once for its place
    assert credited.first.tolist() == [True, False, True, False, False]
    assert credited.age.tolist() == [20.0, 20.0, 25.0, 25.0, 25.0]
