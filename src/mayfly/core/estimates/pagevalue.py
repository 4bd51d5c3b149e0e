"""What a page is worth against the mean page of its sources, from what is known of it when it is found.

Log-linear: each feature of a page (`features.py`) multiplies its value by e^weight. A page whose sources let expect m
clicks of what could be seen of it shows n, with the mean m·e^(Σ weights). Clicks come in crowds, so a page counts by
m/(1 + m/crowd) and not by m: else the few with thousands of clicks would say all. Every weight is held to be normal, at
first 0 ± 1/√trust; what is learned adds to its precision, so no learning rate is needed. A batch is learned by Newton
steps on a bound that takes the features apart, (Σ d)² ≤ c·Σ d² for a page of c features, so that all weights move
together and none too far.

The index needs means, not ranks, so what is foreseen is held against what comes, before it is learned from. How much of
the sum of weights is believed (`temper`) is what would have foretold best so far: none, if the mean of the sources did.
And a table by the believed sum corrects what such pages brought more or less than foreseen, never their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mayfly.core.features import TABLE, WORDS
from mayfly.core.model import FloatArray

Slots: TypeAlias = NDArray[np.integer[Any]]  # a row a page, as `features.py` has them

_STEPS = 3
_FARTHEST = 4.0  # sums of weights beyond are cut: nobody is that sure
_TEMPERS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
_LOWEST, _BIN_WIDTH = -4.0, 0.5
_BINS = np.linspace(_LOWEST, 4.0, 17)  # of the believed sum
_BIN_TRUST = 100.0  # clicks' worth of belief that a bin is foreseen well
_CERTAIN = 1e30
VERSION = 1


class PageValue:
    """Weights by slot and how sure they are; what was foreseen and what came."""

    def __init__(self, trust: float = 100.0, word_trust: float = 500.0, crowd: float = 10.0) -> None:
        self._crowd = crowd
        self.weight: FloatArray = np.zeros(TABLE)
        self._sure: FloatArray = np.full(TABLE, trust)
        self._sure[WORDS:] = word_trust
        self._sure[0] = _CERTAIN  # no feature, no weight
        self._first_sure = self._sure.copy()
        self.temper = 1.0
        self._foretold = np.zeros((2, len(_TEMPERS)))  # Σ n·ln m and Σ m at each temper
        self._came = 0.0  # Σ n
        self._bins = np.zeros((2, len(_BINS)))  # clicks that came and that were foreseen
        self._corrected: FloatArray = _BINS.copy()  # ln of what a believed sum means
        # For pages that come one by one: numpy would take longer to be asked than to answer.
        self._weight_at = self.weight.data.__getitem__
        self._knots = _knots(self._corrected)
        self._place = np.zeros(TABLE, np.int32)  # of slots in a batch

    def sums(self, features: Slots) -> FloatArray:
        """Σ weights of each row of features."""
        return np.clip(self.weight[features].sum(axis=-1), -_FARTHEST, _FARTHEST)

    def merits(self, features: Slots) -> FloatArray:
        """What each row is worth, as a multiple of what its sources let expect."""
        return np.asarray(np.exp(np.interp(self.temper * self.sums(features), _BINS, self._corrected)))

    def merit(self, slots: Iterable[int]) -> float:
        """The same of one page."""
        total = sum(map(self._weight_at, slots), 0.0)
        total = _FARTHEST if total > _FARTHEST else -_FARTHEST if total < -_FARTHEST else total
        place = (self.temper * total - _LOWEST) / _BIN_WIDTH
        below = int(place)
        low, high = self._knots[below : below + 2]
        return math.exp(low + (place - below) * (high - low))

    def learn(self, features: Slots, expected: FloatArray, clicks: FloatArray) -> None:
        """Rows of features, the clicks their sources let expect, and those that came."""
        self._judge(features, expected, clicks)
        features = features[:, features.any(axis=0)]
        slots, where = self._numbered(features)
        many = np.count_nonzero(features, axis=1)
        flat = where.ravel()
        before, sure = self.weight[slots], self._sure[slots]
        weight = before.copy()
        crowd = self._crowd
        for _ in range(_STEPS):
            mean = expected * np.exp(np.clip(weight[where].sum(axis=1), -_FARTHEST, _FARTHEST))
            pull = crowd * (clicks - mean) / (crowd + mean)
            # The most the likelihood can bend on the way up: else one page with thousands of clicks is overshot.
            bend = np.where(clicks > mean, (clicks + crowd) / 4, crowd * mean / (crowd + mean)) * many
            slope = np.bincount(flat, np.repeat(pull, features.shape[1]), len(slots)) - sure * (weight - before)
            curve = np.bincount(flat, np.repeat(bend, features.shape[1]), len(slots)) + sure
            weight += np.clip(slope / curve, -1.0, 1.0)
        mean = expected * np.exp(np.clip(weight[where].sum(axis=1), -_FARTHEST, _FARTHEST))
        told = crowd * mean / (crowd + mean)
        self.weight[slots] = weight
        self.weight[0] = 0.0
        self._sure[slots] += np.bincount(flat, np.repeat(told, features.shape[1]), len(slots))

    def forget(self, share: float) -> None:
        """Let all that was learned count that much less; weights lose their precision first."""
        self._sure[1:] = np.maximum(self._sure[1:] * share, self._first_sure[1:])
        self._foretold *= share
        self._came *= share
        self._bins *= share

    def dump(self) -> bytes:
        """All of it, small: only the slots something was learned of."""
        slots = np.flatnonzero(self.weight)
        head = np.array([VERSION, len(slots), self.temper, self._came])
        judged = [self._foretold.ravel(), self._bins.ravel(), self._corrected]
        return np.concatenate([head, *judged, slots, self.weight[slots], self._sure[slots]]).astype("<f8").tobytes()

    def load(self, kept: bytes) -> bool:
        """Take what `dump` gave; False: it is of another version, or broken, and nothing is taken."""
        numbers = np.frombuffer(kept[: len(kept) // 8 * 8], "<f8").astype(float)
        sizes = [4, self._foretold.size, self._bins.size, self._corrected.size]
        if len(numbers) < 4 or numbers[0] != VERSION or len(numbers) != sum(sizes) + 3 * numbers[1]:
            return False
        head, foretold, bins, corrected, rest = np.split(numbers, np.cumsum(sizes))
        slots, weight, sure = rest.reshape(3, -1)
        self.temper, self._came = float(head[2]), float(head[3])
        self._foretold, self._bins = foretold.reshape(2, -1), bins.reshape(2, -1)
        self._corrected, self._knots = corrected, _knots(corrected)
        self.weight[slots.astype(np.int64)] = weight
        self._sure[slots.astype(np.int64)] = sure
        return True

    def _judge(self, features: Slots, expected: FloatArray, clicks: FloatArray) -> None:
        """Hold what was foreseen against what came."""
        sums = self.sums(features)
        foreseen = np.log(np.maximum(expected, 1e-12))[:, None] + sums[:, None] * _TEMPERS
        self._foretold += (clicks @ foreseen, np.exp(foreseen).sum(axis=0))
        self._came += float(clicks.sum())
        # The Poisson likelihood at each temper, with the scale at its best: of that the sources take care.
        likelihood = self._foretold[0] - self._came * np.log(np.maximum(self._foretold[1], 1e-12))
        self.temper = float(_TEMPERS[likelihood.argmax()])
        believed = self.temper * sums
        bin_ = np.clip(np.rint((believed - _LOWEST) / _BIN_WIDTH), 0, len(_BINS) - 1).astype(np.int64)
        self._bins[0] += np.bincount(bin_, clicks, len(_BINS))
        self._bins[1] += np.bincount(bin_, expected * np.exp(believed), len(_BINS))
        came, foretold = self._bins
        scale = (came.sum() + 1.0) / (foretold.sum() + 1.0)
        ratio = (came + _BIN_TRUST) / (foretold * scale + _BIN_TRUST)
        self._corrected = _rising(_BINS + np.log(ratio), foretold * scale + 1.0)
        self._knots = _knots(self._corrected)

    def _numbered(self, features: Slots) -> tuple[Slots, Slots]:
        """The slots of a batch, each once, and which of them stands where. Nothing is sorted, as `np.unique` would."""
        flat = features.ravel()
        order = np.arange(len(flat), dtype=np.int32)
        self._place[flat] = order
        last = self._place[flat]  # where the same slot stands last
        ends = last == order
        return flat[ends], (np.cumsum(ends) - 1)[last].reshape(features.shape)


def _knots(corrected: FloatArray) -> list[float]:
    """As a list, the last one twice: behind it there is another to go towards."""
    return [*corrected.tolist(), float(corrected[-1])]


def _rising(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The nearest row that never falls (pool adjacent violators)."""
    pools: list[list[float]] = []  # value, weight, length
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pools.append([value, weight, 1.0])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            last, first = pools.pop(), pools.pop()
            both = first[1] + last[1]
            pools.append([(first[0] * first[1] + last[0] * last[1]) / both, both, first[2] + last[2]])
    return np.repeat([pool[0] for pool in pools], [int(pool[2]) for pool in pools])
