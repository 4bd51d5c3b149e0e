"""What each known page is worth against the mean page of its sources: features in, clicks seen of it back (MATH §4.6).

A page has a card from the moment it is found until it is given up or all that can be learned of it is: its features,
and what was seen of it. What it is worth is asked when it is found, when another source shows it, and at every plan. It
teaches twice, when half and when nearly all of the clicks it had left at its fetch should have come; each time only
what came since counts. What the sources of a page let expect is the offset, so nothing is learned here that they know.

Merits are kept at a mean of one over the pages found, so that P stays what it was: the worth of a mean page. How they
are spread over the pages a source is first to show says what a crawl of it is worth (`refine`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.estimates.pagevalue import PageValue
from mayfly.core.events import ClicksCounted, NewPage
from mayfly.core.features import MOVING, WIDTH, Features
from mayfly.core.knowledge import KnownPage
from mayfly.core.model import DAY, HOUR, Beliefs, FloatArray, IntArray, PageId, Seconds, SourceId

_STAGES = (math.log(2), 3.0)  # ages since the fetch at which a page teaches, in lifetimes 1/μ
_LONGEST: Seconds = 4 * DAY  # and at the latest
_SOONEST: Seconds = HOUR
_FIRST_LIFE: Seconds = DAY
_SOURCE_TRUST = 10.0  # pages' worth of belief that a source shows pages like all others
_ROOM = 1024
_BLANK = [0] * WIDTH
_BATCH = 200  # pages learned together; after a pause very many may be due
_FORGET_EVERY: Seconds = DAY / 2
_HALF_LIFE: Seconds = 20 * DAY
_FOUND_HALF_LIFE: Seconds = 5 * DAY


class Merits:
    """Cards of pages; 0 is nobody's."""

    def __init__(self, half_life: Seconds = _HALF_LIFE, **options: float) -> None:
        self.value = PageValue(**options)
        self.features = Features()
        self._half_life = half_life
        self._slots = np.zeros((_ROOM, WIDTH), np.int32)
        self._card = Columns(
            page=0, sources=0, fronts=0, host=0, rank=0.0, due=np.inf, age=0.0, at=0.0, clicks=0.0, stage=0
        )
        self._card.grow(1)
        self._free: list[int] = []
        self._source = Columns(host=0, front=False, pages=0.0, merits=0.0, logs=0.0, squares=0.0)
        self._mean = np.zeros(2)  # pages found, and their merits before they are scaled
        self._forgot_at: Seconds | None = None
        self._decay: FloatArray = np.zeros(0)  # as last believed, by source

    def added(self, host: IntArray, kinds: Sequence[str]) -> None:
        """More sources, of these hosts and kinds."""
        first = self._source.size
        self._source.grow(first + len(host))
        self._source.host[first:] = host
        self._source.front[first:] = [kind == "front" for kind in kinds] or False
        self._decay = np.append(self._decay, np.full(len(host), 1 / _FIRST_LIFE))

    def found(self, new: Sequence[NewPage], pages: Sequence[KnownPage], source: SourceId, at: Seconds) -> None:
        """Give the new pages of a crawl their cards and their merits."""
        row, of, features = self._card, self._source, self.features
        front, host = bool(of.front[source]), int(of.host[source])
        cards = np.array([self._free.pop() if self._free else self._new_card() for _ in new])
        rows = []
        for one in new:
            names, words = features.standing(one.url, one.title, source, at)
            slots = features.slots(features.moving(1, front, one.rank, host) + names, words)
            rows.append((slots + _BLANK)[:WIDTH])
        row.page[cards] = [one.page for one in new]
        row.rank[cards] = [math.inf if one.rank is None else one.rank for one in new]
        row.sources[cards], row.fronts[cards], row.host[cards] = 1, front, host
        row.due[cards], row.clicks[cards], row.stage[cards] = np.inf, 0.0, 0
        slots_of = np.array(rows, np.int32)
        self._slots[cards] = slots_of
        raw = self.value.merits(slots_of)
        self._mean += len(new), raw.sum()
        merits = raw / self._scale()
        logs = np.log(merits)
        of.pages[source] += len(new)
        of.merits[source] += merits.sum()
        of.logs[source] += logs.sum()
        of.squares[source] += logs @ logs
        for page, card, merit in zip(pages, cards.tolist(), merits.tolist(), strict=True):
            page.card, page.merit = card, merit

    def shown(self, page: KnownPage, source: SourceId, rank: float | None) -> None:
        """Another source shows a page that waits."""
        card, row = page.card, self._card
        if not card:
            return
        row.sources[card] += 1
        row.fronts[card] += self._source.front[source]
        best = row.rank[card] = min(float(row.rank[card]), math.inf if rank is None else rank)
        names = self.features.moving(
            int(row.sources[card]), int(row.fronts[card]), None if best == math.inf else best, int(row.host[card])
        )
        self._slots[card, :MOVING] = self.features.slots(names)
        page.merit = float(self.value.merits(self._slots[card])) / self._scale()

    def seen(self, page: KnownPage, at: Seconds) -> None:
        """From `at` on its clicks can be seen."""
        card, row = page.card, self._card
        if card:
            row.at[card], row.age[card] = at, max(at - page.published, 0.0)
            row.due[card] = at + _wait(0, float(self._decay[page.sources[0]]))

    def gone(self, page: KnownPage) -> None:
        """It was given up, or was no page."""
        if page.card:
            self._card.due[page.card] = np.inf
            self._free.append(page.card)
            page.card = 0

    def of(self, cards: IntArray) -> FloatArray:
        """What these pages are worth now."""
        return np.asarray(self.value.merits(self._slots[cards]) / self._scale())

    def counted(self, clicks: ClicksCounted, pages: Callable[[PageId], KnownPage | None], beliefs: Beliefs) -> None:
        """Take in a push of the log, and learn from the pages whose time has come."""
        self._decay[: len(beliefs.profit_decay)] = beliefs.profit_decay
        numbers, which = np.unique(clicks.page, return_inverse=True)
        known = [pages(number) for number in numbers.tolist()]
        cards = np.array([0 if page is None else page.card for page in known], np.int64)
        row = self._card
        row.clicks[:] += np.bincount(cards[which], clicks.number, row.size)
        row.clicks[0] = 0.0
        due = np.flatnonzero(row.due <= clicks.at)
        for first in range(0, len(due), _BATCH):
            self._learn(due[first : first + _BATCH], clicks.at, pages, beliefs)
        self._pass(clicks.at)

    def refine(self, beliefs: Beliefs) -> Beliefs:
        """Beliefs with what is foreseen of the pages each source is first to show: their mean, and their spread."""
        of, some = self._source, _SOURCE_TRUST
        size = len(beliefs.found_profit)
        pages, merits, logs, squares = (column[:size] for column in (of.pages, of.merits, of.logs, of.squares))
        mean = (merits + some) / (pages + some)
        count = max(float(pages.sum()), 1.0)
        usual = max(float(squares.sum()) / count - (float(logs.sum()) / count) ** 2, 0.0)
        own = np.maximum(squares - logs * logs / np.maximum(pages, 1.0), 0.0)
        spread = np.sqrt((own + some * usual) / (pages + some))
        return beliefs._replace(found_profit=beliefs.found_profit * mean, value_spread=spread)

    def _learn(self, due: IntArray, at: Seconds, pages: Callable[[PageId], KnownPage | None], beliefs: Beliefs) -> None:
        row = self._card
        known = [pages(number) for number in row.page[due].tolist()]
        profit, decay = beliefs.page_profit.tolist(), beliefs.profit_decay.tolist()
        expected, fade = np.zeros(len(due)), np.ones(len(due))
        place_worth = beliefs.place_worth.tolist()
        for line, page in enumerate(known):
            if page is not None and max(page.sources) < len(profit):
                count = len(page.sources)
                fade[line] = sum(decay[source] for source in page.sources) / count
                expected[line] = sum(profit[source] for source in page.sources) / count * place_worth[page.place]
        age, older = row.age[due], row.age[due] + (at - row.at[due])
        expected *= np.exp(-fade * age) - np.exp(-fade * older)
        good = expected > 0
        self.value.learn(self._slots[due[good]], expected[good], row.clicks[due[good]])
        row.clicks[due], row.age[due], row.at[due] = 0.0, older, at
        row.stage[due] += 1
        for card, page, slow in zip(due.tolist(), known, fade.tolist(), strict=True):
            stage = int(row.stage[card])
            if page is None or stage >= len(_STAGES):
                row.due[card] = np.inf
                self._free.append(card)
                if page is not None:
                    page.card = 0
            else:
                row.due[card] = at + _wait(stage, slow) - _wait(stage - 1, slow)

    def _pass(self, at: Seconds) -> None:
        """Let time pass: what was learned long ago counts less."""
        if self._forgot_at is None:
            self._forgot_at = at
        seconds = at - self._forgot_at
        if seconds < _FORGET_EVERY:  # the tables are large
            return
        self._forgot_at = at
        self.value.forget(2.0 ** (-seconds / self._half_life))
        keep = 2.0 ** (-seconds / _FOUND_HALF_LIFE)
        self._mean *= keep
        for column in self._source.pages, self._source.merits, self._source.logs, self._source.squares:
            column[:] *= keep

    def _scale(self) -> float:
        pages, merits = self._mean.tolist()
        return (merits + 1.0) / (pages + 1.0)

    def _new_card(self) -> int:
        card = self._card.size
        self._card.grow(card + 1)
        if card == len(self._slots):
            self._slots = np.concatenate([self._slots, np.zeros_like(self._slots)])
        return card


def _wait(stage: int, decay: float) -> Seconds:
    """How long after the fetch a page teaches."""
    return min(max(_STAGES[stage] / decay, _SOONEST * (stage + 1)), _LONGEST * (stage + 1) / 2)
