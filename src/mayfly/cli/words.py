"""How people write durations, budgets and moments; and the bar they watch while they wait."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from mayfly.core.model import PerSecond, Seconds
from mayfly.errors import UsageError
from mayfly.lab.trace import Trace

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def duration(text: str, name: str) -> Seconds:
    """Seconds of 90, 90s, 10m, 2h, 3d or 1w.

    >>> duration("2h", "--log-push")
    7200.0
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text.strip())
    if not found:
        raise UsageError(f"{name} must be a duration such as 90, 90s, 10m, 2h or 3d, not '{text}'")
    return float(found[1]) * _UNITS[found[2]]


def positive_duration(text: str, name: str) -> Seconds:
    """The same, but more than nothing."""
    seconds = duration(text, name)
    if seconds <= 0:
        raise UsageError(f"{name} must be more than 0 seconds, not '{text}'")
    return seconds


def budget(text: str, trace: Trace) -> PerSecond:
    """Fetches per second: a number, or a share of the trace's page rate such as 0.22x."""
    try:
        value = float(text.removesuffix("x"))
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"--budget must be fetches per second or a share of the page rate (0.22x), not '{text}'")
    return value * trace.page_rate if text.endswith("x") else value


def moment(text: str, start: Seconds, name: str) -> Seconds:
    """A moment of a trace: seconds since 1970, or a duration from its start such as 14d."""
    try:
        value = float(text)
    except ValueError:
        return start + duration(text, name)
    return value if value >= start else start + value


@contextmanager
def progress(label: str, total: float) -> Iterator[Callable[[float], None]]:
    """A bar on standard error with the time left; none where nobody watches. Call it with each piece of work done."""
    bar = Progress(
        TextColumn(label),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
        speed_estimate_period=600.0,
    )
    with bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table for people, as wide as it needs to be when not on a terminal."""
    table = Table(*headings, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200).print(table)
