"""Visits as blocks of rows: what all forms of visit logs share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mayfly.core.model import FloatArray, Seconds
from mayfly.store.clicklog.rows import BadRow, Dropped, Reading, as_float, is_number
from mayfly.store.clicklog.tables import URLS


class Coded(Sequence[str]):
    """Names of rows, of which each is kept once.

    >>> list(Coded(["a", "b"], np.array([0, 1, 0], np.int32)))
    ['a', 'b', 'a']
    """

    def __init__(self, names: Sequence[str], numbers: NDArray[np.int32]) -> None:
        self.names = names  # in the order in which they first come
        self.numbers = numbers  # by row, which of them it has

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, row: Any) -> Any:  # an integer; slices are not asked for
        return self.names[self.numbers[row]]


class Block(NamedTuple):
    """Some visits. What is not told, or was not asked for, is 0 or empty; a dash is as good as empty."""

    page: Sequence[str]
    at: Sequence[Seconds] | FloatArray
    referrer: Sequence[str]
    visitor: Sequence[str]
    number: Sequence[float] | FloatArray  # how often


Row: TypeAlias = tuple[str, Seconds, str, str, float]  # of a block
Visited: TypeAlias = Block | BadRow | Dropped

PAGES = ("page", "page_url", *URLS)
REFERRERS = ("referrer", "referer", "referrer_url", "referer_url", "source", "from")
VISITORS = ("visitor", "visitor_id", "user", "user_id", "client", "ip")
TOGETHER = 2_000  # rows of a block
EARLIEST = 1e9  # seconds of 2001: a smaller number may be a day such as 20260131, and is looked at again,
LATEST = 1e11  # as a larger one may be milliseconds
_NOBODY = ("", "-", None)  # as logs write that there is none


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a visit is asked for: times take as long to read as all else, and not every study needs them."""

    times: bool = True
    referrers: bool = True
    visitors: bool = False


def gathered(rows: Iterator[Row | BadRow | Dropped]) -> Iterator[Visited]:
    """Rows as blocks; what is no visit comes by itself."""
    while some := list(islice(rows, TOGETHER)):
        visits = []
        for row in some:
            if isinstance(row, BadRow | Dropped):
                yield row
            else:
                visits.append(row)
        if visits:
            yield Block(*zip(*visits, strict=True))


def moments(how: Reading) -> Callable[[Any], Seconds]:
    """When it was, or when the day began, as `Reading.moment` says it; but plain seconds are read at once."""
    slow, limit = how.moments, min(how.now, LATEST)

    def moment(given: Any) -> Seconds:
        try:
            at = as_float(given) if is_number(given) else float(given)
            if EARLIEST < at < limit:
                return at
        except (TypeError, ValueError):
            pass
        return slow[given][0]

    return moment


def told(given: Any) -> str:
    return "" if given in _NOBODY else str(given)
