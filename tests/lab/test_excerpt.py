"""A part of a world is a world: it can be written, read and replayed."""

import numpy as np
import pytest

from mayfly.core.model import DAY
from mayfly.lab.excerpt import from_then_on
from mayfly.lab.replay import Settings, replay, report
from mayfly.lab.trace import read_trace, write_trace


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("sources", [None, {0, 3, 4}])
def test_it_has_what_was_there_then(world, tmp_path, old, sources) -> None:
    start, end = world.start + DAY, world.start + 3 * DAY
    part = from_then_on(world, start, end, sources, old)
    write_trace(part, tmp_path)
    again = read_trace(tmp_path)  # which checks it whole
    assert len(again.source_ids) == (len(world.source_ids) if sources is None else 3)
    names = {name: number for number, name in enumerate(world.page_ids)}
    real = world.published[[names[name] for name in part.page_ids]]
    assert ((real >= start) | old).all() and (real < end).all()
    assert np.array_equal(part.published, np.maximum(real, start))
    inside = (world.published >= start) & (world.published < end)
    assert inside.sum() <= len(part.page_ids)
    counted = inside[world.clicks.page] & (world.clicks.at >= start)
    assert part.clicks.number.sum() >= world.clicks.number[counted].sum()
    if not old:
        assert inside.sum() == len(part.page_ids)
        assert part.clicks.number.sum() == world.clicks.number[counted].sum()


def test_what_stood_there_before_is_new_only_to_who_does_not_know(world) -> None:
    start, end = world.start + DAY, world.start + 2 * DAY
    shown = [
        report(replay(from_then_on(world, start, end, old=old), Settings("bfs", world.page_rate)))[0]["pages_found"]
        for old in (True, False)
    ]
    assert shown[0] > shown[1] > 0
