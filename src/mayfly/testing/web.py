"""The loopback web: newspapers that publish, links that leave, readers who click, and everything that goes wrong.

    web = Web(hosts=3, seed=1, factor=3600)           # an hour of the world in a second
    with in_thread(Server(web.sites)) as server:      # any of web.hosts, by its Host header
        ...
    web.write_trace(folder)                           # what there was to be seen, for the lab

The same seed gives the same web. What is served at a moment is a function of `clock` alone, so tests set a clock by
hand (`SetClock`) and live crawls take the wall's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from mayfly.core.model import DAY, Seconds
from mayfly.lab import trace as traces
from mayfly.lab.shapes import Shape
from mayfly.testing.bench import HOST, bench_site
from mayfly.testing.messages import Site
from mayfly.testing.misbehaviour import trouble_sites
from mayfly.testing.publisher import publishers
from mayfly.testing.world import Times, served_world, small_shape


class SetClock:
    """Time that stands still until it is set.

    >>> clock = SetClock(100.0)
    >>> clock.now += 5
    >>> clock()
    105.0
    """

    def __init__(self, now: Seconds) -> None:
        self.now = now

    def __call__(self) -> Seconds:
        return self.now


class Web:
    """Hosts `site-01.test`, `site-02.test`, … that live by `clock`, beside those of trouble and of benchmarks."""

    def __init__(
        self,
        hosts: int = 3,
        seed: int = 1,
        *,
        factor: float = 1.0,
        shape: Shape | None = None,
        begin: Seconds | None = None,
        head_start: Seconds = 2 * DAY,
        clock: Callable[[], Seconds] = time.time,
        variants: bool = True,
    ) -> None:
        """`factor`: seconds of the world in a second. `head_start`: how much of the world is over at `begin` (now)."""
        self.clock = clock
        self.times = Times(clock() if begin is None else begin, factor, head_start)
        self.trace = served_world(shape or small_shape(hosts), seed, self.times)
        self.hosts = list(dict.fromkeys(self.trace.hosts))
        self._publishers = publishers(self.trace, seed, clock, variants)
        self.sites: dict[str, Site] = {**trouble_sites(), HOST: bench_site, **self._publishers}
        self.sites[f"mirror-of-{self.hosts[0]}"] = self._publishers[self.hosts[0]]

    def page_of(self, url: str) -> int | None:
        """The page an address leads to, in any of its spellings; None if it is no page of ours."""
        parts = urlsplit(url)
        publisher = self._publishers.get(parts.hostname or "")
        return None if publisher is None else publisher.page_at(parts.path)

    def shown(self, url: str, at: Seconds | None = None) -> list[int]:
        """Pages a source links at that time (now), in the order of the page."""
        parts = urlsplit(url)
        return self._publishers[parts.hostname or ""].shown(parts.path, self.clock() if at is None else at)

    def clicks(self, until: Seconds | None = None, since: Seconds = -np.inf) -> Iterator[str]:
        """Clicks with since ≤ at < until (now), in order, each a row of JSON: url, at, count, kind."""
        clicks = self.trace.clicks
        first, last = np.searchsorted(clicks.at, [since, self.clock() if until is None else until])
        for row in range(int(first), int(last)):
            url = self.trace.page_urls[clicks.page[row]]
            at, count = float(clicks.at[row]), int(clicks.number[row])
            yield json.dumps({"url": url, "at": at, "count": count, "kind": "click"})

    def write_trace(self, folder: Path) -> None:
        """All there was and will be, whether anyone looked or not, as `mayfly.lab.trace` reads it."""
        traces.write_trace(self.trace, folder)
