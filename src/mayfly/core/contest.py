"""Whose turn it is: the best waiting page against the best source, among the sites that are free."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mayfly.core.frontier import Frontier
from mayfly.core.heads import Heads
from mayfly.core.model import Fetch, FloatArray, Seconds, SourceId, Wait
from mayfly.core.policies import Policy
from mayfly.core.policies.turns import Turn
from mayfly.core.politeness import Gate
from mayfly.core.rota import Rota


class Contest:
    """Pages and sources by site; only the first of each site that is free compete."""

    def __init__(self, policy: Policy, frontier: Frontier, gate: Gate) -> None:
        self._policy, self._frontier, self._gate = policy, frontier, gate
        self._heads = Heads(frontier, gate)
        self._rota = Rota()

    @property
    def round(self) -> int:
        """Decisions between two computations of all keys."""
        return self._rota.round

    def arrange(self, site: NDArray[np.intp], sites: int) -> None:
        """Sources have been added: note who belongs where."""
        self._rota.arrange(site, sites)

    def begin_round(self, keys: FloatArray) -> None:
        """The keys of all sources are others now."""
        self._rota.refresh(keys, self._gate.free)

    def revalued(self) -> None:
        """The worths of all pages are others now."""
        self._heads.clear()
        for site in np.flatnonzero(self._gate.free).tolist():
            self._heads.offer(site)

    def offer(self, site: int) -> None:
        """A site is free again."""
        self._heads.offer(site)
        self._rota.offer(site)

    def offer_page(self, site: int) -> None:
        """The first page of a site is another now."""
        self._heads.offer(site)

    def take(self, source: SourceId) -> None:
        """A source is being crawled: it competes no more in this round."""
        self._rota.take(source)

    def winner(self, now: Seconds, fetches: int, patience: Seconds) -> tuple[Fetch, float | None] | Wait:
        """The best, and the key of a source; `fetches` were made so far. Or when to look again, if nothing happens."""
        page = self._heads.best()
        if page is not None and self._policy.pages_first:
            return Fetch("page", page), None
        source = self._rota.best(self._gate.free)
        if page is None and source is None:
            return Wait(math.inf)
        worth = None if page is None else self._frontier.worth(page, now)
        key = None if source is None else source[0]
        if patience and (soon := self._better_soon(worth, key, now, fetches, patience)) is not None:
            return Wait(soon, better=True)
        turn = self._policy.turn(worth, key, fetches)
        if turn is Turn.PAGE and page is not None:
            return Fetch("page", page), None
        if turn is Turn.SOURCE and source is not None:
            return Fetch("source", source[1]), key
        # Nobody is due. A key below zero says in how many seconds its source will be.
        return Wait(now - key if key is not None and key < 0 else now)

    def _better_soon(
        self, page: float | None, source: float | None, now: Seconds, fetches: int, patience: Seconds
    ) -> Seconds | None:
        """When a site is free that has something better, if that is soon.

        Else one that can hardly be asked as often as it deserves would stand by until the next token comes.
        """
        if self._policy.page_order != "worth":
            return None
        for at, site in self._gate.freed_by(now + patience):
            head, first = self._frontier.head(site), self._rota.first_of(site)
            worth = None if head is None else self._frontier.worth(head[1], now)
            key = None if first is None else first[0]
            turn = self._policy.turn(_larger(page, worth), _larger(source, key), fetches)
            theirs, ours = (worth, page) if turn is Turn.PAGE else (key, source)
            if turn is not Turn.NOBODY and theirs is not None and (ours is None or theirs > ours):
                return at
        return None


def _larger(one: float | None, other: float | None) -> float | None:
    return max((value for value in (one, other) if value is not None), default=None)
