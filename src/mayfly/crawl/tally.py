"""Counts of a running crawl, for its status line and for the minutes the store keeps."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np

from mayfly.core.model import Seconds


@dataclass(slots=True)
class Tally:
    """What happened so far in this run."""

    crawls: int = 0  # that brought an answer
    pages: int = 0  # fetched and kept
    found: int = 0  # new pages
    rejected: int = 0  # fetched and not kept: old, copies, error pages
    failures: Counter[str] = field(default_factory=Counter)  # by reason
    delays: deque[Seconds] = field(default_factory=lambda: deque(maxlen=1000))  # published → fetched, of late

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def median_delay(self) -> Seconds | None:
        """Of the last pages that carry a date, or whose source was looked at before."""
        return float(np.median(self.delays)) if self.delays else None
