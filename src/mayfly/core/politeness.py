"""The gate: one request at a time for a site, and a pause after each, counted from its END.

A locked site costs nothing: it is not looked at again before the moment it is free.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from mayfly.core.model import Seconds


class Gate:
    """Which sites may be asked now. It is told the time.

    >>> gate = Gate(delay=5.0)
    >>> gate.grow(1)
    >>> gate.lock(0); gate.release(0, at=10.0)
    >>> gate.freed(now=14.9), gate.freed(now=15.0)
    ([], [0])
    """

    def __init__(self, delay: Seconds) -> None:
        self.delay = delay
        self.free: NDArray[np.bool_] = np.zeros(0, bool)
        self._until: list[tuple[Seconds, int]] = []

    @property
    def stands_open(self) -> bool:
        """No delay: sites do not matter, and all may share one queue."""
        return self.delay <= 0

    @property
    def next_free(self) -> Seconds:
        """When the next resting site is free; `inf` where none rests."""
        return self._until[0][0] if self._until else np.inf

    def grow(self, sites: int) -> None:
        """Know sites 0 … sites-1; new ones are free."""
        self.free = np.append(self.free, np.ones(sites - len(self.free), bool))

    def lock(self, site: int) -> None:
        """A request to the site is under way."""
        self.free[site] = False

    def release(self, site: int, at: Seconds) -> None:
        """The request ended at `at`: the site rests from then."""
        heapq.heappush(self._until, (at + self.delay, site))

    def freed(self, now: Seconds) -> list[int]:
        """The sites whose rest ended by `now`, each told once."""
        sites = []
        while self._until and self._until[0][0] <= now:
            site = heapq.heappop(self._until)[1]
            self.free[site] = True
            sites.append(site)
        return sites
