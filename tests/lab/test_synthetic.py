"""Made-up worlds keep the rules of the format, and the shape asked for."""

from dataclasses import replace

import numpy as np
import pytest

from mayfly.core.model import DAY, HOUR
from mayfly.errors import UsageError
from mayfly.lab.shapes import SHAPES, Publishers, Shape, read_shape
from mayfly.lab.synthetic import make_world
from mayfly.lab.trace import read_trace, write_trace

SMALL = Shape({"news": Publishers(8, 36, sections=4, others=0)}, days=14.0, clicks_per_second=12_000 / (14 * DAY))


def test_the_same_seed_gives_the_same_world(tmp_path) -> None:
    for name in ("one", "two"):
        write_trace(make_world(SMALL, seed=5), tmp_path / name)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    other = make_world(SMALL, seed=6)
    assert not np.array_equal(other.published, read_trace(tmp_path / "one").published)


def test_a_world_is_as_asked() -> None:
    made = make_world(SMALL, seed=1)
    pages = len(made.page_ids)
    assert (len(set(made.hosts)), len(made.source_ids)) == (8, 48)
    assert pages == pytest.approx(8 * 36 * 14, rel=0.05)
    assert made.clicks.number.sum() == pytest.approx(12_000, rel=0.1)
    assert (made.removed >= made.added).all() and (made.added >= made.published[made.link_page]).all()
    first = np.full(pages, np.inf)
    np.minimum.at(first, made.link_page, made.added)
    np.testing.assert_array_equal(first, made.published)  # a page is published when it is first linked
    hour = (made.published - made.start) // HOUR % 24
    assert np.mean((hour >= 10) & (hour < 18)) > 1.5 * np.mean(hour < 8)
    day = (made.published - made.start) // DAY % 7
    assert np.mean(day >= 5) < 0.22  # weekends are quiet


@pytest.mark.parametrize("seed", [1, 2])
def test_a_world_like_the_papers_has_its_figures(seed: int) -> None:
    """Section 5.1, at a fifth of the size: 150 hosts, 3K sources, 415K pages, 2.4M links, 20 % clicked."""
    made = make_world(SHAPES["paper"].scaled(0.2), seed)
    clicks = np.bincount(made.clicks.page, made.clicks.number, len(made.page_ids))
    assert len(set(made.hosts)) == 30
    assert len(made.source_ids) == pytest.approx(600, rel=0.02)
    assert len(made.page_ids) == pytest.approx(83_000, rel=0.03)
    assert len(made.added) / len(made.page_ids) == pytest.approx(5.8, rel=0.08)
    assert clicks.sum() / (made.end - made.start) == pytest.approx(0.144, rel=0.03)
    assert 0.15 < (clicks > 0).mean() < 0.25
    assert made.clicks.at.max() > made.end + 5 * DAY  # one more week of clicks
    assert made.shows is not None and made.shows.number.sum() > 4 * clicks.sum()
    rate = np.bincount(made.link_source, minlength=len(made.source_ids)) / (made.end - made.start)
    assert rate.max() > 0.005  # the most prolific sources: a large part of the budget of N = .05 · .2 for one alone


def test_valued_pages_stand_on_more_sources_and_stay_longer() -> None:
    made = make_world(replace(SHAPES["news"].scaled(0.3), days=14.0), seed=3)
    clicks = np.bincount(made.clicks.page, made.clicks.number, len(made.page_ids))
    links = np.bincount(made.link_page, minlength=len(made.page_ids))
    assert links[clicks > 0].mean() > 1.1 * links[clicks == 0].mean()
    gone = np.isfinite(made.removed)
    stay = made.removed[gone] - made.added[gone]
    loved = clicks[made.link_page[gone]] > 0
    assert np.median(stay[loved]) > 1.05 * np.median(stay[~loved])


def test_profit_and_decay_are_those_of_the_source() -> None:
    """Clicks fade as P(1 - e^-μΔt): the mean age of a section's clicks is its 1/μ, and sections differ."""
    kind = Publishers(
        1, 4000, sections=2, others=0, life=12 * HOUR, life_spread=1.0, section_spread=0.5, page_spread=0.3
    )
    made = make_world(Shape({"one": kind}, days=7.0, clicks_per_second=0.5), seed=4)
    section = np.full(len(made.page_ids), -1)
    for source in (1, 2):
        at_once = (made.link_source == source) & (made.added == made.published[made.link_page])
        section[made.link_page[at_once]] = source
    age = made.clicks.at - made.published[made.clicks.page]
    ages = [age[section[made.clicks.page] == source] for source in (1, 2)]
    means = [float(one.mean()) for one in ages]
    assert abs(means[0] / means[1] - 1) > 0.1
    for one, mean in zip(ages, means, strict=True):
        assert np.mean(one < mean * np.log(2)) == pytest.approx(0.5, abs=0.03)  # exponential: median = ln 2 · mean


def test_a_scaled_world_keeps_its_rates_per_host() -> None:
    for name, shape in SHAPES.items():
        part = shape.scaled(0.5)
        pages = sum(kind.hosts * kind.pages_per_day for kind in shape.publishers.values())
        assert sum(kind.hosts * kind.pages_per_day for kind in part.publishers.values()) == pytest.approx(pages / 2), (
            name
        )
        assert part.clicks_per_second == shape.clicks_per_second / 2


def test_no_source_shows_more_links_than_it_has_slots() -> None:
    kind = Publishers(2, 150, sections=2, others=1, slots=25, other_slots=7)
    made = make_world(Shape({"news": kind}, days=7.0), seed=2)
    moments = np.linspace(made.start, made.end, 40)
    for source, role in enumerate(made.kinds):
        mine = made.link_source == source
        there = ((made.added[mine, None] <= moments) & (made.removed[mine, None] > moments)).sum(axis=0)
        assert there.max() <= (7 if role == "other" else 25)


def test_a_shape_is_read_from_a_file(tmp_path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "days = 3\nclicks_per_second = 0.01\n[publishers.news]\nhosts = 2\npages_per_day = 30\nlife = 7200\n"
    )
    shape = read_shape(file)
    assert shape == Shape({"news": Publishers(2, 30, life=7200)}, days=3, clicks_per_second=0.01)
    assert len(set(make_world(shape, 1).hosts)) == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("days = 3", "there must be a table"),
        ("[publishers.news]\nhosts = 2", "hosts and pages_per_day must be given"),
        ("[publishers.news]\nhosts = 2\npages_per_day = 3\nlive = 4", "did you mean 'life'?"),
        ("[publishers.news]\nhosts = 2.5\npages_per_day = 3", "hosts must be a whole number"),
        ("[publishers.news]\nhosts = 2\npages_per_day = 3\non_front = 2", "on_front must be from 0 to 1"),
        ("[publishers.news]\nhosts = 0\npages_per_day = 3", "hosts must be above 0"),
        ("[publishers.news]\nhosts = 2\npages_per_day = true", "pages_per_day must be a number"),
        ("[publishers.'a/b']\nhosts = 2\npages_per_day = 3", "small letters, digits and hyphens"),
        ("days = [", "cannot be read as TOML"),
    ],
)
def test_a_wrong_shape_is_refused(tmp_path, text: str, complaint: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=complaint.replace("?", r"\?")):
        read_shape(file)
