"""A visit log as columns: a row a visit, with pages, sources and visitors by number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mayfly.core.model import DAY, BoolArray, FloatArray, IntArray, Seconds

Numbers: TypeAlias = NDArray[np.integer[Any]]
NONE = -1  # the number of a source or a visitor that nobody told


def numbering() -> defaultdict[str, int]:
    """Numbers names 0, 1, 2, … as they are first asked for.

    >>> names = numbering()
    >>> names["b"], names["a"], names["b"], list(names)
    (0, 1, 0, ['b', 'a'])
    """
    return defaultdict(count().__next__)


@dataclass(frozen=True)
class Visits:
    """What a log says. The order of rows is the log's; `at` is empty where times were not asked for."""

    pages: Mapping[str, int]  # numbers by name, in the order they first come
    sources: Mapping[str, int]
    page: Numbers
    source: Numbers
    at: FloatArray
    visitor: Numbers
    count: FloatArray | None = None  # None: each row is one visit

    def __len__(self) -> int:
        return len(self.page)

    @property
    def days(self) -> int:
        """How many days it is long, counted from its first visit; the last is taken as whole, as logs are cut there."""
        return int((self.at.max() - self.at.min()) // DAY) + 1

    @property
    def end(self) -> Seconds:
        return float(self.at.min()) + self.days * DAY

    def first_visits(self) -> FloatArray:
        """When each page was first visited."""
        first = np.full(len(self.pages), np.inf)
        np.minimum.at(first, self.page, self.at)
        return first

    def new_pages(self, settle: Seconds) -> BoolArray:
        """Pages that nobody had visited when the log was `settle` old: before that, a first visit tells little."""
        return self.first_visits() >= self.at.min() + settle

    def first_by_day(self) -> IntArray:
        """How many pages were first visited on each day of the log."""
        day = ((self.first_visits() - self.at.min()) // DAY).astype(np.int64)
        return np.bincount(day, minlength=self.days)


def begins_in_the_middle(by_day: IntArray) -> bool:
    """Whether so many pages come up on the first day that most of them cannot be new: an old stock is met again.

    >>> begins_in_the_middle(np.array([900, 120, 100, 110])), begins_in_the_middle(np.array([110, 120, 100, 110]))
    (True, False)
    """
    later = by_day[1:]
    usual = float(np.median(later[later > 0])) if np.any(later > 0) else float("inf")
    return len(by_day) > 2 and bool(by_day[0] > 2 * usual)
