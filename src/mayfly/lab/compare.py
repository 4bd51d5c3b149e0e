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
_FINE = 0.01  # `smallest_budget` ends when it is known to this part of itself


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


def smallest_budget(
    jobs: Jobs, settings: Settings, page_rate: PerSecond, goal: float, window: Window = None
) -> PerSecond | None:
    """The smallest budget at which a policy keeps `goal` of the bound, by replay; None beyond 64x the page rate."""

    def share(budget: PerSecond) -> float:
        found = jobs.map([Job(0, replace(settings, budget=budget))], partial(figures_of, window=window))
        return float(found[0]["share"] or 0.0)

    low, high = 0.0, page_rate
    while share(high) < goal:
        low, high = high, 2 * high
        if high > 64 * page_rate:
            return None
    while high - low > _FINE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) < goal else (low, middle)
    return high


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
