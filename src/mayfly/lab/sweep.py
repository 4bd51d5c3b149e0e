"""One parameter at a time: what a policy keeps as it changes (paper, section 5.3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mayfly.core.model import DAY, HOUR, MINUTE, WEEK, FloatArray
from mayfly.core.quality import dynamic_quality, profits
from mayfly.lab.compare import Window, figures_of
from mayfly.lab.jobs import Job, Jobs
from mayfly.lab.replay import Run, Settings


@dataclass(frozen=True)
class Parameter:
    """What is varied, over which values, and how settings take it."""

    title: str
    values: tuple[float, ...]
    put: Callable[[Settings, float], Settings]
    show: Callable[[float], str]
    policies: tuple[str, ...] | None = None  # None: whatever is asked for


@dataclass(frozen=True)
class Arm:
    """One policy at one value, over all seeds."""

    policy: str
    value: float
    runs: list[dict[str, Any]]
    warm_up: tuple[FloatArray, FloatArray]  # days from the start; one-week dynamic quality as a share of the bound

    def mean(self, name: str) -> float:
        """Mean of a figure over the seeds."""
        return float(np.mean([run[name] for run in self.runs]))

    def spread(self, name: str) -> float:
        """Its standard deviation over the seeds."""
        return float(np.std([run[name] for run in self.runs]))


def _span(seconds: float) -> str:
    for unit, length in (("w", WEEK), ("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if seconds >= length:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} s"


PARAMETERS = {
    "history": Parameter(
        "T: crawls the link rate looks back on",
        (3, 4, 5, 7, 10),
        lambda s, v: replace(s, history=int(v)),
        "{:g}".format,
    ),
    "log-push": Parameter(
        "L: time between two pushes of the click log",
        (HOUR, 12 * HOUR, DAY, WEEK),
        lambda s, v: replace(s, log_push=v),
        _span,
    ),
    "replan": Parameter(
        "time between two plans",
        (5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 2 * HOUR, 12 * HOUR),
        lambda s, v: replace(s, replan=v),
        _span,
    ),
    "bin": Parameter(
        "D: bin of the click histogram",
        (5 * MINUTE, 10 * MINUTE, 20 * MINUTE, HOUR, 6 * HOUR),
        lambda s, v: replace(s, bin=v),
        _span,
    ),
    "default-profit": Parameter(
        "P of a source nothing is known of",
        (0.0001, 0.001, 0.01, 0.1, 1.0),
        lambda s, v: replace(s, estimator_options={**s.estimator_options, "default_profit": v}),
        "{:g}".format,
    ),
    "quota": Parameter(
        "share of the fetches kept for recrawls",
        (0.1, 0.3, 0.5, 0.7, 0.9),
        lambda s, v: replace(s, policy_options={"quota": v}),
        "{:.0%}".format,
        policies=("fixed-quota",),
    ),
    "budget": Parameter(
        "N: fetches, as a share of the rate of new pages",
        (0.11, 0.22, 0.44, 0.87, 1.75),
        lambda s, v: replace(s, budget=s.budget * v),  # the budget given is the page rate
        "{:g}x".format,
    ),
}


def sweep(
    jobs: Jobs,
    rounds: Sequence[tuple[int, int]],
    settings: Settings,
    parameter: Parameter,
    policies: Sequence[str],
    window: Window = None,
    done: Callable[[Job], None] = lambda job: None,
) -> list[Arm]:
    """Every policy at every value. A round is the number of a world and the seed of the policies in it."""
    wanted = [(policy, value) for policy in parameter.policies or policies for value in parameter.values]
    runs = [
        Job(world, parameter.put(replace(settings, policy=policy, seed=seed), value))
        for policy, value in wanted
        for world, seed in rounds
    ]
    seen = iter(jobs.map(runs, partial(swept, window=window), done))
    arms = []
    for policy, value in wanted:
        figures, days, curves = zip(*(next(seen) for _ in rounds), strict=True)
        arms.append(Arm(policy, value, list(figures), (days[0], np.mean(curves, axis=0))))
    return arms


def swept(run: Run, window: Window = None) -> tuple[dict[str, Any], FloatArray, FloatArray]:
    """Figures of a run, and its one-week dynamic quality from the first day on, every two hours."""
    trace = run.trace
    figures = figures_of(run, window)
    times = np.arange(trace.start, trace.end + 1, 2 * HOUR)
    quality = dynamic_quality(profits(run.fetched, trace.interest(run.settings.value)), run.fetched, times, WEEK)
    return figures, (times - trace.start) / DAY, quality / (figures["upper_bound"] or np.nan)


def as_rows(parameter: Parameter, arms: Sequence[Arm]) -> list[tuple[str, ...]]:
    """A line a value, a column a policy: the share of the bound."""
    policies = list(dict.fromkeys(arm.policy for arm in arms))
    by = {(arm.policy, arm.value): arm for arm in arms}
    rows = []
    for value in dict.fromkeys(arm.value for arm in arms):
        cells = []
        for policy in policies:
            arm = by[policy, value]
            spread = f" ± {arm.spread('share'):.3f}" if len(arm.runs) > 1 else ""
            cells.append(f"{arm.mean('share'):.3f}{spread}")
        rows.append((parameter.show(value), *cells))
    return rows
