"""Whom clicks are credited to."""

from __future__ import annotations

import numpy as np

from mayfly.core.events import ClicksCounted, NewPage
from mayfly.core.knowledge import Knowledge


def test_a_source_is_not_credited_with_clicks_before_it_showed_the_page() -> None:
    """Logs may come hours late. What a source did not show then, it was not exposed to."""
    known = Knowledge(np.random.default_rng(0))
    known.add_sources(["a", "a", "a"], ["a", "a", "a"], 0.0)
    page = known.add_page(NewPage(7), 0, 10.0, 0.0)
    page.shown_by(1, None)
    page.fetched_at = 20.0
    page.shown_by(2, 30.0)
    credited = known.credit(ClicksCounted(50.0, np.array([7, 7, 8]), np.array([25.0, 30.0, 30.0]), np.ones(3)))
    assert credited.source.tolist() == [0, 1, 0, 1, 2]
    assert credited.share.tolist() == [0.5, 0.5, 0.5, 0.5, 0.0]  # a click counts once for its place
    assert credited.first.tolist() == [True, False, True, False, False]
    assert credited.age.tolist() == [20.0, 20.0, 25.0, 25.0, 25.0]
