"""Algorithm 2: the profit P and decay μ that fit a cumulative click histogram, by gradient descent.

In the paper's units (seconds and clicks) the slopes by P and by μ differ by ten orders of magnitude and no step size γ
serves both. So ages are in days and clicks relative to the last bin; and as F is a parabola in P, with its lowest point
known for each μ, the descent is in μ alone, with P always at that point: of a histogram that has hardly begun to bend
the data fix neither P nor μ well, and a descent in both would creep along a valley. The slope is divided by its
curvature; γ is halved when the error F rises and grows back when it falls. All histograms go down together, each with
its own γ; one that no longer moves drops out.
"""

from __future__ import annotations

import numpy as np

from mayfly.core.model import DAY, FloatArray, IntArray, Seconds

MOST_STEPS = 1000
_PRECISION = 1e-5  # ε: the largest relative move of P and μ that still counts as one
_DECAYS = (1 / 100, 200.0)  # per day: fits end here where a histogram has no bend, or nothing but one


def fit_decay(
    clicks: FloatArray, bins: IntArray, bin_width: Seconds, decay: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """P and μ (per second) for each row of mean cumulative clicks per page; row k has `bins[k]` bins that count.

    `decay` is the μ of the last fit, per second, to start from.
    """
    scale = np.maximum(clicks[np.arange(len(clicks)), bins - 1], 1e-300)
    width = int(bins.max())
    counts = np.arange(width) < bins[:, None]
    target = np.where(counts, clicks[:, :width] / scale[:, None], 0.0)
    age = np.where(counts, (np.arange(width) + 1) * (bin_width / DAY), 0.0)  # at age 0 the curve is 0: no error
    profit, decay = _descend(age, target, np.clip(decay * DAY, *_DECAYS))
    return profit * scale, decay / DAY


def _descend(age: FloatArray, target: FloatArray, decay: FloatArray) -> tuple[FloatArray, FloatArray]:
    best = decay.copy()
    going = np.arange(len(decay))
    step = np.ones(len(decay))  # γ
    error, move, profit = _downhill(age, target, decay)
    best_profit = profit.copy()
    for _ in range(MOST_STEPS):
        wanted = np.clip(decay + step * move, decay / 4, decay * 4)
        next_decay = np.clip(wanted, *_DECAYS)
        next_error, next_move, next_profit = _downhill(age, target, next_decay)
        fell = next_error <= error
        on = np.abs(next_decay / decay - 1) > _PRECISION
        step = np.where(fell, np.minimum(2 * step, 1.0), step / 2)
        decay, error = np.where(fell, next_decay, decay), np.where(fell, next_error, error)
        move, profit = np.where(fell, next_move, move), np.where(fell, next_profit, profit)
        best[going], best_profit[going] = decay, profit
        if not on.any():
            break
        if not on.all():
            going, age, target = going[on], age[on], target[on]
            decay, step, error, move, profit = decay[on], step[on], error[on], move[on], profit[on]
    return best_profit, best


def _downhill(age: FloatArray, target: FloatArray, decay: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """F at its lowest for each μ, the way down (slope by curvature, Gauss-Newton), and the P it is lowest at."""
    left = np.exp(-decay[:, None] * age)
    gone = 1 - left
    lift = age * left  # the curve's slope by μ, for P = 1
    height = _dot(gone, gone)
    profit = np.maximum(_dot(gone, target), 1e-12) / height
    off = profit[:, None] * gone - target
    bend = profit * (_dot(lift, lift) - _dot(gone, lift) ** 2 / height)
    return _dot(off, off), -_dot(off, lift) / np.maximum(bend, 1e-12), profit


def _dot(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", one, other))
