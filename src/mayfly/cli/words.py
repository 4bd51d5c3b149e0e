"""How people write and read durations, budgets and moments; and the bar they watch while they wait."""

from __future__ import annotations

import json
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from mayfly.crawl.spans import about as about
from mayfly.crawl.spans import ago as ago
from mayfly.crawl.spans import date as date
from mayfly.crawl.spans import half_life as half_life
from mayfly.crawl.spans import written as written
from mayfly.errors import UsageError

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
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


def budget(text: str, page_rate: PerSecond) -> PerSecond:
    """Fetches per second: a number, or a share of the rate at which pages appear such as 0.22x."""
    try:
        value = float(text.removesuffix("x"))
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"--budget must be fetches per second or a share of the page rate (0.22x), not '{text}'")
    return value * page_rate if text.endswith("x") else value


def moment(text: str, start: Seconds, name: str) -> Seconds:
    """A moment of a trace: seconds since 1970, or a duration from its start such as 14d."""
    try:
        value = float(text)
    except ValueError:
        return start + duration(text, name)
    return value if value >= start else start + value


@contextmanager
def progress(label: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """A bar on standard error with the time left; none where nobody watches. Call it with each piece of work done.

    `total` is None where nobody knows how much there is.
    """
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
