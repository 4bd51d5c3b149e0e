"""Tables: parallel runs equal single ones, and every form says the same."""

import csv
import io

import pytest

from mayfly.lab.compare import as_csv, as_markdown, as_rows, compare, headings, smallest_budgets
from mayfly.lab.jobs import Jobs
from mayfly.lab.replay import Settings, replay, report


def test_parallel_runs_equal_single_ones(world) -> None:
    budgets = [0.3 * world.page_rate, 0.9 * world.page_rate]
    ticks = []
    cells = compare(
        Jobs([world], 2), [(0, 0), (0, 1)], Settings("bfs", 1.0), ["bfs", "index"], budgets, done=ticks.append
    )
    assert [(cell.policy, cell.budget) for cell in cells] == [(p, b) for p in ("bfs", "index") for b in budgets]
    assert len(ticks) == 8
    alone, _ = report(replay(world, Settings("index", budgets[1], seed=1)))
    assert cells[3].runs[1]["share"] == alone["share"]
    assert cells[3].mean("share") == pytest.approx(sum(run["share"] for run in cells[3].runs) / 2)


def test_every_form_has_every_run(world) -> None:
    cells = compare(
        Jobs([world], 1), [(0, 0), (0, 1)], Settings("bfs", 1.0), ["bfs", "frequency"], [0.5 * world.page_rate]
    )
    lines = list(csv.DictReader(io.StringIO(as_csv(cells))))
    assert [(line["policy"], line["seed"]) for line in lines] == [(p, s) for p in ("bfs", "frequency") for s in "01"]
    assert float(lines[0]["share"]) == cells[0].runs[0]["share"]
    markdown = as_markdown(headings(), as_rows(cells, world.page_rate)).splitlines()
    assert len(markdown) == 2 + len(cells) and all(heading in markdown[0] for heading in headings())
    assert f"{cells[0].mean('share'):.3f} ± {cells[0].spread('share'):.3f}" in markdown[2]


def test_the_smallest_budget_just_reaches(world) -> None:
    wanted = [Settings("index", 1.0), Settings("bfs", 1.0), Settings("fixed-interval", 1.0)]
    found, much, never = smallest_budgets(Jobs([world], 1), wanted, world.page_rate, 0.8)
    assert much > found
    assert never is None or never > found

    def share(budget: float) -> float:
        return report(replay(world, Settings("index", budget)))[0]["share"]

    assert share(found) >= 0.8 > share(0.5 * found)
