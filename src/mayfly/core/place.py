"""Where a page is linked says what it is worth: how high on the source, and on how many sources.

A place is a class of both: five steps of the rank, against the ranks at which new links usually appear on that source
(0: rank not told), times the number of sources seen to link the page, up to four. A source that lists its newest at the
bottom has high ranks for all; only a link above its usual place was put there by an editor. What a place is worth,
against the mean page of the same sources, is learned.
"""

from __future__ import annotations

import math

from mayfly.core.model import PLACES

_STEPS = (-1.2, -0.5, 0.0, 0.5)  # of ln(rank / usual rank)
_MOST_SOURCES = 4
assert (len(_STEPS) + 2) * _MOST_SOURCES == PLACES


def first_place(rank: float | None, usual: float) -> int:
    """The place of a page just found on one source, at `rank` (1 = top), where new links usually appear at `usual`.

    >>> first_place(None, 20.0), first_place(1, 20.0), first_place(39, 20.0)
    (0, 4, 20)
    """
    if rank is None:
        return 0
    above = math.log(max(rank, 1.0) / usual)
    return (1 + sum(above > step for step in _STEPS)) * _MOST_SOURCES


def next_place(place: int) -> int:
    """The same, after one more source showed it.

    >>> next_place(4), next_place(7)
    (5, 7)
    """
    return place if place % _MOST_SOURCES == _MOST_SOURCES - 1 else place + 1
