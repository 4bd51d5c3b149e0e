"""The file of what people ask for now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.crawl.trends import Trends, read_terms


@given(st.lists(st.text(max_size=30), max_size=20))
def test_whatever_stands_in_the_file_weights_are_positive_and_finite(lines: list[str]) -> None:
    terms = read_terms(lines)
    assert all(0 < weight < float("inf") and term.strip() for term, weight in terms.items())


@pytest.mark.parametrize(
    ("line", "terms"),
    [
        ("storm,3", {"storm": 3.0}),
        ("storm surge\t0.5", {"storm surge": 0.5}),
        ("Bath, Maine,2", {"Bath, Maine": 2.0}),
        ("storm", {"storm": 1.0}),
        ("storm,many", {}),
        ("storm,-1", {}),
        ("storm,inf", {}),
        ("", {}),
    ],
)
def test_a_line_is_a_term_and_its_weight(line: str, terms: dict[str, float]) -> None:
    assert read_terms([line]) == terms


def test_it_is_read_again_only_when_it_changed_and_ends_when_it_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "trends.csv"
    path.write_text("storm,3\n")
    trends = Trends(str(path))
    assert trends.changed() == {"storm": 3.0}
    assert trends.changed() is None
    path.write_text("flood,2\n")
    os.utime(path, (1.0, 1.0))
    assert trends.changed() == {"flood": 2.0}
    path.unlink()
    assert trends.changed() == {}
    assert trends.changed() is None


def test_without_a_file_nobody_asks_for_anything(tmp_path: Path) -> None:
    assert Trends("").changed() is None
    assert Trends(str(tmp_path / "none.csv")).changed() is None
