"""Wall time for a crawler: it runs by the monotonic clock, and notices when the wall's was set or the machine slept."""

from __future__ import annotations

import time
from collections.abc import Callable

from mayfly.core.model import Seconds

_A_STEP: Seconds = 2.0  # less is drift, and simply followed


class Clock:
    """The time of day, without jumps that nobody was told of.

    >>> wall = iter([100.0, 100.5, 3700.5])
    >>> clock = Clock(lambda: next(wall), lambda: 0.0)
    >>> clock.step(), clock.step(), clock.now()
    (0.0, 3600.0, 3700.5)
    """

    def __init__(self, wall: Callable[[], Seconds] = time.time, steady: Callable[[], Seconds] = time.monotonic) -> None:
        self._wall, self._steady = wall, steady
        self._ahead = wall() - steady()
        self.steps: Seconds = 0.0  # all of them together

    def now(self) -> Seconds:
        """Seconds since the epoch."""
        return self._steady() + self._ahead

    def step(self) -> Seconds:
        """How far the wall clock was set since the last call; 0 if it was not. From now on its time is ours."""
        ahead = self._wall() - self._steady()
        by, self._ahead = ahead - self._ahead, ahead
        if abs(by) < _A_STEP:
            return 0.0
        self.steps += by
        return by
