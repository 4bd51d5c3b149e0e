"""The best waiting page among the sites that are free: only the first page of each competes."""

from __future__ import annotations

import heapq

from mayfly.core.frontier import Frontier
from mayfly.core.model import PageId
from mayfly.core.politeness import Gate


class Heads:
    """First pages of free sites, the best of all on top. An entry that is out of date is put right when it comes up."""

    def __init__(self, frontier: Frontier, gate: Gate) -> None:
        self._frontier, self._gate = frontier, gate
        self._heap: list[tuple[float, int]] = []  # (-key, site)

    def clear(self) -> None:
        self._heap = []

    def offer(self, site: int) -> None:
        """A site is free, or its first page is another now."""
        if self._gate.stands_open or not self._gate.free[site]:
            return
        head = self._frontier.head(site)
        if head is not None:
            heapq.heappush(self._heap, (-head[0], site))

    def best(self) -> PageId | None:
        """The page to fetch before all others; None: none may be fetched now."""
        if self._gate.stands_open:  # one queue for all
            only = self._frontier.head(0) if len(self._frontier) else None
            return None if only is None else only[1]
        heap, free = self._heap, self._gate.free
        while heap:
            site = heap[0][1]
            head = self._frontier.head(site) if free[site] else None
            if head is not None and head[0] == -heap[0][0]:
                return head[1]
            heapq.heappop(heap)
            if head is not None:
                heapq.heappush(heap, (-head[0], site))
        return None
