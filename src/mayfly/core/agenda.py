"""What one crawler of many would fetch in the time ahead, and what each fetch is worth: the demand of a shard.

One scheduler takes the best of all there is. Many that share its budget come near to that if each may spend as much as
it has of the best of all. So each tells, for every price, how many fetches it has that are worth more: pages that wait,
sources whose turn will have come by then, and the pages that crawls of those are expected to bring. In a steady state
this is λ + 1/I of every source (`demand.py`); behind time, or ahead of it, it is what is really there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.intervals import SMALLEST_DECAY
from mayfly.core.model import Beliefs, FloatArray, IntArray, Seconds

_PART = 0.25  # of what a source has waited: as long as its worth takes for some steps of a grid of prices
_BETWEEN = 0.9  # of the time a site rests; the remainder it is being asked


class Agenda(NamedTuple):
    """What could be fetched soon. Columns of items; copies, for another thread."""

    worth: FloatArray
    rate: FloatArray  # fetches per second: its own, and those that follow from it
    site: IntArray
    most: FloatArray  # by site: requests per second it takes


def terms(row: Columns, sources: int, now: Seconds, ahead: Seconds) -> FloatArray:
    """The time within which each source is asked for if its turn comes in it: `ahead`, or a part of what it has waited.

    Some seconds more make no difference to a source that waits for hours, and its worth none to a grid of prices.
    """
    return np.maximum(_PART * np.where(row.crawls[:sources] > 0, now - row.seen[:sources], 0.0), ahead)


def agenda(
    beliefs: Beliefs, row: Columns, keys: FloatArray, now: Seconds, within: FloatArray, pages: FloatArray,
    sites: IntArray, ahead: Seconds, most: FloatArray,
) -> Agenda:  # fmt: skip
    """What there is to fetch: sources with their `terms` and how much they will be wanted at the end of them (`keys`),
    and the pages that wait, with what they are worth and where.
    """
    some = slice(len(keys))
    waited = np.where(row.crawls[some] > 0, now + within - row.seen[some], 0.0)  # what a first look brings is not known
    found = beliefs.link_rate * beliefs.rhythm * np.minimum(waited, 1 / np.maximum(beliefs.link_loss, SMALLEST_DECAY))
    due = np.flatnonzero(keys > 0)
    return Agenda(
        np.concatenate([keys[due], pages]),
        np.concatenate([(1 + found[due]) / within[due], np.full(len(pages), 1 / ahead)]),
        np.concatenate([row.site[due], sites]),
        most.copy(),
    )


def asked(items: Agenda, grid: FloatArray) -> FloatArray:
    """Fetches per second that are wanted at each price of a grid, and of no site more than it takes.

    At the lowest price there is no end of what is worth a fetch: it is all that the sites take.

    >>> two = Agenda(np.array([5.0, 0.5]), np.array([0.1, 0.3]), np.array([0, 0]), np.array([0.2]))
    >>> asked(two, np.array([0.01, 0.1, 1.0, 10.0])).round(3).tolist()
    [0.18, 0.18, 0.1, 0.0]
    """
    rate = _possible(items)
    order = np.argsort(items.worth)
    dearer = np.append(np.cumsum(rate[order][::-1])[::-1], 0.0)
    curve = dearer[np.searchsorted(items.worth[order], grid, side="right")]
    limit = _BETWEEN * float(items.most[np.unique(items.site)].sum())
    curve[0] = limit if np.isfinite(limit) else curve[0]
    return np.asarray(curve)


def steadied(before: FloatArray | None, now: FloatArray, passed: Seconds, memory: Seconds) -> FloatArray:
    """A demand, and what is still remembered of those before it: a page more or less is no reason to deal anew.

    >>> steadied(np.array([4.0]), np.array([8.0]), passed=10.0, memory=10.0).round(3).tolist()
    [6.528]
    """
    return now if before is None else before + (now - before) * -np.expm1(-passed / memory)


def _possible(items: Agenda) -> FloatArray:
    """The rate of each item that its site still takes, after those that are worth more."""
    order = np.lexsort((-items.worth, items.site))
    rate, site = items.rate[order], items.site[order]
    before = np.cumsum(rate) - rate
    before -= before[np.searchsorted(site, site)]  # those of other sites
    possible = np.empty_like(rate)
    possible[order] = np.clip(_BETWEEN * items.most[site] - before, 0.0, rate)
    return possible
