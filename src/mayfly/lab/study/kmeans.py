"""k-means: k-means++ and Lloyd's rounds, from several beginnings; the best is kept.

Points that are alike are one point with a weight: of pages with few visits most are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from mayfly.core.model import FloatArray, IntArray

STARTS = 10
_MOST_ROUNDS = 300
_TOGETHER = 100_000  # points whose distances are computed at once


class Clusters(NamedTuple):
    """Where the centres are, and the sum of the squared distances to the nearest."""

    centroids: FloatArray  # (k, dimensions)
    inertia: float


def kmeans(
    points: FloatArray,
    k: int,
    rng: Generator,
    starts: int = STARTS,
    done: Callable[[float], None] = lambda _: None,
) -> Clusters:
    """The best of several beginnings. There must be at least `k` different points; `done` is told of each beginning."""
    distinct, weights = np.unique(points, axis=0, return_counts=True)
    if len(distinct) < k:
        raise ValueError(f"{len(distinct)} different points cannot be {k} clusters")
    best: Clusters | None = None
    for _ in range(starts):
        found = _lloyd(distinct, weights.astype(float), _scattered(distinct, weights, k, rng))
        if best is None or found.inertia < best.inertia:
            best = found
        done(1)
    assert best is not None
    return best


def nearest(points: FloatArray, centroids: FloatArray) -> tuple[IntArray, FloatArray]:
    """By point the nearest centre, the first of equals, and the squared distance to it."""
    labels, away = np.empty(len(points), np.int64), np.empty(len(points))
    for low in range(0, len(points), _TOGETHER):
        part = slice(low, low + _TOGETHER)
        squares = _squares(points[part], centroids)
        labels[part] = squares.argmin(axis=1)
        away[part] = squares.min(axis=1)
    return labels, away


def _scattered(points: FloatArray, weights: IntArray, k: int, rng: Generator) -> FloatArray:
    """k-means++: the next centre is drawn by squared distance to those before; of a few draws the best is taken."""
    tries = 2 + int(np.log(k))
    chosen = [int(rng.choice(len(points), p=weights / weights.sum()))]
    away = _squares(points, points[chosen])[:, 0]
    while len(chosen) < k:
        mass = np.cumsum(weights * away)
        # A draw on the edge must not give a point that is a centre already: those have no mass.
        drawn = np.searchsorted(mass, rng.random(tries) * mass[-1], side="right").clip(0, len(points) - 1)
        left = np.minimum(away[:, None], _squares(points, points[drawn]))
        best = int((weights @ left).argmin())
        chosen.append(int(drawn[best]))
        away = left[:, best]
    return points[chosen].astype(float)


def _lloyd(points: FloatArray, weights: FloatArray, centroids: FloatArray) -> Clusters:
    """Every point to its nearest centre, every centre to the mean of its points, until no point moves."""
    labels: IntArray = np.full(len(points), -1)
    away: FloatArray = np.zeros(len(points))
    for _ in range(_MOST_ROUNDS):
        before = labels
        labels, away = nearest(points, centroids)
        if np.array_equal(labels, before):
            break
        belongs = (labels == np.arange(len(centroids))[:, None]) * weights
        size = belongs.sum(axis=1)
        centroids = belongs @ points / np.maximum(size, 1e-300)[:, None]
        for lonely in np.flatnonzero(size == 0):  # all its points went elsewhere: it goes where it is missed most
            worst = int((weights * away).argmax())
            centroids[lonely], away[worst] = points[worst], 0.0
    return Clusters(centroids, float(weights @ away))


def _squares(points: FloatArray, centroids: FloatArray) -> FloatArray:
    """Squared distances, points by centres."""
    cross = points @ centroids.T
    own = np.einsum("ij,ij->i", points, points)[:, None] + np.einsum("ij,ij->i", centroids, centroids)
    return np.maximum(own - 2 * cross, 0.0)
