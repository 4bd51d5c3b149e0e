"""What a reader is shown first. Pure: told the pages, the time and the dice.

A page is worth what it may still gather: P·e^(−μ·age), with P and μ of its source. Of many pages of one source each is
worth a little less than the one before, for nobody wants the same paper ten times in a row. Where words were asked for,
places by worth and by closeness are joined (reciprocal ranks), for the two have no common measure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mayfly.core.model import DAY, FloatArray, IntArray, Seconds
from mayfly.store.sights import Candidates

SHARE = 0.05  # of the slots show random fresh pages, so that what was never shown can be learned
_FRESH: Seconds = DAY
_PROFIT, _DECAY = 1.0, 1 / DAY  # before anything is believed
_AGAIN = 0.9  # what the next page of the same source is worth beside the one before
_SMOOTH = 60.0  # how little the first places stand out
_TINY = 1e-12


class Slots(NamedTuple):
    """Pages to show, as places among the candidates."""

    shown: IntArray
    ranked: int  # of them by worth; the others by chance


def log_worth(pages: Candidates, now: Seconds) -> FloatArray:
    """ln(P·e^(−μ·age)): the logarithm, for of old pages nothing else is left."""
    profit = _filled(pages.profit, _PROFIT)
    decay = _filled(pages.decay, _DECAY)
    return np.log(np.maximum(profit, _TINY)) - decay * np.maximum(now - pages.published, 0.0)


def by_worth(pages: Candidates, now: Seconds) -> IntArray:
    """Places among the candidates, the most worth reading now first."""
    worth = log_worth(pages, now)
    order = np.lexsort((-worth, pages.source))
    source = pages.source[order]
    number = np.arange(len(order))
    first = np.maximum.accumulate(np.where(np.r_[True, source[1:] != source[:-1]], number, 0)) if len(order) else number
    lowered = np.empty(len(order))
    lowered[order] = worth[order] + (number - first) * np.log(_AGAIN)
    return np.argsort(-lowered, kind="stable")


def by_words(pages: Candidates, now: Seconds) -> IntArray:
    """The same of pages that have words: by worth and closeness together."""
    worth = log_worth(pages, now)
    score = 1 / (_SMOOTH + _places(worth)) + 1 / (_SMOOTH + _places(pages.closeness))
    return np.lexsort((-worth, -score))


def mixed(
    ranked: IntArray, pages: Candidates, number: int, now: Seconds, chance: np.random.Generator, share: float = SHARE
) -> Slots:
    """The first of the ranked, and in every slot with a probability of `share` a random fresh page instead."""
    first = ranked[:number]
    fresh = np.flatnonzero(now - pages.published < _FRESH)
    others = np.setdiff1d(fresh, first, assume_unique=True)
    random = chance.random(len(first)) < share
    drawn = chance.permutation(others)[: random.sum()]
    places = np.flatnonzero(random)[: len(drawn)]
    shown = np.empty(len(first), np.int64)
    by_rank = np.ones(len(first), bool)
    by_rank[places] = False
    shown[places] = drawn
    shown[by_rank] = first[: by_rank.sum()]
    return Slots(shown, int(by_rank.sum()))


def _places(score: FloatArray) -> FloatArray:
    """1 for the highest; equal ones share the best of their places.

    >>> _places(np.array([3.0, 9.0, 9.0, 1.0])).tolist()
    [3.0, 1.0, 1.0, 4.0]
    """
    return 1.0 + len(score) - np.searchsorted(np.sort(score), score, side="right")


def _filled(column: FloatArray, otherwise: float) -> FloatArray:
    """With the mean of what is believed where nothing is."""
    known = np.isfinite(column)
    mean = float(column[known].mean()) if known.any() else otherwise
    return np.where(known, column, mean)
