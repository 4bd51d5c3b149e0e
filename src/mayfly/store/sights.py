"""What a person is shown of what was kept: many pages as columns, to choose from, and a few to look at."""

from __future__ import annotations

from typing import Any, NamedTuple

from mayfly.core.model import BoolArray, FloatArray, IntArray, Seconds, SourceId
from mayfly.store.records import Page

BEGIN, END = "\x02", "\x03"  # around the words that were asked for


class Only(NamedTuple):
    """Which pages may be chosen."""

    host: str | None = None
    source: SourceId | None = None
    since: Seconds | None = None  # published then or later
    upto: int | None = None  # landed so early, that who turns the page is not shown the same again


ANY = Only()


class Candidates(NamedTuple):
    """Kept pages, the newest first. Parallel columns; NaN: nothing is believed of the source."""

    landed: IntArray
    source: IntArray
    published: FloatArray
    profit: FloatArray  # P of its source
    decay: FloatArray  # μ of its source, per second
    closeness: FloatArray  # to the words that were asked for; 0 without any

    def some(self, which: BoolArray) -> Candidates:
        """Those for which it is true."""
        columns: Any = (column[which] for column in self)
        return Candidates(*columns)


class Sight(NamedTuple):
    """A page, its title and a piece of its text, with the words that were asked for between BEGIN and END."""

    page: Page
    title: str
    snippet: str
