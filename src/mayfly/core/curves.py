"""The two curves behind every interval, and their inverses.

`g(x) = 1 - (1 + x)·e^-x` is the share of a source's price reached after waiting x = μτ (paper, section 4.1).
`reserve_ratio(z)`, z = μ/λ, is the root r > 1 of r - 1 - ln r = z: a source is worth crawling while one fetch costs
less than P/r, that is while the oldest page it shows is still worth its own fetch.

Both inverses could be written with Lambert's W₋₁ (`-1 - W₋₁(-(1-y)/e)` and `-W₋₁(-e^(-1-z))`); a table and a Newton
step are twice as fast on a million sources and keep their digits near zero, where W₋₁ loses them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from mayfly.core.model import FloatArray

_TABLE_STEP = 1 / 1024
_BLOCK = 1 << 14
_TABLE_END = 27.0  # √-ln of the smallest float: no y below 1 lies beyond


def g(x: FloatArray) -> FloatArray:
    """Share of the price reached after a wait of x = μτ; from 0 at 0 up to 1.

    >>> float(g(np.array(1.0)).round(6))
    0.264241
    """
    x = np.asarray(x, dtype=float)
    series = x * x * (1 / 2 - x * (1 / 3 - x * (1 / 8 - x * (1 / 30 - x / 144))))
    with np.errstate(invalid="ignore", over="ignore"):
        exact = -np.expm1(-x) - np.where(np.isinf(x), 0.0, x * np.exp(-x))
    return np.where(x < 0.02, series, exact)


def g_inverse(y: FloatArray) -> FloatArray:
    """The wait x at which `g(x)` = y; `inf` from y = 1 on, 0 at y = 0.

    >>> float(g_inverse(g(np.array(0.7))).round(12))
    0.7
    """
    return _by_blocks(_g_inverse, np.asarray(y, dtype=float))


def rough_g_inverse(y: FloatArray) -> FloatArray:
    """The same to six digits, three times as fast: for searches over very many sources."""
    return _by_blocks(
        lambda part: _lookup(np.sqrt(-np.log1p(-np.minimum(part, 1 - 1e-16)))), np.asarray(y, dtype=float)
    )


def reserve_ratio(z: FloatArray) -> FloatArray:
    """The root r ≥ 1 of r - 1 - ln r = z, for z = μ/λ ≥ 0; P/r is the price above which a source is refused.

    >>> float(reserve_ratio(np.array(1.0)).round(6))
    3.146193
    """
    return _by_blocks(_reserve_ratio, np.asarray(z, dtype=float))


def above(price: float, profit: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of pages with log-normal values around the mean `profit`: the share worth more than `price`, by number and value.

    >>> share, value = above(1.0, np.array([0.5, 0.5]), np.array([0.0, 1.5]))
    >>> share.round(3).tolist(), value.round(3).tolist()
    ([1.0, 0.113], [1.0, 0.613])
    """
    some = np.maximum(spread, 1e-9)
    middle = np.log(np.maximum(profit, 1e-300) / price) / some
    share, value = _normal(middle - some / 2), _normal(middle + some / 2)
    # Where pages are all alike, that they are too cheap is for the cap to say; and a share of none has no mean.
    alike = (spread <= 0.0) | (share < 1e-6)
    return np.where(alike, 1.0, share), np.where(alike, 1.0, value)


def _normal(x: FloatArray) -> FloatArray:
    """The normal distribution to three digits; scipy's takes a tenth of a second to import."""
    x = np.clip(x, -8.0, 8.0)
    return np.asarray(1 / (1 + np.exp(-x * (1.5976 + 0.07056 * x * x))))


def _g_inverse(y: FloatArray) -> FloatArray:
    s = np.sqrt(2 * np.clip(y, 0.0, 1e-3))
    series = s * (1 + s * (1 / 3 + s * (11 / 72 + s * (43 / 540 + s * (769 / 17280 + s * 221 / 8505)))))
    # Newton on ln(1+x) - x = ln(1-y), which is concave: it converges from the table's guess and keeps y near 1 apart.
    log_rest = np.log1p(-np.clip(y, 1e-4, 1 - 1e-16))
    x = _lookup(np.sqrt(-log_rest))
    x = x + (np.log1p(x) - x - log_rest) * (1 + x) / x
    return np.where(y >= 1.0, np.inf, np.where(y < 1e-3, series, x))


def _reserve_ratio(z: FloatArray) -> FloatArray:
    u = np.sqrt(2 * z)
    small = u * (1 + u * (1 / 3 + u * (1 / 36 - u / 270)))
    with np.errstate(invalid="ignore"):
        d = np.where(z < 1e-6, small, z + u)  # beyond the root on a convex curve: Newton comes down to it
        for _ in range(5):
            d = np.where(z < 1e-6, d, d - (d - np.log1p(d) - z) * (1 + d) / d)
    return np.where(np.isinf(z), np.inf, 1 + d)


def _by_blocks(function: Callable[[FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    """Apply `function` in pieces that stay in the cache: four times as fast on a million values."""
    if values.size <= _BLOCK:
        return function(values)
    flat = values.reshape(-1)
    blocks = [function(flat[at : at + _BLOCK]) for at in range(0, flat.size, _BLOCK)]
    return np.concatenate(blocks).reshape(values.shape)


def _lookup(root: FloatArray) -> FloatArray:
    """Linear interpolation of x in √-ln(1-y), where it is nearly straight."""
    table = _table()
    place = root * (1 / _TABLE_STEP)
    cell = np.minimum(place.astype(np.intp), len(table) - 2)
    left = table[cell]
    return left + (table[cell + 1] - left) * (place - cell)


@cache
def _table() -> FloatArray:
    """Built when it is first asked for: most commands never do."""
    goal = np.square(np.arange(0, _TABLE_END + _TABLE_STEP, _TABLE_STEP))
    x = goal + np.sqrt(2 * goal)
    x[0] = 1e-300
    for _ in range(60):
        x = np.maximum(x + (np.log1p(x) - x + goal) * (1 + x) / x, 1e-300)
    x[0] = 0.0
    return x
