"""The gate and the budget. A site gets one request at a time, and a pause after each, counted from its END.

A locked site costs nothing: it is not looked at again before the moment it is free.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from mayfly.core.model import FloatArray, PerSecond, Seconds

_SAVED: Seconds = 0.5  # in any minute 60·N + 1 + N/2 requests at most; the promise is 61.2·N + 1
_WHOLE = 1 - 1e-6  # a token that wants so little is one: else the time it takes would be too short to be told


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
        self.delays: FloatArray = np.zeros(0)  # by site
        self._rests: dict[int, Seconds] = {}  # sites to be left alone longer
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
        new = sites - len(self.free)
        self.free = np.append(self.free, np.ones(new, bool))
        self.delays = np.append(self.delays, np.full(new, self.delay))

    def lock(self, site: int) -> None:
        """A request to the site is under way."""
        self.free[site] = False

    def release(self, site: int, at: Seconds) -> None:
        """The request ended at `at`: the site rests from then."""
        heapq.heappush(self._until, (at + self.delays[site], site))

    def rest(self, site: int, until: Seconds) -> None:
        """Leave a site alone until then."""
        self._rests[site] = until = max(until, self._rests.get(site, until))
        if self.free[site]:
            self.lock(site)
            heapq.heappush(self._until, (until, site))

    def freed_by(self, until: Seconds) -> list[tuple[Seconds, int]]:
        """The resting sites that will be free by then, and when, the first of them first."""
        found, places = [], [0]
        while places:  # down the heap, as few of many sites are asked for
            place = places.pop()
            if place < len(self._until) and self._until[place][0] <= until:
                found.append(self._until[place])
                places += 2 * place + 1, 2 * place + 2
        return sorted((at, site) for at, site in found if self._rests.get(site, at) <= at)

    def stepped(self, by: Seconds) -> None:
        """The clock was set."""
        self._until = [(until + by, site) for until, site in self._until]
        self._rests = {site: until + by for site, until in self._rests.items()}

    def freed(self, now: Seconds) -> list[int]:
        """The sites whose rest ended by `now`, each told once."""
        sites = []
        while self._until and self._until[0][0] <= now:
            site = heapq.heappop(self._until)[1]
            if self._rests and self._rests.get(site, now) > now:
                heapq.heappush(self._until, (self._rests[site], site))
                continue
            self._rests.pop(site, None)
            self.free[site] = True
            sites.append(site)
        return sites


class Bucket:
    """The budget: so many requests a second, and no more than half a second's worth saved up. It is told the time.

    >>> bucket = Bucket(rate=2.0, now=0.0)
    >>> bucket.take(0.0), bucket.take(0.0), bucket.take(0.0), bucket.next_token(0.0)
    (True, True, False, 0.5)
    """

    def __init__(self, rate: PerSecond, now: Seconds) -> None:
        self._rate = rate
        self._room = 1.0 + _SAVED * rate
        self._tokens = self._room
        self._at = now

    def start(self, now: Seconds, tokens: float = 1.0) -> None:
        """Begin to count, with so many tokens."""
        self._tokens, self._at = tokens, now

    def pace(self, rate: PerSecond, now: Seconds) -> None:
        """So many a second from now on; what was saved up is cut to what may be."""
        self._fill(now)
        self._rate, self._room = rate, 1.0 + _SAVED * rate
        self._tokens = min(self._tokens, self._room)

    def take(self, now: Seconds) -> bool:
        """A request leaves, if it may."""
        self._fill(now)
        if self._tokens < _WHOLE:
            return False
        self._tokens -= 1
        return True

    def give_back(self) -> None:
        """It did not leave after all."""
        self._tokens = min(self._room, self._tokens + 1)

    def next_token(self, now: Seconds) -> Seconds:
        """When the next request may leave."""
        self._fill(now)
        if self._tokens >= _WHOLE:
            return now
        return now + (1 - self._tokens) / self._rate if self._rate > 0 else math.inf

    def patience(self, now: Seconds) -> Seconds:
        """How long a token that is there can be kept for something better: until the next is there, or would be lost.

        >>> bucket = Bucket(rate=4.0, now=0.0)
        >>> bucket.start(0.0, tokens=1.0)
        >>> bucket.patience(0.0), bucket.patience(0.125), bucket.patience(0.25)
        (0.25, 0.125, 0.0)
        """
        self._fill(now)
        return max(0.0, (min(2.0, self._room) - self._tokens) / self._rate) if self._rate > 0 else 0.0

    def _fill(self, now: Seconds) -> None:
        self._tokens = min(self._room, self._tokens + max(0.0, now - self._at) * self._rate)
        self._at = now
