"""Made-up worlds keep the rules of the format, and the shape asked for."""

import numpy as np
import pytest

from mayfly.core.model import HOUR
from mayfly.lab.synthetic import Shape, make_world
from mayfly.lab.trace import read_trace, write_trace


def test_the_same_seed_gives_the_same_world(tmp_path) -> None:
    for name in ("one", "two"):
        write_trace(make_world(Shape(pages=300), seed=5), tmp_path / name)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    other = make_world(Shape(pages=300), seed=6)
    assert not np.array_equal(other.published, read_trace(tmp_path / "one").published)


def test_a_world_is_as_asked(world) -> None:
    shape = Shape(hosts=8, sources_per_host=6, pages=4000, days=14.0)
    made = make_world(shape, seed=1)
    assert (len(set(made.hosts)), len(made.source_ids), len(made.page_ids)) == (8, 48, 4000)
    assert made.clicks.number.sum() == pytest.approx(3.0 * 4000, rel=0.15)
    assert (made.removed >= made.added).all() and (made.added >= made.published[made.link_page]).all()
    first = np.full(4000, np.inf)
    np.minimum.at(first, made.link_page, made.added)
    np.testing.assert_array_equal(first, made.published)  # a page is published when it is first linked
    hour = (made.published - made.start) // HOUR % 24
    assert np.mean((hour >= 10) & (hour < 18)) > 1.5 * np.mean(hour < 8)


def test_no_source_shows_more_links_than_it_has_slots() -> None:
    made = make_world(Shape(hosts=2, sources_per_host=4, pages=2000, slots=25), seed=2)
    for source in range(8):
        mine = made.link_source == source
        moments = np.linspace(made.start, made.end, 40)
        there = ((made.added[mine, None] <= moments) & (made.removed[mine, None] > moments)).sum(axis=0)
        assert there.max() <= 25
