"""Visit logs for `mayfly study`: files in, columns out, and what was wrong with them said."""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from mayfly.cli import words
from mayfly.cli.clicks import Form, site
from mayfly.cli.logfiles import opened
from mayfly.core.model import FloatArray
from mayfly.errors import UsageError
from mayfly.lab.study.visits import NONE, Numbers, Visits, begins_in_the_middle, numbering
from mayfly.store.clicklog import BadRow, Dropped, Reading
from mayfly.store.clicklog.rows import Memo
from mayfly.store.visitlog import Block, Coded, Visited, Wanted
from mayfly.urls import canonical

_SHOWN = 5  # bad rows that are named
_NOBODY = ("", "-")  # as logs write that there is none

Files = Annotated[
    list[str], typer.Argument(help="Visit logs, also zipped (gz); - reads standard input.", metavar="VISITS…")
]
FormOption = Annotated[
    Form | None,
    typer.Option("--format", help="How they are written. Default: told by their beginning.", show_default=False),
]
Host = Annotated[
    str | None, typer.Option(help="The site of access logs that do not say it.", metavar="https://example.com")
]
Canonical = Annotated[
    bool,
    typer.Option(
        "--canonical", help="Take spellings of one address as one, and tracking out. Default: as the log has it."
    ),
]
Settle = Annotated[
    str,
    typer.Option(help="Pages first visited within so long of the log's beginning are not new.", metavar="DURATION"),
]
Plot = Annotated[Path | None, typer.Option(help="Draw it here (.png, .svg, .pdf).")]
First = Annotated[int, typer.Option(help="How many to print; --json and --out have all.", min=1)]


@dataclass
class _Columns:
    """Columns that grow as blocks come."""

    wanted: Wanted
    pages: defaultdict[str, int] = field(default_factory=numbering)
    sources: defaultdict[str, int] = field(default_factory=numbering)
    visitors: defaultdict[str, int] = field(default_factory=numbering)
    page: list[Numbers] = field(default_factory=list)
    source: list[Numbers] = field(default_factory=list)
    visitor: list[Numbers] = field(default_factory=list)
    at: list[FloatArray] = field(default_factory=list)
    count: list[FloatArray] = field(default_factory=list)
    counted: bool = False  # whether a row was more than one visit
    bad: int = 0
    named: list[str] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for nobody in _NOBODY:
            self.sources[nobody] = self.visitors[nobody] = NONE

    def take(self, log: Iterable[Visited], name: str, spell: Callable[[str], str] | None) -> None:
        """All of a log."""
        for some in log:
            if isinstance(some, BadRow):
                self.bad += 1
                if len(self.named) < _SHOWN:
                    self.named.append(f"{name}, line {some.line}: {some.reason}")
            elif isinstance(some, Dropped):
                self.dropped[some.reason] += 1
            else:
                self._add(some, spell)

    def _add(self, block: Block, spell: Callable[[str], str] | None) -> None:
        self._count(np.asarray(block.number, float))
        self.page.append(_numbered(block.page, self.pages, spell))
        if self.wanted.referrers:
            self.source.append(_numbered(block.referrer, self.sources, spell))
        if self.wanted.times:
            self.at.append(np.asarray(block.at, float))
        if self.wanted.visitors:
            self.visitor.append(_numbered(block.visitor, self.visitors))

    def _count(self, counts: FloatArray) -> None:
        """Nothing is kept while each row is one visit."""
        if not self.counted and np.any(counts != 1.0):
            self.counted = True
            self.count.extend(np.ones(len(some)) for some in self.page)
        if self.counted:
            self.count.append(counts)

    def visits(self) -> Visits:
        for nobody in _NOBODY:
            del self.sources[nobody]
        page, source, visitor = (
            np.concatenate([np.zeros(0, np.int32), *some]) for some in (self.page, self.source, self.visitor)
        )
        at, count = (np.concatenate([np.zeros(0), *some]) for some in (self.at, self.count))
        return Visits(self.pages, self.sources, page, source, at, visitor, count if self.counted else None)


def _numbered(
    column: Sequence[str], numbers: defaultdict[str, int], spell: Callable[[str], str] | None = None
) -> Numbers:
    """Numbers in place of names. Of a column that has each name but once, so often they are looked up."""
    names = column.names if isinstance(column, Coded) else column
    found = np.fromiter(map(numbers.__getitem__, map(spell, names) if spell else names), np.int32, len(names))
    return found[column.numbers] if isinstance(column, Coded) else found


def read_visits(files: list[str], form: Form | None, host: str | None, one_spelling: bool, wanted: Wanted) -> Visits:
    """All logs together, in the order given. What is wrong with rows is said, and the others are read."""
    # Ages are differences: the zone of times that have none does not matter, nor does what lies in the future.
    how = Reading(float("inf"), zone=UTC, host=site(host))
    columns = _Columns(wanted)
    spell = Memo(_spelled).__getitem__ if one_spelling else None
    with ExitStack() as stack:
        logs = [opened(name, form and form.value, False, stack) for name in files]
        with words.progress("visits", sum(log.size for log in logs) or None) as done, _uncollected():
            for log in logs:
                columns.take(log.visits(how, wanted, done), log.name, spell)
    _say_troubles(columns)
    if not columns.page:
        raise UsageError(f"there is no visit in {', '.join(files)}: a log has a page and a time in each row")
    return columns.visits()


def hint_to_settle(visits: Visits, settle: float) -> None:
    """Say so if the log meets pages that were there before it began."""
    by_day = visits.first_by_day()
    if settle == 0 and begins_in_the_middle(by_day):
        words.say(
            f"{by_day[0]:,} pages were first visited on the first day, far more than on others: most of them were there"
            " before. Leave them out with --settle 3d.",
            err=True,
        )


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """A line each, as `mayfly find --file` takes them."""
    try:
        with path.open("w", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Rows make no circles; to look for some among millions of them takes a tenth of the time."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _spelled(address: str) -> str:
    return canonical(address) or address


def _say_troubles(columns: _Columns) -> None:
    for line in columns.named:
        words.say(line, err=True)
    if columns.bad > len(columns.named):
        words.say(f"… and {columns.bad - len(columns.named):,} more rows that are wrong", err=True)
    if columns.dropped:
        kinds = ", ".join(f"{many:,} {reason}" for reason, many in columns.dropped.most_common())
        words.say(f"{columns.dropped.total():,} rows dropped: {kinds}", err=True)
