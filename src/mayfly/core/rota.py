"""Sources that wait for their next crawl, by site, most wanted first.

A policy gives every source a key that grows while it waits. Keys of all sources are computed together, every few
decisions ("a round"), and served from that column in between; a source just crawled leaves it until the next round.
The length of a round keeps the work per decision nearly the same for a hundred sources (a round is one decision, so
the choice is exact) and for a million.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from mayfly.core.model import FloatArray, SourceId

_UNKNOWN = -1


class Rota:
    """The column of keys, and a heap of the free sites by their best key."""

    def __init__(self) -> None:
        self._key: FloatArray = np.zeros(0)
        self._members: list[NDArray[np.intp]] = []  # by site
        self._by_site: NDArray[np.intp] = np.zeros(0, np.intp)
        self._starts: NDArray[np.intp] = np.zeros(0, np.intp)
        self._sites: NDArray[np.intp] = np.zeros(0, np.intp)  # those with sources
        self._heap: list[tuple[float, int, SourceId]] = []  # (-key, site, source)
        self.round = 1  # decisions between two computations of all keys

    def arrange(self, site: NDArray[np.intp], sites: int) -> None:
        """Sources have been added: note who belongs where."""
        self._by_site = np.argsort(site, kind="stable")
        self._sites, self._starts = np.unique(site[self._by_site], return_index=True)
        self._members = [np.zeros(0, np.intp)] * sites
        bounds = [*self._starts.tolist(), len(site)]
        for place, number in enumerate(self._sites.tolist()):
            self._members[number] = self._by_site[bounds[place] : bounds[place + 1]]
        self._key = np.full(len(site), -np.inf)
        self.round = max(1, int(min(len(site) / 100, 4 * math.sqrt(len(site)))))

    def refresh(self, key: FloatArray, free: NDArray[np.bool_]) -> None:
        """Begin a round with new keys; `-inf` keeps a source out."""
        self._key = key
        if len(self._sites) <= 1:
            return
        best = np.maximum.reduceat(key[self._by_site], self._starts)
        rows = np.flatnonzero(free[self._sites] & (best > -np.inf))
        enough = 4 * self.round  # more cannot be served before the next round
        if len(rows) > enough:
            rows = rows[np.argpartition(-best[rows], enough)[:enough]]
        rows = rows[np.argsort(-best[rows], kind="stable")]
        nobody = [_UNKNOWN] * len(rows)  # which source it is, is found out when its turn comes
        self._heap = list(zip((-best[rows]).tolist(), self._sites[rows].tolist(), nobody, strict=True))

    def offer(self, site: int) -> None:
        """A site is free again: its best source competes."""
        found = self.first_of(site) if len(self._sites) > 1 else None
        if found is not None:
            heapq.heappush(self._heap, (-found[0], site, found[1]))

    def first_of(self, site: int) -> tuple[float, SourceId] | None:
        """Key and number of the most wanted source of a site."""
        return self._first(self._members[site]) if site < len(self._members) else None

    def best(self, free: NDArray[np.bool_]) -> tuple[float, SourceId] | None:
        """Key and number of the most wanted source of the free sites."""
        if len(self._sites) <= 1:
            return self._first(self._by_site) if len(self._sites) and free[self._sites[0]] else None
        heap = self._heap
        while heap:
            key, site, source = heap[0]
            if free[site]:
                if source != _UNKNOWN and self._key[source] == -key:
                    return -key, source
                found = self._first(self._members[site])
                if found is not None and found[0] == -key:
                    return found
            heapq.heappop(heap)
        return None

    def take(self, source: SourceId) -> None:
        """The source is being crawled."""
        self._key[source] = -np.inf

    def _first(self, members: NDArray[np.intp]) -> tuple[float, SourceId] | None:
        if not len(members):
            return None
        number = int(members[self._key[members].argmax()]) if len(members) < len(self._key) else int(self._key.argmax())
        key = float(self._key[number])
        return (key, number) if key > -np.inf else None
