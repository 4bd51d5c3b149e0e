"""Policies × budgets × seeds, in parallel processes, as one table."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import numpy as np

from mayfly.core.model import PerSecond, Seconds
from mayfly.core.policies import POLICIES
from mayfly.lab.replay import Settings, replay, report
from mayfly.lab.trace import Trace

_STEPS = 12  # halvings of a budget in `smallest_budget`: to one part in about a thousand


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


_shared: tuple[Trace, tuple[Seconds, Seconds] | None] | None = None  # a worker's trace, handed over once


def compare(
    trace: Trace,
    settings: Settings,
    policies: Sequence[str],
    budgets: Sequence[PerSecond],
    seeds: Sequence[int],
    window: tuple[Seconds, Seconds] | None = None,
    jobs: int = 2,
    done: Callable[[], None] = lambda: None,
) -> list[Cell]:
    """Run every combination; `done` is called after each run."""
    wanted = [
        replace(settings, policy=policy, budget=budget, seed=seed)
        for policy in policies
        for budget in budgets
        for seed in seeds
    ]
    figures = dict(_run_all(trace, window, wanted, jobs, done))
    cells = []
    for policy in policies:
        for budget in budgets:
            rows = [number for number, one in enumerate(wanted) if (one.policy, one.budget) == (policy, budget)]
            cells.append(Cell(policy, budget, [figures[number] for number in rows]))
    return cells


def smallest_budget(
    trace: Trace, settings: Settings, goal: float, window: tuple[Seconds, Seconds] | None = None
) -> PerSecond | None:
    """The smallest budget at which a policy keeps `goal` of the bound, by replay; None beyond 64x the page rate."""
    low, high = 0.0, trace.page_rate
    while _share(trace, replace(settings, budget=high), window) < goal:
        low, high = high, 2 * high
        if high > 64 * trace.page_rate:
            return None
    for _ in range(_STEPS):
        if high - low <= 0.01 * high:
            break
        middle = (low + high) / 2
        if _share(trace, replace(settings, budget=middle), window) < goal:
            low = middle
        else:
            high = middle
    return high


HEADINGS = ("policy", "budget", "quality of a week", "share of the bound", "median delay", "sources hardly crawled")


def as_rows(cells: Iterable[Cell], page_rate: PerSecond) -> list[tuple[str, ...]]:
    """The table as people read it."""
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        delays = [run["delay_median"] for run in cell.runs if run["delay_median"] is not None]
        share = f"{cell.mean('share'):.3f}"
        if len(cell.runs) > 1:
            share += f" ± {cell.spread('share'):.3f}"
        rows.append(
            (
                cell.policy,
                f"{cell.budget:.4g} ({cell.budget / page_rate:.2f}x)",
                f"{cell.mean('quality_week'):.4f} ± {cell.mean('quality_std'):.4f}",
                share,
                f"{np.mean(delays) / 60:.0f} min" if delays else "–",
                f"{cell.mean('sources_never'):.0%}",
            )
        )
    return rows


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """The table in Markdown."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
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


def _run_all(
    trace: Trace,
    window: tuple[Seconds, Seconds] | None,
    wanted: Sequence[Settings],
    jobs: int,
    done: Callable[[], None],
) -> Iterable[tuple[int, dict[str, Any]]]:
    if jobs <= 1 or len(wanted) == 1:
        for number, settings in enumerate(wanted):
            yield number, report(replay(trace, settings), window)[0]
            done()
        return
    # Spawned, not forked: the same on Linux and macOS, and numpy's threads do not survive a fork.
    with ProcessPoolExecutor(
        jobs, get_context("spawn"), initializer=_share_with_worker, initargs=(trace, window)
    ) as pool:
        futures = {pool.submit(_run_shared, settings): number for number, settings in enumerate(wanted)}
        for future in as_completed(futures):
            yield futures[future], future.result()
            done()


def _share_with_worker(trace: Trace, window: tuple[Seconds, Seconds] | None) -> None:
    global _shared
    _shared = trace, window


def _run_shared(settings: Settings) -> dict[str, Any]:
    assert _shared is not None
    trace, window = _shared
    return report(replay(trace, settings), window)[0]


def _share(trace: Trace, settings: Settings, window: tuple[Seconds, Seconds] | None) -> float:
    return report(replay(trace, settings), window)[0]["share"] or 0.0


ALL_POLICIES = tuple(POLICIES)
