"""What is shown high is clicked more: how much more, and what a click is worth against it.

A click needs a reader who looks that far down and a page worth clicking: clicks = shows x propensity(position) x worth.
Both are unknown, but a page that was shown at several positions is compared with itself, so good pages that stand high
do not make the top look better than it is: worth = clicks / Σ shows x propensity, then propensity = clicks / Σ shows x
worth, in turns (the likeliest values of both, clicks being Poisson). Each propensity leans on the curve position^-η
that fits best, and η leans on 0: as long as nothing is known, all positions are alike. A lower position is never held
to be seen more than a higher one.

A click then counts 1 / propensity: as many as the page would have had at the top; ten at most, for the clicks of
readers who hardly ever look there are few, and each would weigh too much.
"""

from __future__ import annotations

import numpy as np

from mayfly.core.model import DAY, BoolArray, FloatArray, IntArray, Seconds

MOST = 10.0  # clicks that one may count as
_KEPT: Seconds = 14 * DAY  # a page that was not shown for so long teaches no more
_MOST_CELLS = 100_000
_NEWS = 0.02  # clicks since the curve was last drawn, against all, that are worth drawing it again
_TRUST = 20.0  # clicks' worth of belief in the fitted curve
_FLATNESS = 5.0  # clicks' worth of belief that positions do not matter
_ROUNDS = 20
_FIRST = np.array([*range(1, 11), 13, 17, 22, 30, 40, 60, 100, 200, 500, 1000])  # where each class of positions begins
_MIDDLE = np.sqrt(_FIRST * np.append(_FIRST[1:] - 1, 2000).astype(float))
_EXPONENTS = np.linspace(0.0, 2.5, 51)


class Positions:
    """Clicks and shows by page and class of positions, and the curve they let us see."""

    def __init__(self) -> None:
        self._key: IntArray = np.zeros(0, np.int64)  # page and class in one number
        self._clicks: FloatArray = np.zeros(0)
        self._shows: FloatArray = np.zeros(0)
        self._last: FloatArray = np.zeros(0)  # when the cell last grew
        self._news = 0.0  # clicks since the curve was drawn
        self.propensity: FloatArray = np.ones(len(_FIRST))  # of each class; 1 at the top

    def count(self, at: Seconds, page: IntArray, position: IntArray, number: FloatArray, show: BoolArray) -> None:
        """Clicks and shows at known positions (1 is the top), told at `at`."""
        key = page.astype(np.int64) * len(_FIRST) + _class_of(position)
        keys, which = np.unique(np.concatenate([self._key, key]), return_inverse=True)
        old, new = which[: len(self._key)], which[len(self._key) :]
        clicks, shows = (
            np.asarray(np.bincount(old, kept, len(keys)) + np.bincount(new, number * of_kind, len(keys)), float)
            for kept, of_kind in ((self._clicks, ~show), (self._shows, show))
        )
        last = np.full(len(keys), at)
        last[old] = self._last
        last[new] = at
        keep = np.flatnonzero(last > at - _KEPT)
        if len(keep) > _MOST_CELLS:
            keep = np.sort(keep[np.argsort(-last[keep], kind="stable")[:_MOST_CELLS]])
        self._key, self._clicks, self._shows, self._last = keys[keep], clicks[keep], shows[keep], last[keep]
        self._news += float(number[~show].sum())
        if self._news > _NEWS * float(self._clicks.sum()):
            self._news, self.propensity = 0.0, self._fit()

    def weight(self, position: IntArray) -> FloatArray:
        """What a click at each position counts; 1 where the position is not known (0)."""
        weight = np.minimum(1 / self.propensity, MOST)[_class_of(position)]
        return np.asarray(np.where(position > 0, weight, 1.0))

    def _fit(self) -> FloatArray:
        shown = self._shows > 0  # clicks without shows say nothing of how many did not click
        page, which = np.divmod(self._key[shown], len(_FIRST))
        _, page = np.unique(page, return_inverse=True)
        clicks, shows = self._clicks[shown], self._shows[shown]
        at_class = _sums(which, clicks)
        of_page = np.bincount(page, clicks)
        propensity = self.propensity
        for _ in range(_ROUNDS if len(page) else 0):
            looked = np.bincount(page, shows * propensity[which])
            worth = (of_page / looked)[page]
            expected = _sums(which, shows * worth)
            curve = _curve(at_class, expected)
            propensity = (at_class + _TRUST) / (expected + _TRUST / curve)
            propensity = np.minimum.accumulate(propensity / propensity[0])
        return propensity


def _sums(which: IntArray, number: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(which, number, len(_FIRST)), float)


def _class_of(position: IntArray) -> IntArray:
    return np.asarray(np.maximum(np.searchsorted(_FIRST, position, side="right") - 1, 0))


def _curve(clicks: FloatArray, expected: FloatArray) -> FloatArray:
    """position^-η for the likeliest η, given the clicks at each class and those expected were all seen alike."""
    curves, some = _MIDDLE ** -_EXPONENTS[:, None], clicks > 0
    share = curves[:, some] * expected[some]
    like = np.log(share / share.sum(axis=1, keepdims=True)) @ clicks[some]
    return np.asarray(curves[int(np.argmax(like - _FLATNESS * _EXPONENTS))])
