"""Where a page is linked says what it is worth: how high on the source, and on how many sources.

A place is a class of both: five shares of the source's list from top to bottom (0: rank not told), times the number of
sources seen to link the page, up to four. What a place is worth, against the mean page of the same sources, is learned.
"""

from __future__ import annotations

from mayfly.core.model import PLACES

_SHARES = (0.1, 0.25, 0.5, 0.75)
_MOST_SOURCES = 4
assert (len(_SHARES) + 2) * _MOST_SOURCES == PLACES


def first_place(rank: float | None, shown: int) -> int:
    """The place of a page just found on one source, at `rank` (1 = top) of the `shown` links.

    >>> first_place(None, 40), first_place(1, 40), first_place(39, 40)
    (0, 4, 20)
    """
    if rank is None:
        return 0
    share = rank / max(shown, rank)
    return (1 + sum(share > edge for edge in _SHARES)) * _MOST_SOURCES


def next_place(place: int) -> int:
    """The same, after one more source showed it.

    >>> next_place(4), next_place(7)
    (5, 7)
    """
    return place if place % _MOST_SOURCES == _MOST_SOURCES - 1 else place + 1
