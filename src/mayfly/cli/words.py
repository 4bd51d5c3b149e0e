"""How people write and read durations, budgets and moments; and the bar they watch while they wait."""

from __future__ import annotations

import json
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table

from mayfly.core.model import PerSecond, Seconds
from mayfly.errors import UsageError
from mayfly.lab.trace import Trace

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_WRITTEN = (("d", 86400.0), ("h", 3600.0), ("m", 60.0))
_READ = (("days", 86400.0, 2.0), ("h", 3600.0, 2.0), ("min", 60.0, 1.5))  # a unit is used from so many of it on
_JOINERS = "\u200c\u200d"  # within letters and pictures
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # categories that show nothing, or change how the rest is shown


def duration(text: str, name: str) -> Seconds:
    """Seconds of 90, 90s, 10m, 2h, 3d or 1w.

    >>> duration("2h", "--log-push")
    7200.0
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text.strip())
    if not found:
        raise UsageError(f"{name} must be a duration such as 90, 90s, 10m, 2h or 3d, not '{text}'")
    seconds = float(found[1]) * _UNITS[found[2]]
    if not math.isfinite(seconds):
        raise UsageError(f"{name} is too long: '{text}'")
    return seconds


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


def written(seconds: Seconds) -> str:
    """A duration as people write it, and `duration` reads it: the same number of seconds.

    >>> written(1800.0), written(5.0), written(0.25), written(0.0)
    ('30m', '5s', '0.25s', '0s')
    """
    for unit, length in _WRITTEN:
        if seconds and seconds % length == 0:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.0f}s" if seconds == int(seconds) else f"{Decimal(repr(seconds)):f}s"


def about(seconds: Seconds) -> str:
    """A duration as people read it.

    >>> about(200.0), about(5400.0), about(9000.0), about(0.4)
    ('3 min', '90 min', '2.5 h', '0.4 s')
    """
    for unit, length, least in _READ:
        if seconds >= least * length:
            count = seconds / length
            return (
                f"{count:.1f}".removesuffix(".0") + f" {unit}"
                if count < 10 and unit != "min"
                else f"{count:.0f} {unit}"
            )
    return f"{seconds:.1f}".removesuffix(".0") + " s" if seconds < 10 else f"{seconds:.0f} s"


def ago(at: Seconds | None, now: Seconds) -> str:
    """When that was, or will be.

    >>> ago(100.0, 280.0), ago(400.0, 280.0), ago(None, 0.0), ago(279.8, 280.0)
    ('3 min ago', 'in 2 min', 'never', 'now')
    """
    if at is None:
        return "never"
    if abs(now - at) < 1.0:
        return "now"
    return f"{about(now - at)} ago" if at < now else f"in {about(at - now)}"


def half_life(decay: PerSecond) -> str:
    """How soon half of something that fades at this rate is gone.

    >>> half_life(math.log(2) / 7200), half_life(0.0)
    ('2 h', 'never')
    """
    return about(math.log(2) / decay) if decay > 0 else "never"


def date(at: Seconds) -> str:
    """A moment, in UTC.

    >>> date(1731664800.0)
    '2024-11-15 10:00 UTC'
    """
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"second {at:.0f}"


def plain(text: str) -> str:
    """Text from elsewhere in one line that does nothing to a terminal: no control characters, no turning of direction.

    >>> plain("one" + chr(27) + "[31mtwo" + chr(10) + "three" + chr(0x202E))
    'one[31mtwo three'
    """
    if text.isprintable():
        return text
    return "".join(" " if letter.isspace() else letter for letter in text if letter.isspace() or _is_shown(letter))


def _is_shown(letter: str) -> bool:
    return letter in _JOINERS or unicodedata.category(letter) not in _HIDDEN


def dumps(told: Any) -> str:
    """JSON for programs, in one line; a number without end is null, for JSON has none.

    >>> dumps({"interval": math.inf, "url": "ä"})
    '{"interval": null, "url": "\\\\u00e4"}'
    """
    return json.dumps(_finite(told))


def _finite(told: Any) -> Any:
    match told:
        case float() if not math.isfinite(told):
            return None
        case dict():
            return {key: _finite(value) for key, value in told.items()}
        case list() | tuple():
            return [_finite(value) for value in told]
    return told


def say(text: str, err: bool = False) -> None:
    """Print a line for people, whatever is in it."""
    typer.echo(plain(text), err=err)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table for people, as wide as it needs to be when not on a terminal. Nothing in a cell is markup."""
    table = Table(
        *(Column(heading, overflow="fold") for heading in headings), box=None, pad_edge=False, header_style="bold"
    )
    for row in rows:
        table.add_row(*(plain(cell) for cell in row))
    wide = sys.stdout.isatty()
    console = Console(width=None if wide else 10_000, markup=False, emoji=False, highlight=False)
    if not wide:
        console.width = max(200, Measurement.get(console, console.options, table).maximum)
    console.print(table)
