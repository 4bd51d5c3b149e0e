"""What sources want in the long run at any price, in one small column; and the price at which many spend a budget.

Given the price ω, what a source takes is its own affair: λ + 1/I where ω is under its edge price, else nothing. So many
crawlers need to share one number only. Each tells how much its sources want at each price of a grid that is the same
everywhere; the columns are added, and the price is where the sum meets the budget.

On a grid of even steps in ln ω a source's 1/I is μ·φ(w - k), with w the place of its worth on the grid and k that of
the price: one function for all. So sources are not gone through price by price: their μ are laid into fine bins by w,
from the dearest price down as each comes below its edge, and every price is one product of the bins with a table of φ.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mayfly.core.curves import g_inverse
from mayfly.core.intervals import SMALLEST_DECAY, edge_prices
from mayfly.core.model import Beliefs, FloatArray, IntArray, PerSecond

POINTS = 257
_CHEAPEST, _DEAREST = 1e-12, 1e6  # clicks for a fetch: wide enough for any unit of interest
_FINE = 0.005  # of ln worth: a bin is this wide, or less
_BEYOND = 1e8  # times the dearest price: for worths above it φ is a power


def price_grid(points: int = POINTS) -> FloatArray:
    """Prices in even steps of their logarithm, the same for all who add their demands.

    >>> len(price_grid()), float((price_grid()[1] / price_grid()[0]).round(4))
    (257, 1.1757)
    """
    if points < 2:
        raise ValueError(f"a grid needs 2 prices or more, got {points} (price_grid)")
    return np.geomspace(_CHEAPEST, _DEAREST, points)


GRID = price_grid()


def demand(beliefs: Beliefs, grid: FloatArray = GRID) -> FloatArray:
    """Fetches per second the sources want at each price of a grid.

    Sources are valued as `index` does: by the pages they are first to show, the rate of the hour ahead, and links lost.

    >>> from mayfly.core.model import beliefs
    >>> one = beliefs(np.array([0.1]), np.array([5.0]), np.array([1e-3]))
    >>> demand(one, np.array([0.04, 0.4, 4.0, 40.0])).round(3).tolist(), round(wanted(one, 0.4), 3)
    ([0.179, 0.125, 0.108, 0.0], 0.125)
    """
    offers = _offers(beliefs)
    below = np.searchsorted(grid, offers.edge)  # prices at which a source is wanted: the first so many of the grid
    rows = np.flatnonzero(below)
    rows = rows[np.argsort(below[rows].astype(np.int16), kind="stable")]
    turn = below[rows]  # the number of prices at which it comes, going down
    crawls = _crawls(grid, turn, offers.worth[rows], offers.decay[rows])
    return crawls + _from_above(turn, offers.pages[rows], len(grid))


def wanted(beliefs: Beliefs, price: float) -> PerSecond:
    """The same at one price, whatever it is; source by source."""
    offers = _offers(beliefs)
    rows = np.flatnonzero(price < offers.edge)
    wait = g_inverse(price / offers.worth[rows])
    return float((offers.pages[rows] + offers.decay[rows] / wait).sum())


def price_for(total: FloatArray, grid: FloatArray, budget: PerSecond) -> float:
    """The price at which a demand, added up over all shards, meets the budget; the grid's cheapest where it is less.

    Between two prices demand is taken for a power. It may jump there, where sources are refused: then no price meets
    the budget, and this one is not farther from it than the jumps of one step.

    >>> one = np.array([1.0, 10.0, 100.0])
    >>> round(price_for(np.array([4.0, 2.0, 1.0]), one, 2.828427), 4)
    3.1623
    """
    if not (math.isfinite(budget) and budget > 0):
        raise ValueError(f"budget must be a positive number of fetches per second, got {budget}")
    above = int(np.searchsorted(-total, -budget, side="right"))  # prices at which as much is wanted, or more
    if above == 0 or above == len(grid):
        return float(grid[0] if above == 0 else grid[-1])
    more, less = float(total[above - 1]), float(total[above])
    # Where all are refused within one step, as if one after the other.
    part = math.log(more / budget) / math.log(more / less) if less > 0 else 1 - budget / more
    return float(grid[above - 1] * (grid[above] / grid[above - 1]) ** part)


def at_price(curves: FloatArray, grid: FloatArray, price: float) -> FloatArray:
    """What each shard wants at a price, by the rows of their demands; of what jumps between two prices, a part."""
    place = (math.log(price) - math.log(grid[0])) / _step(grid)
    cell = min(max(int(place), 0), len(grid) - 2)
    part = min(max(place - cell, 0.0), 1.0)
    return np.asarray(curves[:, cell] * (1 - part) + curves[:, cell + 1] * part)


class _Offers(NamedTuple):
    """Sources as a price sees them. Columns by source."""

    pages: FloatArray  # λ of the hour ahead: pages to fetch per second
    worth: FloatArray  # what one crawl finds after an endless wait
    decay: FloatArray  # μ + δ
    edge: FloatArray  # the price above which it is refused


def _offers(beliefs: Beliefs) -> _Offers:
    ahead, profit = beliefs.link_rate * beliefs.rhythm, beliefs.found_profit
    edge = edge_prices(beliefs._replace(link_rate=ahead, page_profit=profit))
    decay = np.maximum(beliefs.profit_decay + beliefs.link_loss, SMALLEST_DECAY)
    worth = ahead * profit / decay
    return _Offers(ahead, worth, decay, np.minimum(edge, worth))  # links may be lost before they are worth a crawl


def _crawls(grid: FloatArray, turn: IntArray, worth: FloatArray, decay: FloatArray) -> NDArray[np.float64]:
    """Σ μ·φ(w - k) for each price k over the rows with `turn` above k; the rows are in order of it."""
    step = _step(grid)
    apart = math.ceil(step / _FINE)  # bins from one price to the next
    table = _table(step, len(grid), apart)
    cell, left, right = _laid(np.log(worth / grid[0]), decay, step / apart, len(table))
    starts = np.searchsorted(turn, np.arange(1, len(grid) + 2))
    bins, sums = np.zeros(len(table)), np.zeros(len(grid))
    for at in range(len(grid) - 1, -1, -1):
        new = slice(starts[at], starts[at + 1])
        if starts[at] < starts[at + 1]:
            bins += np.bincount(cell[new], left[new], len(bins)) + np.bincount(cell[new] + 1, right[new], len(bins))
        sums[at] = np.einsum("i,i", bins[at * apart :], table[: len(table) - at * apart])  # in one thread
    return sums


def _laid(
    log_worth: FloatArray, decay: FloatArray, fine: float, bins: int
) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """The bin of each row, how much of its μ goes there, and how much into the next: as near as it lies to them."""
    place, last = log_worth / fine, bins - 2.0
    weight = decay * np.exp(np.maximum(place - last, 0.0) * (fine / 2))  # φ ~ 1/√(2y) where y is next to nothing
    place = np.minimum(place, last)
    cell = place.astype(np.intp)
    right = weight * (place - cell)
    return cell, weight - right, right


def _from_above(turn: IntArray, amount: FloatArray, points: int) -> FloatArray:
    """The sum of the amounts with `turn` above k, for each price k."""
    column = np.bincount(turn, amount, points + 1).astype(float)
    return np.cumsum(column[::-1])[::-1][1:]


def _step(grid: FloatArray) -> float:
    return round(math.log(grid[-1] / grid[0]) / (len(grid) - 1), 14)  # the same, wherever on the scale a grid lies


@lru_cache(maxsize=8)
def _table(step: float, points: int, apart: int) -> FloatArray:
    """φ: one by the wait in lifetimes, for worths of so many bins more than the price."""
    cells = points + math.ceil(math.log(_BEYOND) / step)
    with np.errstate(divide="ignore"):
        return 1 / g_inverse(np.exp(-step / apart * np.arange(cells * apart)))
