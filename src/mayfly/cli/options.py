"""Flags that several commands of `mayfly lab` share, and what they mean."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mayfly.cli import words
from mayfly.core.estimates import ESTIMATORS
from mayfly.core.model import Seconds
from mayfly.core.policies import POLICIES
from mayfly.errors import UsageError
from mayfly.lab.replay import Settings
from mayfly.lab.trace import Trace, read_trace


class Feedback(StrEnum):
    """Which clicks the policy is told."""

    fetched = "fetched"
    all = "all"
    none = "none"


class Form(StrEnum):
    """How a table is printed."""

    text = "text"
    markdown = "markdown"
    csv = "csv"


TraceFolder = Annotated[Path, typer.Argument(help="Folder of the trace.", metavar="TRACE")]
Estimator = Annotated[str, typer.Option(help=f"One of: {', '.join(ESTIMATORS)}.")]
FeedbackOption = Annotated[Feedback, typer.Option(help="Clicks told: of fetched pages after the fetch, all, or none.")]
LogPush = Annotated[str, typer.Option(help="L: how often the click log is pushed.")]
History = Annotated[int, typer.Option(help="T: crawls the paper's rate estimate looks back on.")]
Replan = Annotated[str, typer.Option(help="How often the plan is made anew.")]
Bin = Annotated[str, typer.Option(help="D: bin of the paper's click histogram.")]
HostDelay = Annotated[str, typer.Option(help="Pause between two fetches of a host.")]
Probe = Annotated[
    float | None, typer.Option(help="Share of fetches for the sources longest unseen. Default: the policy's own.")
]
Window = Annotated[
    tuple[str, str] | None,
    typer.Option(help="Score pages published and fetched in [FROM, TO): seconds since 1970, or from the start (14d)."),
]
Until = Annotated[str | None, typer.Option(help="Cut the trace at this moment, for tuning on its first weeks.")]
Value = Annotated[str, typer.Option(help="What counts as profit: clicks or shows.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Jobs = Annotated[int | None, typer.Option(help="Processes at once. Default: one for each core.", min=1)]
Cache = Annotated[
    Path | None,
    typer.Option(help="Where finished runs are kept. Default: mayfly/lab in the user's cache folder."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Run everything again, and keep nothing.")]


def cache_folder(cache: Path | None, fresh: bool) -> Path | None:
    """Where finished runs are kept; None: nowhere."""
    if fresh:
        return None
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return cache or Path(home) / "mayfly" / "lab"


def read(folder: Path, until: str | None) -> Trace:
    """A trace, cut where it is to be cut."""
    trace = read_trace(folder)
    return trace if until is None else trace.until(words.moment(until, trace.start, "--until"))


def settings_of(
    trace: Trace, policy: str, budget: str, estimator: str, feedback: Feedback, log_push: str, history: int,
    replan: str, bin: str, host_delay: str, probe: float | None, value: str, seed: int,
) -> Settings:  # fmt: skip
    """Flags as settings, each checked."""
    if policy not in POLICIES:
        raise UsageError(f"there is no policy '{policy}'; there are {', '.join(POLICIES)}")
    if estimator not in ESTIMATORS:
        raise UsageError(f"there is no estimator '{estimator}'; there are {', '.join(ESTIMATORS)}")
    if not 3 <= history <= 10:
        raise UsageError(f"--history must be 3 to 10 crawls, not {history}")
    if probe is not None and not 0 <= probe <= 1:
        raise UsageError(f"--probe is a share from 0 to 1, not {probe}")
    trace.interest(value)
    return Settings(
        policy=policy,
        budget=words.budget(budget, trace.page_rate),
        estimator=estimator,
        feedback=feedback.value,
        log_push=words.positive_duration(log_push, "--log-push"),
        history=history,
        replan=words.positive_duration(replan, "--replan"),
        bin=words.positive_duration(bin, "--bin"),
        host_delay=words.duration(host_delay, "--host-delay"),
        probe=probe,
        seed=seed,
        value=value,
    )


def window_of(window: tuple[str, str] | None, trace: Trace) -> tuple[Seconds, Seconds] | None:
    """The window to score; None: the default."""
    if window is None:
        return None
    begin, end = (words.moment(text, trace.start, "--window") for text in window)
    if not trace.start <= begin < end <= trace.end:
        raise UsageError(f"--window must lie within the trace, [{trace.start}, {trace.end}); got [{begin}, {end})")
    return begin, end
