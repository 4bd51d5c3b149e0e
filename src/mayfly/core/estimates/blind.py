"""An estimator that learns nothing, for policies that ask nothing."""

from __future__ import annotations

import numpy as np

from mayfly.core.model import DAY, Beliefs, Credited, Evidence, Found, IntArray, Seconds, SourceId, beliefs


class Blind:
    """All sources alike."""

    def __init__(self) -> None:
        self._sources = 0

    def added(self, host: IntArray) -> None:
        self._sources += len(host)

    def crawled(self, source: SourceId, at: Seconds, since: Seconds | None, found: Found) -> None:
        """Nothing to learn."""

    def rejected(self, source: SourceId) -> None:
        """Nothing to learn."""

    def exposed(
        self, source: SourceId, place: int, share: float, age: Seconds, at: Seconds, first: bool, merit: float = 1.0
    ) -> None:
        """Nothing to learn."""

    def counted(self, at: Seconds, clicks: Credited) -> None:
        """Nothing to learn."""

    def evidence(self) -> Evidence:
        return Evidence()

    def lean_on(self, others: Evidence) -> None:
        """Nothing to learn."""

    def beliefs(self, now: Seconds) -> Beliefs:
        same = np.ones(self._sources)
        return beliefs(same / DAY, same, same / DAY)
