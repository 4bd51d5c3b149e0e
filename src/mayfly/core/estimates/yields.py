"""Clicks seen against exposure: what pages earn, from pages of which we saw a part.

A page seen from age d to age A has shown the share e^-μd - e^-μA of its clicks. Summed over pages that is the exposure,
and clicks by exposure is the worth of a whole page: never clicks by number of pages, for a page fetched late or only
just now counts as the part of a page it is. What pages have still to show (`live`) passes to exposure as time does.
"""

from __future__ import annotations

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.model import FloatArray, IntArray, Seconds


class Yields:
    """Rows of clicks and exposure: a row a source, or a place."""

    def __init__(self) -> None:
        self._row = Columns(clicks=0.0, exposure=0.0, live=0.0)

    @property
    def clicks(self) -> FloatArray:
        """Clicks seen, the older ones partly forgotten."""
        return self._row.clicks

    @property
    def exposure(self) -> FloatArray:
        """Pages' worth of clicks that could be seen, forgotten alike."""
        return self._row.exposure

    @property
    def live(self) -> FloatArray:
        """Pages' worth of clicks still to be seen of pages that were fetched."""
        return self._row.live

    def lean(self, on: FloatArray, trust: float) -> FloatArray:
        """Clicks by exposure, leaning on what is known otherwise as if `trust` pages had told it."""
        return np.asarray((self.clicks + trust * on) / (self.exposure + trust))

    def grow(self, rows: int) -> None:
        """Make room for rows 0 … rows-1."""
        self._row.grow(rows)

    def advance(self, seconds: Seconds, decay: FloatArray, forget: float) -> None:
        """Let time pass: live pages show more, and what was seen counts `forget` as much."""
        row = self._row
        left = np.exp(-decay * seconds)
        row.exposure[:] = row.exposure * forget + row.live * (1 - left)
        row.live[:] = row.live * left
        row.clicks[:] = row.clicks * forget

    def expose(self, rows: IntArray, seen: FloatArray, left: FloatArray) -> None:
        """More pages, each with what it has shown and what it has still to show."""
        self._row.exposure[:] += np.bincount(rows, seen, self._row.size)
        self._row.live[:] += np.bincount(rows, left, self._row.size)

    def restate(self, shown: FloatArray, left: FloatArray) -> None:
        """Interest is held to fade otherwise than before: each row has shown so many times as much, and has left."""
        self._row.exposure[:] *= shown
        self._row.live[:] *= left

    def count(self, rows: IntArray, clicks: FloatArray) -> None:
        """More clicks."""
        self._row.clicks[:] += np.bincount(rows, clicks, self._row.size)
