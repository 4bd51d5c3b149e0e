"""Clicks and shows as what they are worth."""

import numpy as np
import pytest

from mayfly.core.model import DAY
from mayfly.crawl.interest import Interest
from mayfly.crawl.settings import Settings
from mayfly.store.records import Clicks


def clicks(*rows: tuple[int, float, float, bool, int]) -> Clicks:
    page, number, width, show, position = (np.array(column) for column in zip(*rows, strict=True))
    return Clicks(page, np.full(len(page), 50.0), number, width, show, position)


ROWS = ((1, 3.0, 1200.0, False, 0), (1, 40.0, 1200.0, True, 0), (2, 5.0, DAY, False, 0))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (Settings(), [(1, 3.0), (2, 5.0)]),
        (Settings(value_shows=0.5), [(1, 3.0), (1, 20.0), (2, 5.0)]),
        (Settings(value_clicks=0.0, value_shows=1.0), [(1, 40.0)]),
    ],
)
def test_worth_is_a_weighted_sum_of_signals(settings: Settings, told: list[tuple[int, float]]) -> None:
    event = Interest(settings).counted(100.0, clicks(*ROWS))
    assert list(zip(event.page.tolist(), event.number.tolist(), strict=True)) == told


def test_only_a_few_bins_tell_how_interest_fades() -> None:
    assert Interest(Settings()).counted(100.0, clicks(*ROWS)).timed.tolist() == [True, False]
    assert Interest(Settings()).counted(100.0, clicks(*ROWS[:2])).timed is None
    assert Interest(Settings(bin=DAY)).counted(100.0, clicks(*ROWS)).timed is None


def test_clicks_far_down_count_more_once_the_curve_is_known() -> None:
    interest = Interest(Settings())
    rows = [
        (page, number, 1200.0, show, position)
        for page in range(100)
        for position, number, show in ((1, 50.0, False), (1, 500.0, True), (5, 10.0, False), (5, 500.0, True))
    ]
    event = interest.counted(100.0, clicks(*rows))
    assert event.number[:2] == pytest.approx([50.0, 50.0], rel=0.05)
