"""Policies × budgets × seeds as one table."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mayfly.core.model import PerSecond, Seconds
from mayfly.core.policies import POLICIES
from mayfly.lab.facts import PAPER_BUDGETS, PAPER_FACTS, PAPER_SHARES
from mayfly.lab.jobs import Job, Jobs
from mayfly.lab.replay import Run, Settings, report

Window = tuple[Seconds, Seconds] | None
_FINE = 0.01  # a search for the smallest budget ends when it is known to this part of itself


@dataclass(frozen=True)
class Cell:
    """One policy at one budget, over all seeds."""

    policy: str
    budget: PerSecond
    runs: list[dict[str, Any]]

    def mean(self, name: str) -> float:
        """Mean of a figure over the seeds."""
        return float(np.mean([run[name] for run in self.runs]))

    def spread(self, name: str) -> float:
        """Its standard deviation over the seeds."""
        return float(np.std([run[name] for run in self.runs]))


def compare(
    jobs: Jobs,
    rounds: Sequence[tuple[int, int]],
    settings: Settings,
    policies: Sequence[str],
    budgets: Sequence[PerSecond],
    window: Window = None,
    done: Callable[[Job], None] = lambda job: None,
) -> list[Cell]:
    """Run every combination; a round is the number of a world and the seed of the policies in it."""
    wanted = [(policy, budget) for policy in policies for budget in budgets]
    runs = [
        Job(world, replace(settings, policy=policy, budget=budget, seed=seed))
        for policy, budget in wanted
        for world, seed in rounds
    ]
    figures = iter(jobs.map(runs, partial(figures_of, window=window), done))
    return [Cell(policy, budget, [next(figures) for _ in rounds]) for policy, budget in wanted]


def figures_of(run: Run, window: Window = None) -> dict[str, Any]:
    """What a table needs of a run."""
    return report(run, window)[0]


@dataclass
class _Search:
    """Between two budgets: one known to be too small, one that may be enough."""

    low: PerSecond
    high: PerSecond
    enough: bool = False  # `high` is known to be

    def next(self, most: PerSecond) -> PerSecond | None:
        """The budget to try; None: it is found, or beyond `most`."""
        if not self.enough:
            return self.high if self.high <= most else None
        return (self.low + self.high) / 2 if self.high - self.low > _FINE * self.high else None

    def told(self, budget: PerSecond, enough: bool) -> None:
        """What the budget tried was."""
        if enough:
            self.high, self.enough = budget, True
        elif self.enough:
            self.low = budget
        else:
            self.low, self.high = budget, 2 * budget


def smallest_budgets(
    jobs: Jobs,
    wanted: Sequence[Settings],
    page_rate: PerSecond,
    goal: float,
    window: Window = None,
    done: Callable[[Job], None] = lambda job: None,
) -> list[PerSecond | None]:
    """The smallest budget at which each policy keeps `goal` of the bound, by replay; None beyond 64x the page rate.

    All policies search side by side, each step of all of them in parallel.
    """
    searches = [_Search(0.0, page_rate) for _ in wanted]
    while True:
        tried = [(number, search.next(64 * page_rate)) for number, search in enumerate(searches)]
        going = [(number, budget) for number, budget in tried if budget is not None]
        if not going:
            return [search.high if search.enough else None for search in searches]
        runs = [Job(0, replace(wanted[number], budget=budget)) for number, budget in going]
        found = jobs.map(runs, partial(figures_of, window=window), done)
        for (number, budget), figures in zip(going, found, strict=True):
            searches[number].told(budget, (figures["share"] or 0.0) >= goal)


def headings() -> tuple[str, ...]:
    """Of `as_rows`."""
    return "policy", "budget", "quality of a week", "share of the bound", "median delay", "sources hardly crawled"


def as_rows(cells: Iterable[Cell], page_rate: PerSecond) -> list[tuple[str, ...]]:
    """The table as people read it."""
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        delays = [run["delay_median"] for run in cell.runs if run["delay_median"] is not None]
        rows.append(
            (
                cell.policy,
                f"{cell.budget:.4g} ({cell.budget / page_rate:.2f}x)",
                f"{cell.mean('quality_week'):.4f} ± {cell.mean('quality_std'):.4f}",
                _share(cell),
                f"{np.mean(delays) / 60:.0f} min" if delays else "–",
                f"{cell.mean('sources_never'):.0%}",
            )
        )
    return rows


def paper_headings(cells: Iterable[Cell]) -> tuple[str, ...]:
    """Of `as_paper_rows`."""
    head = ["policy"]
    for budget in dict.fromkeys(cell.budget for cell in cells):
        head += [f"N = {budget:.3g}", "share", "paper", "rarely"]
    return tuple(head)


def as_paper_rows(cells: Sequence[Cell], page_rate: PerSecond) -> list[tuple[str, ...]]:
    """Table 1: a line a policy, for each budget the quality of a week, the share of the bound, the paper's share, and
    how many sources are crawled less than once a day. The paper's world has its own page rate: budgets are matched by
    their share of it.
    """
    in_paper = [round(budget / PAPER_FACTS["page_rate"], 2) for budget in PAPER_BUDGETS]
    rows: list[tuple[str, ...]] = []
    bounds = []
    for policy in dict.fromkeys(cell.policy for cell in cells):
        line = [policy]
        bounds = [cell.mean("upper_bound") for cell in cells if cell.policy == policy]
        for cell in (cell for cell in cells if cell.policy == policy):
            multiple = min(range(3), key=lambda k: abs(in_paper[k] - cell.budget / page_rate))
            close = abs(in_paper[multiple] - cell.budget / page_rate) < 0.02
            told = PAPER_SHARES[policy][multiple] if close and policy in PAPER_SHARES else None
            line += [
                f"{cell.mean('quality_week'):.3f} ± {cell.mean('quality_std'):.3f}",
                _share(cell),
                "" if told is None else f"{told:.2f}",
                f"{cell.mean('sources_never'):.0%}",
            ]
        rows.append(tuple(line))
    return [*rows, ("upper bound", *(part for bound in bounds for part in (f"{bound:.3f}", "1", "", "")))]


def _share(cell: Cell) -> str:
    spread = f" ± {cell.spread('share'):.3f}" if len(cell.runs) > 1 else ""
    return f"{cell.mean('share'):.3f}{spread}"


def as_markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def as_csv(cells: Iterable[Cell]) -> str:
    """One line a run, every figure that is one number."""
    runs = [run for cell in cells for run in cell.runs]
    names = [name for name, value in runs[0].items() if not isinstance(value, dict | list)] if runs else []
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(runs)
    return text.getvalue().rstrip("\n")


ALL_POLICIES = tuple(POLICIES)
