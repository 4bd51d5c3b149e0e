"""A source drawn from what was seen of it: when new links come in a week, and when their pages are clicked."""

from __future__ import annotations

import numpy as np

from mayfly.core.model import HOUR, FloatArray, Seconds

HOURS = 168  # of a week
_MONDAY = 4 * 24  # the first hour of time was Thursday's: so many hours before a Monday
_BLOCK = 2048  # pages at once, so that a table of pages by ages stays small


def by_hour_of_week(at: FloatArray, since: Seconds, until: Seconds) -> FloatArray:
    """Mean number of arrivals in each hour of a week (UTC, from Monday on), over the time that was watched.

    An hour that was not watched yet is `nan`.

    >>> monday = 4 * 86400.0
    >>> rates = by_hour_of_week(np.array([monday + 60, monday + 90]), monday, monday + 14 * 86400.0)
    >>> float(rates[0]), float(rates[1])
    (1.0, 0.0)
    """
    inside = at[(at >= since) & (at < until)]
    counts = np.bincount(_hour(inside), minlength=HOURS).astype(float)
    weeks, rest = divmod(max(until - since, 0.0), HOURS * HOUR)
    watched = np.full(HOURS, float(weeks))
    edges = np.concatenate([[since], np.arange(since // HOUR + 1, HOURS * 2 + since // HOUR) * HOUR])
    edges = np.concatenate([edges[edges < since + rest], [since + rest]])
    np.add.at(watched, _hour(edges[:-1]), np.diff(edges) / HOUR)
    return np.divide(counts, watched, out=np.full(HOURS, np.nan), where=watched > 0)


def clicks_by_age(
    seen_from: FloatArray, seen_until: FloatArray, click_age: FloatArray, clicks: FloatArray, ages: FloatArray
) -> FloatArray:
    """Clicks a page of a source has gathered up to each of the `ages`, on the average: cumulative, from 0 on.

    Pages are watched from the age of their fetch to their age now, each for another part of its life. So the clicks of
    each span of age are divided by the pages watched in it, and added up. `nan` beyond the age of the oldest.

    >>> twice = clicks_by_age(np.array([0.0, 10.0]), np.array([20.0, 20.0]), np.array([5.0, 15.0, 16.0]), np.ones(3),
    ...                       np.array([0.0, 10.0, 20.0]))
    >>> twice.tolist()
    [0.0, 1.0, 2.0]
    """
    low, high = ages[:-1], ages[1:]
    watched = np.zeros(len(low))
    for first in range(0, len(seen_from), _BLOCK):
        begin, end = seen_from[first : first + _BLOCK, None], seen_until[first : first + _BLOCK, None]
        watched += np.clip(np.minimum(end, high) - np.maximum(begin, low), 0.0, None).sum(axis=0)
    place = np.searchsorted(ages, click_age, side="right") - 1
    inside = (place >= 0) & (place < len(low))
    came = np.bincount(place[inside], clicks[inside], len(low))
    pages = watched / (high - low)
    each = came / np.maximum(pages, 1.0)  # a glimpse of one page says little
    each[np.flatnonzero(pages)[-1] + 1 if pages.any() else 0 :] = np.nan
    return np.concatenate([[0.0], np.cumsum(each)])


def _hour(at: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return (np.floor(at / HOUR).astype(np.int64) - _MONDAY) % HOURS
