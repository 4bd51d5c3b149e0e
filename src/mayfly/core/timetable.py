"""When a scheduler looks at things again: plans every so often, keys of all sources once a round.

A round lasts for so many fetches, or the time they would have taken; so a budget that is not spent does not keep old
keys for ever.
"""

from __future__ import annotations

import math

from mayfly.core.model import PerSecond, Seconds


class Timetable:
    """It is told the time, and of every fetch."""

    def __init__(self, replan: Seconds, shortest_round: Seconds) -> None:
        """`shortest_round`: none is shorter, however many fetches there are."""
        self.fetches = 0  # that were given out
        self._every, self._shortest = replan, shortest_round
        self._plan_at: Seconds = -math.inf
        self._ends = 0  # a round: after so many fetches,
        self._until: Seconds = -math.inf  # or by then,
        self._from: Seconds = -math.inf  # but not before

    def plan_is_due(self, now: Seconds) -> bool:
        return now >= self._plan_at

    def planned(self, now: Seconds) -> None:
        """There is a plan as of now."""
        self._plan_at = now + self._every

    def plan_soon(self) -> None:
        """Something changed that a plan must know."""
        self._plan_at = -math.inf

    def round_is_over(self, now: Seconds) -> bool:
        return (self.fetches >= self._ends and now >= self._from) or now >= self._until

    def begun(self, now: Seconds, fetches: int, budget: PerSecond) -> None:
        """A round of so many fetches begins."""
        self._ends = self.fetches + fetches
        self._until = now + max(fetches / budget, self._shortest)
        self._from = now + self._shortest

    def end_round(self) -> None:
        """A key is another now."""
        self._ends = self.fetches

    def stepped(self, by: Seconds) -> None:
        """The clock was set."""
        self._plan_at += by
        self._until += by
        self._from += by
