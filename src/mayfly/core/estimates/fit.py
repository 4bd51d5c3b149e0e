"""Algorithm 2: the profit P and decay μ that fit a cumulative click histogram, by gradient descent.

In the paper's units (seconds and clicks) the two slopes differ by ten orders of magnitude and no step size γ serves
both. So ages are in days and clicks relative to the last bin, and the descent is in μ and in the height of the curve at
that bin, H = P(1 - e^-μX), rather than in μ and P: of a histogram that has hardly begun to bend the data fix H well and
P hardly, and a descent in P would creep along a valley. Each slope is divided by its own curvature; γ is halved when
the error F rises and lengthened a little when it falls. All histograms go down together, each with its own γ; one that
no longer moves drops out.
"""

from __future__ import annotations

import numpy as np

from mayfly.core.model import DAY, FloatArray, IntArray, Seconds

MOST_STEPS = 1000
_PRECISION = 1e-5  # ε: the largest relative move of P and μ that still counts as one
_DECAYS = (1 / 100, 200.0)  # per day: fits end here where a histogram has no bend, or nothing but one


def fit_decay(
    clicks: FloatArray, bins: IntArray, bin_width: Seconds, start: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """P and μ (per second) for each row of mean cumulative clicks per page; row k has `bins[k]` bins that count.

    `start` holds the last fit, P in clicks (0: none yet) and μ per second.
    """
    scale = np.maximum(clicks[np.arange(len(clicks)), bins - 1], 1e-300)
    width = int(bins.max())
    target = clicks[:, :width] / scale[:, None]
    weight = (np.arange(width) < bins[:, None]) / bins[:, None]
    age = (np.arange(width) + 1) * (bin_width / DAY)
    profit = np.where(start[0] > 0, start[0] / scale, 1.0)
    decay = np.clip(start[1] * DAY, *_DECAYS)
    profit, decay = _descend(age, target, weight, profit, decay)
    return profit * scale, decay / DAY


def _descend(
    age: FloatArray, target: FloatArray, weight: FloatArray, profit: FloatArray, decay: FloatArray
) -> tuple[FloatArray, FloatArray]:
    best_profit, best_decay = profit.copy(), decay.copy()
    going = np.arange(len(profit))
    last = age[np.count_nonzero(weight, axis=1) - 1]  # X
    step = np.ones(len(profit))  # γ
    error, *slopes = _slopes(age, target, weight, profit, decay)
    for _ in range(MOST_STEPS):
        next_profit, next_decay = _step(last, profit, decay, step, slopes)
        next_error, *next_slopes = _slopes(age, target, weight, next_profit, next_decay)
        fell = next_error <= error
        move = np.maximum(np.abs(next_profit / profit - 1), np.abs(next_decay / decay - 1))
        step = np.where(fell, step * 1.3, step / 2)
        profit = np.where(fell, next_profit, profit)
        decay = np.where(fell, next_decay, decay)
        error = np.where(fell, next_error, error)
        slopes = [np.where(fell, new, old) for new, old in zip(next_slopes, slopes, strict=True)]
        best_profit[going], best_decay[going] = profit, decay
        on = move > _PRECISION
        if not on.any():
            break
        if not on.all():
            going, target, weight, last = going[on], target[on], weight[on], last[on]
            profit, decay, step, error = profit[on], decay[on], step[on], error[on]
            slopes = [slope[on] for slope in slopes]
    return best_profit, best_decay


def _step(
    last: FloatArray, profit: FloatArray, decay: FloatArray, step: FloatArray, slopes: list[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """One step down, in H and μ: the chain rule turns the slopes by P and μ into slopes by these."""
    by_profit, by_decay, bend_profit, bend_decay, cross = slopes
    risen = -np.expm1(-decay * last)  # H / P
    turn = profit * last * np.exp(-decay * last) / risen  # how P must fall as μ grows, for H to stay
    bend = np.maximum(bend_decay - 2 * turn * cross + turn**2 * bend_profit, 1e-12)
    height = np.maximum(profit * risen - step * by_profit * risen / bend_profit, 1e-6)
    down = decay - step * (by_decay - turn * by_profit) / bend
    next_decay = np.clip(np.clip(down, decay / 4, decay * 4), *_DECAYS)
    return height / -np.expm1(-next_decay * last), next_decay


def _slopes(
    age: FloatArray, target: FloatArray, weight: FloatArray, profit: FloatArray, decay: FloatArray
) -> tuple[FloatArray, ...]:
    """F, its slopes by P and μ (the paper's footnote 4), the curvature of each and of both together (Gauss-Newton)."""
    left = np.exp(-decay[:, None] * age)
    gone = 1 - left
    off = (profit[:, None] * gone - target) * weight
    lift = profit[:, None] * age * left
    error = np.einsum("ij,ij->i", off, profit[:, None] * gone - target)
    by_profit = 2 * np.einsum("ij,ij->i", off, gone)
    by_decay = 2 * np.einsum("ij,ij->i", off, lift)
    bend_profit = 2 * np.einsum("ij,ij->i", weight * gone, gone) + 1e-12
    bend_decay = 2 * np.einsum("ij,ij->i", weight * lift, lift) + 1e-12
    cross = 2 * np.einsum("ij,ij->i", weight * gone, lift)
    return error, by_profit, by_decay, bend_profit, bend_decay, cross
