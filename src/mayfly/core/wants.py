"""How much each source is wanted: the policy's word, and what people, hints and a first look have to say to it."""

from __future__ import annotations

import numpy as np

from mayfly.core.events import SourceCrawled
from mayfly.core.hints import Hints
from mayfly.core.knowledge import Knowledge
from mayfly.core.model import Beliefs, FloatArray, Moments, PerSecond, Seconds
from mayfly.core.outlook import HARDLY_EVER
from mayfly.core.policies import Policy

_BEFORE_ALL, PINNED = 1e12, 5e11  # keys no policy gives: of first looks, and of what is crawled whatever its worth


class Wants:
    """Keys of sources, from a policy's."""

    def __init__(self, policy: Policy, known: Knowledge) -> None:
        self._policy, self._known = policy, known
        self._found_profit: FloatArray = np.zeros(0)
        self._link_rate: FloatArray = np.zeros(0)
        self.hints = Hints()

    def plan(self, beliefs: Beliefs, budget: PerSecond, now: Seconds) -> None:
        """Let the policy plan: without the sources that were retired, and without what hints will announce."""
        row, rate = self._known.source, beliefs.link_rate
        self._found_profit, self._link_rate = beliefs.found_profit, beliefs.link_rate
        if self.hints.given:
            rate = rate * self.hints_of_all().unannounced()
        if row.retired.any():
            rate = np.where(row.retired, HARDLY_EVER, rate)
        self._policy.plan(
            beliefs if rate is beliefs.link_rate else beliefs._replace(link_rate=rate), budget, row.seen, now
        )

    def hints_of_all(self) -> Hints:
        """Hints, with room for every source."""
        self.hints.grow(self._known.source.size)
        return self.hints

    def crawled(self, crawl: SourceCrawled, links: int) -> None:
        """A crawl is over; so many links were not on the source at its last."""
        self._policy.saw(crawl, links)
        if self.hints.given:
            self.hints_of_all().crawled(crawl.source, len(crawl.new_pages))

    def keys(self, planned: int, now: Moments) -> FloatArray:
        """How much each of the sources planned for is wanted, the seed rounds first."""
        row = self._known.source
        seen = row.seen[:planned]
        keys = self._policy.keys(seen, now)
        if self.hints.given and self._policy.page_order == "worth":  # keys are worths, and can be added to
            expected = self._link_rate[:planned] * (now - seen)
            keys = keys + self.hints_of_all().promised(expected) * self._found_profit[:planned]
        missing = np.maximum(self._policy.seed_rounds - row.crawls[:planned], 0)
        keys = np.where(missing, _BEFORE_ALL * missing + now - seen, keys)
        return np.where(now - seen >= row.every[:planned], np.maximum(keys, PINNED + now - seen), keys)
