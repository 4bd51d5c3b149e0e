"""Sentences of the paper's section 5, on a world like its own at a tenth of the size. Bounds are wide: one seed."""

from functools import partial

import pytest

from mayfly.lab.compare import Cell, compare
from mayfly.lab.facts import PAPER_POLICIES_IN_ORDER
from mayfly.lab.jobs import Jobs
from mayfly.lab.replay import Settings
from mayfly.lab.shapes import SHAPES
from mayfly.lab.synthetic import make_world

SCALE = 0.1
SMALL, MIDDLE, LARGE = 0.05 * SCALE, 0.10 * SCALE, 0.20 * SCALE


@pytest.fixture(scope="module")
def table() -> dict[tuple[str, float], Cell]:
    worlds = [partial(make_world, SHAPES["paper"].scaled(SCALE), 1)]
    settings = Settings("bfs", SMALL, estimator="paper", feedback="all")
    policies = (*PAPER_POLICIES_IN_ORDER, "index")
    cells = compare(Jobs(worlds, 1), [(0, 1)], settings, policies, [SMALL, MIDDLE])
    cells += compare(Jobs(worlds, 1), [(0, 1)], settings, ["bfs", "echo-newpages"], [LARGE])
    return {(cell.policy, cell.budget): cell for cell in cells}


def test_frequency_collapses_at_the_smallest_budget(table) -> None:
    """Table 1: 0.014 of 0.72 at N = .05, 0.39 at N = .10."""
    assert table["frequency", SMALL].mean("share") < 0.2
    assert table["frequency", MIDDLE].mean("share") > 3 * table["frequency", SMALL].mean("share")


def test_the_order_of_the_table(table) -> None:
    """Table 1: at N = .05 Frequency, BFS, ECHO; at N = .10 all the others below the ECHO policies."""
    small = {policy: table[policy, SMALL].mean("share") for policy in PAPER_POLICIES_IN_ORDER}
    assert small["frequency"] < small["bfs"] < max(small[name] for name in small if name.startswith("echo"))
    share = {policy: table[policy, MIDDLE].mean("share") for policy in (*PAPER_POLICIES_IN_ORDER, "index")}
    echo = min(share[name] for name in share if name.startswith("echo"))
    assert max(share[name] for name in ("frequency", "bfs", "fixed-quota")) < echo
    assert share["index"] > max(share[name] for name in share if name.startswith("echo"))


def test_echo_is_near_the_bound_at_the_largest_budget(table) -> None:
    """ECHO-newpages' results "are really close to the upper bound" (section 5.3.3)."""
    assert table["echo-newpages", LARGE].mean("share") > 0.85
    assert table["echo-newpages", LARGE].mean("share") > table["bfs", LARGE].mean("share") + 0.05


def test_most_sources_are_almost_never_recrawled(table) -> None:
    """ECHO "almost does not recrawl 70% of content sources" (section 5.3.2)."""
    assert 0.55 < table["echo-newpages", LARGE].mean("sources_never") < 0.85


def test_bfs_keeps_more_of_the_clicks_than_of_the_pages(table) -> None:
    """Table 1: .33, .64 and .86 of the clicks with at most .22, .44 and .87 of the pages."""
    for budget in (SMALL, MIDDLE):
        cell = table["bfs", budget]
        pages = 415_000 * SCALE
        assert cell.mean("share") > 1.2 * cell.mean("page_fetches") / pages
