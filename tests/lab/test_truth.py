"""True beliefs of a trace: every page counts once, and planned quality stays below the bound."""

import numpy as np
import pytest

from mayfly.core.intervals import exact_plan
from mayfly.lab.truth import true_beliefs


def test_every_linked_page_and_click_counts_once(world) -> None:
    truth = true_beliefs(world, world.clicks)
    seconds = world.end - world.start
    linked = np.unique(world.link_page)
    assert truth.link_rate.sum() * seconds == pytest.approx(len(linked))
    clicks = world.clicks.number[np.isin(world.clicks.page, linked)].sum()
    assert (truth.link_rate * truth.page_profit).sum() * seconds == pytest.approx(clicks)
    assert exact_plan(truth, world.page_rate).quality < clicks / seconds
