"""What each known page is worth against the mean page of its sources: features in, clicks seen of it back.

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
from itertools import chain

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
_ROOM = 16
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
        self._slots = np.zeros((1, WIDTH), np.int32)
        self._card = Columns(page=0, rank=np.inf, due=np.inf, age=0.0, at=0.0, clicks=0.0, stage=0)
        self._card.grow(1)
        self._free: list[int] = []
        self._widest = 0  # of all rows of slots
        self._source = Columns(id=0, host=0, front=False, pages=0.0, merits=0.0, logs=0.0, squares=0.0)
        self._foreseen: list[tuple[SourceId, int, float, float, float]] = []  # to be added to the columns of sources
        self._pages_found = self._merits_found = 0.0  # merits before they are scaled
        self._forgot_at: Seconds | None = None
        self._patience: FloatArray = np.zeros(0)  # how long after its fetch a page of a source teaches first

    def added(self, host: IntArray, kinds: Sequence[str], ids: Sequence[int] = ()) -> None:
        """More sources, of these hosts and kinds."""
        first = self._source.size
        self._source.grow(first + len(host))
        self._source.id[first:] = ids or range(first, self._source.size)
        self._source.host[first:] = host
        self._source.front[first:] = [kind == "front" for kind in kinds] or False
        self._patience = np.append(self._patience, _wait(0, np.full(len(host), 1 / _FIRST_LIFE)))

    def found(self, new: Sequence[NewPage], pages: Sequence[KnownPage], source: SourceId, at: Seconds) -> None:
        """Give the new pages of a crawl their cards and their merits."""
        of, features, merit = self._source, self.features, self.value.merit
        front, host = int(of.front[source]), int(of.host[source])
        shared = features.of_crawl(int(of.id[source]), at)
        cards, merits = self._take_cards(len(new)), []
        row, table = self._card, self._slots
        for (number, _, _, rank, url, title, context), page, card in zip(new, pages, cards, strict=True):
            slots = features.moving(1, front, rank, host) + shared + features.of_link(url, title, context)
            merits.append(merit(slots))
            page.card = card
            size = len(slots)
            table[card, :size] = slots
            if size > self._widest:
                self._widest = size
            row.page[card] = number
            if rank is not None:
                row.rank[card] = rank
        self._pages_found += len(merits)
        self._merits_found += sum(merits)
        scale = self._scale()
        merits = [one / scale for one in merits]
        logs = [math.log(one) for one in merits]
        self._foreseen.append((source, len(merits), sum(merits), sum(logs), sum([one * one for one in logs])))
        for page, one in zip(pages, merits, strict=True):
            page.merit = one

    def shown(self, page: KnownPage, rank: float | None) -> None:
        """Another source, now the last of its sources, shows a page that waits."""
        card, row = page.card, self._card
        if not card:
            return
        best = float(row.rank[card])
        if rank is not None and rank < best:
            best = row.rank[card] = rank
        front = self._source.front
        fronts = sum([1 for source in page.sources if front[source]])
        slots = self._slots[card]
        slots[:MOVING] = self.features.moving(
            len(page.sources), fronts, None if best == math.inf else best, int(self._source.host[page.sources[0]])
        )
        page.merit = self.value.merit(slots.tolist()) / self._scale()

    def seen(self, page: KnownPage, at: Seconds) -> None:
        """From `at` on its clicks can be seen."""
        card, row = page.card, self._card
        if card:
            row.at[card], row.age[card] = at, max(at - page.published, 0.0)
            row.due[card] = at + self._patience[page.sources[0]]

    def gone(self, page: KnownPage) -> None:
        """It was given up, or was no page."""
        if page.card:
            self._put_back(np.array([page.card]))
            page.card = 0

    def of(self, cards: IntArray) -> FloatArray:
        """What these pages are worth now."""
        return np.asarray(self.value.merits(self._slots[:, : self._widest][cards]) / self._scale())

    def counted(self, clicks: ClicksCounted, pages: Callable[[PageId], KnownPage | None], beliefs: Beliefs) -> None:
        """Take in a push of the log, and learn from the pages whose time has come."""
        self._patience[: len(beliefs.profit_decay)] = _wait(0, beliefs.profit_decay)
        numbers, which = np.unique(clicks.page, return_inverse=True)
        known = [pages(number) for number in numbers.tolist()]
        cards = np.array([0 if page is None else page.card for page in known], np.int64)
        row = self._card
        row.clicks[:] += np.bincount(cards[which], clicks.number, row.size)
        row.clicks[0] = 0.0
        due = np.flatnonzero(row.due <= clicks.at)
        if len(due):
            self._learn(due, clicks.at, [pages(number) for number in row.page[due].tolist()], beliefs)
        self._pass(clicks.at)

    def refine(self, beliefs: Beliefs) -> Beliefs:
        """Beliefs with what is foreseen of the pages each source is first to show: their mean, and their spread."""
        self._add_foreseen()
        of, some = self._source, _SOURCE_TRUST
        size = len(beliefs.found_profit)
        pages, merits, logs, squares = (column[:size] for column in (of.pages, of.merits, of.logs, of.squares))
        mean = (merits + some) / (pages + some)
        count = max(float(pages.sum()), 1.0)
        usual = max(float(squares.sum()) / count - (float(logs.sum()) / count) ** 2, 0.0)
        own = np.maximum(squares - logs * logs / np.maximum(pages, 1.0), 0.0)
        spread = np.sqrt((own + some * usual) / (pages + some))
        return beliefs._replace(found_profit=beliefs.found_profit * mean, value_spread=spread)

    def _learn(self, due: IntArray, at: Seconds, known: Sequence[KnownPage | None], beliefs: Beliefs) -> None:
        row = self._card
        full, fade = _expected(known, beliefs)
        age, older = row.age[due], row.age[due] + (at - row.at[due])
        expected = full * (np.exp(-fade * age) - np.exp(-fade * older))
        good = np.flatnonzero(expected > 0)
        for first in range(0, len(good), _BATCH):
            batch = good[first : first + _BATCH]
            self.value.learn(self._slots[due[batch]], expected[batch], row.clicks[due[batch]])
        row.clicks[due], row.age[due], row.at[due] = 0.0, older, at
        stage = row.stage[due] = row.stage[due] + 1
        row.due[due] = at + _wait(1, fade) - _wait(0, fade)
        over = np.flatnonzero((stage >= len(_STAGES)) | [page is None for page in known])
        self._put_back(due[over])
        for page in [known[place] for place in over.tolist()]:
            if page is not None:
                page.card = 0

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
        self._add_foreseen()
        self._pages_found *= keep
        self._merits_found *= keep
        for column in self._source.pages, self._source.merits, self._source.logs, self._source.squares:
            column[:] *= keep

    def _add_foreseen(self) -> None:
        if not self._foreseen:
            return
        of = self._source
        source, *sums = zip(*self._foreseen, strict=True)
        for column, more in zip((of.pages, of.merits, of.logs, of.squares), sums, strict=True):
            column += np.bincount(source, more, of.size)
        self._foreseen.clear()

    def _scale(self) -> float:
        return (self._merits_found + 1.0) / (self._pages_found + 1.0)

    def _take_cards(self, many: int) -> list[int]:
        free = self._free
        if len(free) < many:
            first = self._card.size
            room = max(first // 2, many, _ROOM)
            self._card.grow(first + room)
            self._slots = np.concatenate([self._slots, np.zeros((room, WIDTH), np.int32)])
            free += range(first + room - 1, first - 1, -1)
        taken = free[-many:]
        del free[-many:]
        return taken

    def _put_back(self, cards: IntArray) -> None:
        """Blank, for other pages."""
        row = self._card
        row.rank[cards], row.due[cards], row.clicks[cards], row.stage[cards] = np.inf, np.inf, 0.0, 0
        self._slots[cards] = 0
        self._free += cards.tolist()


def _expected(known: Sequence[KnownPage | None], beliefs: Beliefs) -> tuple[FloatArray, FloatArray]:
    """What the sources of each page and its place let expect in all, and how fast that fades."""
    sources = [() if page is None else page.sources for page in known]
    of = np.repeat(np.arange(len(known)), [len(some) for some in sources])
    source = np.fromiter(chain.from_iterable(sources), np.int64, len(of))
    told = source < len(beliefs.page_profit)
    count = np.bincount(of, told, len(known))
    whole = (count > 0) & (count == np.bincount(of, minlength=len(known)))
    of, source = of[told], source[told]
    profit = np.bincount(of, beliefs.page_profit[source], len(known)) / np.maximum(count, 1.0)
    fade = np.bincount(of, beliefs.profit_decay[source], len(known)) / np.maximum(count, 1.0)
    place = beliefs.place_worth[[0 if page is None else page.place for page in known]]
    return np.where(whole, profit * place, 0.0), np.where(whole, fade, 1.0)


def _wait(stage: int, decay: FloatArray) -> FloatArray:
    """How long after the fetch pages teach."""
    return np.clip(_STAGES[stage] / decay, _SOONEST * (stage + 1), _LONGEST * (stage + 1) / 2)
