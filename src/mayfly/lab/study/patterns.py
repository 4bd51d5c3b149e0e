"""How interest in new pages fades (paper, section 3.1): visits by day of a page's first fortnight, in six clusters.

A page's pattern is its visits on each of fourteen days from the first one, scaled so that its best day is 1. A cluster
is *ephemeral* when interest came and went: more than half of its centroid's interest falls on four days in a row, and
at least four days of the fortnight are left after them. The paper only says that it "lasts only for a few days".
Without the second half of the rule, interest that grows until the fortnight ends would count as fading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mayfly.core.model import DAY, BoolArray, FloatArray, IntArray, Seconds
from mayfly.lab.study.kmeans import STARTS, kmeans, nearest
from mayfly.lab.study.visits import NONE, Visits

DAYS = 14
FEW = 4  # days: "a few"
MOSTLY = 0.5
CLUSTERS = 6
TRIED = range(2, 9)


class Fortnights(NamedTuple):
    """Patterns of the new pages whose fortnight is in the log."""

    page: IntArray  # their numbers
    pattern: FloatArray  # (pages, DAYS), the best day of each is 1
    visits: FloatArray  # in the fortnight
    old: int  # pages left out: first visited before the log had settled
    cut: int  # and those whose fortnight is longer than the log


@dataclass(frozen=True)
class Cluster:
    """Pages whose interest is alike."""

    centroid: FloatArray
    pages: int
    share: float  # of all pages
    held: float  # share of its interest on its best four days in a row
    ephemeral: bool
    nearest: Sequence[int]  # rows of the pages nearest its centre


@dataclass(frozen=True)
class Patterns:
    """What was found with one k. Clusters are numbered from 0, the largest first."""

    clusters: Sequence[Cluster]
    labels: IntArray  # by row of `Fortnights`
    explained: float  # share of the variance within the sample that the clusters take away

    @property
    def ephemeral_share(self) -> float:
        return sum(cluster.share for cluster in self.clusters if cluster.ephemeral)


def fortnights(visits: Visits, settle: Seconds = 0.0, each_visitor_once: bool = False) -> Fortnights:
    """The patterns of a log; with `each_visitor_once`, visitors a day in place of visits."""
    first = visits.first_visits()
    new = first >= visits.at.min() + settle
    whole = first + DAYS * DAY <= visits.end + 1e-3  # a millisecond: sums of seconds are not exact
    kept = np.flatnonzero(new & whole)
    row = np.full(len(first), NONE)
    row[kept] = np.arange(len(kept))
    age = np.floor((visits.at - first[visits.page]) / DAY)
    inside = (row[visits.page] >= 0) & (age < DAYS)
    cell = row[visits.page[inside]] * DAYS + age[inside].astype(np.int64)
    count = None if visits.count is None else visits.count[inside]
    if each_visitor_once:
        cell, count = _once(cell, visits.visitor[inside]), None
    daily = np.bincount(cell, count, minlength=len(kept) * DAYS).reshape(len(kept), DAYS)
    return Fortnights(
        kept,
        daily / daily.max(axis=1, keepdims=True) if len(kept) else daily.astype(float),
        daily.sum(axis=1),
        int(np.sum(~new)),
        int(np.sum(new & ~whole)),
    )


def sample_of(found: Fortnights, size: int, rng: np.random.Generator) -> FloatArray:
    """Patterns of so many pages, drawn without replacement; of all, if there are no more."""
    if len(found.page) <= size:
        return found.pattern
    return found.pattern[np.sort(rng.choice(len(found.page), size, replace=False))]


def clustered(
    found: Fortnights,
    sample: FloatArray,
    k: int,
    rng: np.random.Generator,
    show: int = 3,
    done: Callable[[float], None] = lambda _: None,
) -> Patterns:
    """Centres learned from the sample; then every page goes to the nearest."""
    centroids, inertia = kmeans(sample, k, rng, STARTS, done)
    labels, away = nearest(found.pattern, centroids)
    sizes = np.bincount(labels, minlength=k)
    order = np.lexsort((np.arange(k), -sizes))  # the largest first
    labels = np.argsort(order)[labels]
    centroids, sizes = centroids[order], sizes[order]
    few = held(centroids)
    near = [_nearest_rows(np.flatnonzero(labels == number), away, found.visits, show) for number in range(k)]
    spread = float(np.square(sample - sample.mean(axis=0)).sum())
    clusters = [
        Cluster(centroids[number], int(sizes[number]), float(sizes[number] / len(labels)), float(few[number]),
                bool(few[number] > MOSTLY), near[number])
        for number in range(k)
    ]  # fmt: skip
    return Patterns(clusters, labels, 1 - inertia / spread if spread else 1.0)


def held(centroids: FloatArray) -> FloatArray:
    """The share of each one's interest on its best few days in a row, of those that leave as many days after them.

    >>> held(np.array([[1.0] + 13 * [0.0], 14 * [1.0]])).round(2).tolist()
    [1.0, 0.29]
    """
    runs = sliding_window_view(centroids[:, : DAYS - FEW], FEW, axis=1).sum(axis=2)
    return runs.max(axis=1) / np.maximum(centroids.sum(axis=1), 1e-300)


def ephemeral_pages(found: Patterns) -> BoolArray:
    """By row, whether the page's cluster is ephemeral."""
    return np.array([cluster.ephemeral for cluster in found.clusters])[found.labels]


def enough(sample: FloatArray) -> int:
    """How many clusters there can be: as many as different patterns."""
    return len(np.unique(sample, axis=0))


def _once(cell: IntArray, visitor: Any) -> IntArray:
    """Cells of visits, but one for each visitor; whoever is not known counts every time."""
    known = visitor != NONE
    pairs = cell[known] * (int(visitor.max(initial=0)) + 1) + visitor[known]
    return np.concatenate([cell[~known], np.unique(pairs) // (int(visitor.max(initial=0)) + 1)])


def _nearest_rows(rows: IntArray, away: FloatArray, visits: FloatArray, show: int) -> list[int]:
    """The rows nearest the centre; of equals those with the most visits, then the first."""
    order = np.lexsort((rows, -visits[rows], away[rows].round(9)))
    return [int(row) for row in rows[order[:show]]]
