"""Known pages that wait for their fetch, by site, best first.

Rows are columns; each site has a heap of (-key, row). A key is the time a page was found (newest first, or oldest first
with its sign turned) or, under a policy that values pages, its worth at the time of the last revaluation: all pages
fade, but their order hardly moves between two revaluations. Rows taken or given a new key leave their old entry behind,
which no longer matches and is passed over. Pages worth too little to be fetched soon stay out of the heaps until the
next revaluation.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.model import PLACES, Beliefs, FloatArray, IntArray, PageId, Seconds, SourceId

PageOrder: TypeAlias = Literal["worth", "newest", "oldest"]

_GONE = -math.inf
_STEEPEST = 600.0  # of an exponent: a key stays a number, however fast interest fades
_ROOM = 1024


class Frontier:
    """The pages we could fetch."""

    def __init__(self, order: PageOrder) -> None:
        self._order = order
        self._row = Columns(page=0, site=0, published=0.0, place=0, card=0, merit=1.0, profit=0.0, decay=0.0, key=_GONE)
        self._shown_by = Columns(row=0, source=0)  # one line for each source seen to link a waiting page
        self._rows = self._lines = 0  # in use; the columns keep room to spare, with keys that say so
        self._heaps: list[list[tuple[float, int]]] = []
        self._where: dict[PageId, int] = {}
        self._reference: Seconds = 0.0  # values in keys are as of this moment
        self._admit = _GONE  # pages worth less stay out of the heaps
        self._profit: list[float] = []
        self._place_worth = [1.0] * PLACES
        self._decay: list[float] = []

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, page: PageId) -> bool:
        return page in self._where

    def waiting(self) -> list[PageId]:
        """All of them."""
        return list(self._where)

    def grow(self, sites: int) -> None:
        """Know sites 0 … sites-1."""
        self._heaps.extend([] for _ in range(sites - len(self._heaps)))

    def add(
        self,
        page: PageId,
        site: int,
        published: Seconds,
        found_at: Seconds,
        sources: Sequence[SourceId],
        place: int,
        card: int = 0,
        merit: float = 1.0,
    ) -> bool:
        """A page waits from now on. True if it is now the first of its site.

        `merit` is what it is worth against the mean page at its place, and `card` where `revalue` asks for it again.
        """
        row, number = self._row, self._rows
        if number == row.size:
            row.grow(number + _ROOM)
        self._rows += 1
        self._where[page] = number
        row.page[number] = page
        row.site[number] = site
        row.published[number] = published
        if self._order != "worth":
            return self._push(number, site, found_at if self._order == "newest" else -found_at)
        row.place[number], row.card[number], row.merit[number] = place, card, merit
        for source in sources:
            self._credit(number, source)
        many = len(sources)
        try:
            profit = sum([self._profit[source] for source in sources]) / many
            decay = sum([self._decay[source] for source in sources]) / many
        except IndexError:  # a source added since the last revaluation: the next one will tell
            return self._push(number, site, 0.0)
        profit = profit * self._place_worth[place] * merit
        row.profit[number], row.decay[number] = profit, decay
        return self._push(number, site, profit * math.exp(min(decay * (published - self._reference), _STEEPEST)))

    def show(self, page: PageId, source: SourceId, place: int, merit: float = 1.0) -> bool:
        """One more source shows a waiting page, so it is worth another sum. True if it is now the first of its site."""
        if self._order != "worth":
            return False
        row, number = self._row, self._where[page]
        self._credit(number, source)
        better = self._place_worth[place] / self._place_worth[int(row.place[number])] * merit / float(row.merit[number])
        row.place[number], row.merit[number] = place, merit
        row.profit[number] *= better
        return self._push(number, int(row.site[number]), float(row.key[number]) * better)

    def take(self, page: PageId) -> int:
        """The page is fetched, or given up: it waits no more. Returns its site."""
        number = self._where.pop(page)
        self._row.key[number] = _GONE
        return int(self._row.site[number])

    def site_of(self, page: PageId) -> int:
        """Where a waiting page is to be fetched."""
        return int(self._row.site[self._where[page]])

    def head(self, site: int) -> tuple[float, PageId] | None:
        """Key and page of the first of a site."""
        heap, key = self._heaps[site], self._row.key
        while heap:
            first, number = heap[0]
            if key[number] == -first:
                return -first, int(self._row.page[number])
            heapq.heappop(heap)
        return None

    def worth(self, page: PageId, now: Seconds) -> float:
        """What a waiting page is worth now, clicks still to come; or how long it has waited, where age is the order."""
        row, number = self._row, self._where[page]
        if self._order != "worth":
            return now - abs(float(row.key[number]))
        age = max(now - float(row.published[number]), 0.0)  # where the clock was set back it may be to come
        return float(row.profit[number]) * math.exp(-float(row.decay[number]) * age)

    def best(self, now: Seconds, first: int) -> list[tuple[PageId, float]]:
        """The first pages of all sites together and what each is worth now. Reads all rows."""
        row = self._row
        rows = np.argsort(-row.key, kind="stable")[:first]
        pages = [int(page) for page in row.page[rows[row.key[rows] > _GONE]]]
        return [(page, self.worth(page, now)) for page in pages]

    def worths(self) -> tuple[FloatArray, IntArray]:
        """What the waiting pages were worth when they were last valued, and their sites; in no order.

        Where age is the order, all are worth any price.
        """
        waits = self._row.key > _GONE
        keys = self._row.key[waits]
        return keys if self._order == "worth" else np.full(len(keys), np.inf), self._row.site[waits]

    def best_by(self, group_of_source: IntArray, groups: int) -> dict[int, PageId]:
        """The page worth most in each group of sources, by the source that showed it first. Reads all rows.

        None where pages are not valued.
        """
        if self._order != "worth":
            return {}
        of, source = self._shown_by.row[: self._lines], self._shown_by.source[: self._lines]
        group = np.zeros(self._row.size, np.int64)
        group[of[::-1]] = group_of_source[source[::-1]]
        rows = np.argsort(self._row.key, kind="stable")
        best = np.full(groups, -1)
        best[group[rows]] = np.where(self._row.key[rows] > _GONE, rows, -1)
        return {number: int(self._row.page[row]) for number, row in enumerate(best.tolist()) if row >= 0}

    def revalue(
        self,
        beliefs: Beliefs,
        now: Seconds,
        drop: float,
        admit: float,
        merits: Callable[[IntArray], FloatArray] | None = None,
        spared: Callable[[], Iterable[PageId]] = tuple,
    ) -> list[PageId]:
        """Take the new beliefs for all pages; drop those worth less than `drop`, queue those worth `admit`.

        `merits` says what the pages of these cards are worth now against the mean page at their place; `spared`, asked
        when all are valued, which ones are not to be dropped.
        """
        if self._order != "worth":
            self.tidy()
            return []
        self._profit, self._decay = beliefs.page_profit.tolist(), beliefs.profit_decay.tolist()
        self._place_worth = beliefs.place_worth.tolist()
        self._reference, self._admit = now, admit
        self._compact()
        row = self._row
        of, source = self._shown_by.row[: self._lines], self._shown_by.source[: self._lines]
        if merits is not None:
            row.merit[:] = merits(row.card)
        worth = beliefs.place_worth[row.place] * row.merit
        row.profit[:] = _mean_by(of, beliefs.page_profit[source], row.size) * worth
        row.decay[:] = _mean_by(of, beliefs.profit_decay[source], row.size)
        row.key[:] = row.profit * np.exp(-row.decay * np.maximum(now - row.published, 0.0))
        kept = set(spared())
        dropped = [page for page in row.page[row.key < drop].tolist() if page not in kept]
        for page in dropped:
            self.take(page)
        self._queue()
        return dropped

    def tidy(self) -> None:
        """Give back the room of pages that were taken, if it is most of all."""
        if self._rows > 2 * len(self._where) + _ROOM:
            self._compact()
            self._queue()

    def _credit(self, number: int, source: SourceId) -> None:
        shown, line = self._shown_by, self._lines
        if line == shown.size:
            shown.grow(line + _ROOM)
        self._lines += 1
        shown.row[line] = number
        shown.source[line] = source

    def _push(self, number: int, site: int, key: float) -> bool:
        self._row.key[number] = key
        if key < self._admit:
            return False
        heap = self._heaps[site]
        heapq.heappush(heap, (-key, number))
        return heap[0][1] == number

    def _compact(self) -> None:
        """Forget rows that were taken, and the room to spare."""
        waits = self._row.key > _GONE
        shown = self._shown_by
        shown.keep(np.flatnonzero(waits[shown.row[: self._lines]]))
        shown.row[:] = (np.cumsum(waits) - 1)[shown.row]
        self._row.keep(np.flatnonzero(waits))
        self._rows, self._lines = self._row.size, shown.size
        self._where = dict(zip(self._row.page.tolist(), range(self._row.size), strict=True))

    def _queue(self) -> None:
        """Build all heaps anew; a sorted list is a heap."""
        row = self._row
        rows = np.flatnonzero(row.key >= max(self._admit, np.nextafter(_GONE, 0)))
        rows = rows[np.lexsort((rows, -row.key[rows], row.site[rows]))]
        entries = list(zip((-row.key[rows]).tolist(), rows.tolist(), strict=True))
        for heap in self._heaps:
            heap.clear()
        sites, starts = np.unique(row.site[rows], return_index=True)
        bounds = [*starts.tolist(), len(rows)]
        for place, site in enumerate(sites.tolist()):
            self._heaps[site] = entries[bounds[place] : bounds[place + 1]]


def _mean_by(group: FloatArray, values: FloatArray, groups: int) -> FloatArray:
    counts = np.bincount(group, minlength=groups)
    return np.bincount(group, values, groups) / np.maximum(counts, 1)
