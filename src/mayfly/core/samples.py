"""Pages fetched to know their hosts better. Clicks are seen of fetched pages only, so a host that looked poor on its
first day is never fetched from again, and so never known better. Now and then, as the probe share allows, the best page
of the host longest untried goes before all others.
"""

from __future__ import annotations

import numpy as np

from mayfly.core.frontier import Frontier
from mayfly.core.model import DAY, BoolArray, FloatArray, IntArray, PageId, Seconds

UNTRIED: Seconds = DAY  # a host of which a page was fetched later than this, or within a lifetime, needs no sample


class Samples:
    """When a page of each host was last fetched, and which to try next."""

    def __init__(self) -> None:
        self._tried: FloatArray = np.zeros(0)  # by host
        self._next: list[PageId] = []  # of the host longest untried last

    def grow(self, hosts: int, now: Seconds) -> None:
        """Know hosts 0 … hosts-1; new ones count as tried now."""
        self._tried = np.append(self._tried, np.full(max(hosts - len(self._tried), 0), now))

    def fetched(self, host: int, at: Seconds) -> None:
        """A page of this host was fetched."""
        self._tried[host] = at

    def stepped(self, by: Seconds) -> None:
        """The clock was set."""
        self._tried += by

    def choose(self, frontier: Frontier, host_of_source: IntArray, decay: FloatArray, now: Seconds) -> list[PageId]:
        """Which pages to try until the next plan: one a host that needs it. `decay` is μ of each source."""
        best = frontier.best_by(host_of_source, len(self._tried))
        patience = np.full(len(self._tried), UNTRIED)
        patience[host_of_source] = np.minimum(1 / decay, UNTRIED)
        untried = np.flatnonzero(self._tried < now - patience)
        order = untried[np.argsort(-self._tried[untried], kind="stable")].tolist()
        self._next = [best[host] for host in order if host in best]
        return self._next

    def take(self, frontier: Frontier, free: BoolArray) -> PageId | None:
        """A page to try; None: no host needs it now."""
        for place in reversed(range(len(self._next))):
            page = self._next[place]
            if page not in frontier:
                del self._next[place]
            elif free[frontier.site_of(page)]:
                del self._next[place]
                return page
        return None
