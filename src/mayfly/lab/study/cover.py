"""The smallest set of sources that reaches most pages, greedily (paper, section 3.1).

The source that links the most pages is taken first; its pages count no more; and so on. Of equals the first in the log
is taken. Theory of operation: a source's gain, the pages only it would add, never grows, so a gain once computed is an
upper bound. Sources lie in buckets by that bound. The highest bucket is opened and its gains are computed again; what
gains less goes down to its own bucket; the rest gain exactly as much as any source can. Among those, one that comes
before all others on each of its pages is taken whatever else happens, so all such are taken at once, in whole columns;
then again, until the bucket is empty. A chain of sources, each in the way of the next, would take a round for each:
when rounds bring little, the bucket is gone through one by one. The result is the plain algorithm's, in its order.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mayfly.core.model import IntArray
from mayfly.lab.study.visits import NONE, Visits

_WORTH_A_ROUND = 0.1  # of a bucket must be settled by a round, or the next ones are not worth their arrays


class Cover(NamedTuple):
    """Sources in the order they were taken, and how many pages each added."""

    source: IntArray
    gain: IntArray
    pages: int  # that some source links

    @property
    def reached(self) -> IntArray:
        """Pages reached by the first 1, 2, 3, … sources."""
        return np.cumsum(self.gain)

    def needed(self, share: float) -> int:
        """How many sources reach this share of the pages.

        >>> Cover(np.array([4, 1]), np.array([3, 1]), 4).needed(0.8)
        2
        """
        return int(np.searchsorted(self.reached, _whole(share * self.pages))) + 1 if share > 0 else 0


def distinct_links(visits: Visits) -> tuple[IntArray, IntArray]:
    """Each pair of source and page once, by source and then by page.

    A visit that came from nowhere is no link, and a page is no source of itself: to crawl it, one must know it.
    """
    source, page = visits.source, visits.page
    as_page = np.fromiter((visits.pages.get(name, NONE) for name in visits.sources), np.int64, len(visits.sources))
    # Of no source (NONE) the last name is looked up, whatever it is: it is left out by the other condition.
    told = (source != NONE) & (as_page[source] != page) if len(as_page) else np.zeros(len(page), bool)
    width = len(visits.pages)
    pairs = np.sort(source[told].astype(np.int64) * width + page[told])  # a fifth of the time of `np.unique`
    pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])] if len(pairs) else pairs
    return np.divmod(pairs, max(width, 1))


def greedy_cover(
    source: IntArray, page: IntArray, share: float = 1.0, done: Callable[[float], None] = lambda _: None
) -> Cover:
    """Sources that reach a share of the linked pages; `done` is told of the pages that are reached.

    Links must be distinct and in order, as `distinct_links` gives them.
    """
    links = _Links(source, page)
    wanted = _whole(share * links.pages)
    taken, gains, reached = list[IntArray](), list[IntArray](), 0
    buckets = _Buckets(links.size)
    while reached < wanted and (gain := buckets.highest()):
        some = np.sort(_take_level(links, buckets, buckets.open(gain), gain))
        taken.append(some)
        gains.append(np.full(len(some), gain))
        reached += gain * len(some)
        done(gain * len(some))
    empty = np.zeros(0, np.int64)
    cover = Cover(np.concatenate([empty, *taken]), np.concatenate([empty, *gains]), links.pages)
    many = cover.needed(share)
    return Cover(cover.source[:many], cover.gain[:many], cover.pages)


class _Links:
    """The pages of each source that are not reached yet, as far as we looked: parts of one column, that shrink."""

    def __init__(self, source: IntArray, page: IntArray) -> None:
        many = int(source[-1]) + 1 if len(source) else 0
        self.page = page.copy()
        self.size = np.bincount(source, minlength=many)
        self.start = np.cumsum(self.size) - self.size
        self.flags = bytearray(int(page.max(initial=-1)) + 1)  # whether a page is reached
        self.reached = np.frombuffer(self.flags, bool)  # the same bytes
        self.first = np.zeros(len(self.reached), np.int64)
        self.pages = int(np.count_nonzero(np.bincount(page)))

    def rows(self, sources: IntArray) -> tuple[IntArray, IntArray]:
        """Where the pages of these sources stand, and to which of them (0, 1, …) each belongs."""
        sizes = self.size[sources]
        whose = np.repeat(np.arange(len(sources)), sizes)
        before = np.cumsum(sizes) - sizes
        return np.arange(len(whose)) + (self.start[sources] - before)[whose], whose

    def look(self, sources: IntArray) -> None:
        """Forget what of theirs is reached, so that `size` is what each would add."""
        rows, whose = self.rows(sources)
        pages = self.page[rows]
        left = ~self.reached[pages]
        self.size[sources] = np.bincount(whose[left], minlength=len(sources))
        self.page[self.rows(sources)[0]] = pages[left]

    def reach(self, sources: IntArray) -> None:
        self.reached[self.page[self.rows(sources)[0]]] = True


class _Buckets:
    """Sources by the most they can gain."""

    def __init__(self, gains: IntArray) -> None:
        self._inside: dict[int, list[IntArray]] = defaultdict(list)
        self._heap: list[int] = []
        self.put(np.flatnonzero(gains), gains)

    def put(self, sources: IntArray, gains: IntArray) -> None:
        """Sources into the buckets of their gains; what gains nothing is left."""
        sources = sources[gains[sources] > 0]
        if not len(sources):
            return
        mine = gains[sources]
        order = np.argsort(mine, kind="stable")
        levels, begins = np.unique(mine[order], return_index=True)
        for level, some in zip(levels.tolist(), np.split(sources[order], begins[1:]), strict=True):
            if level not in self._inside:
                heapq.heappush(self._heap, -level)
            self._inside[level].append(some)

    def highest(self) -> int:
        return -self._heap[0] if self._heap else 0

    def open(self, level: int) -> IntArray:
        heapq.heappop(self._heap)
        return np.sort(np.concatenate(self._inside.pop(level)))


def _take_level(links: _Links, buckets: _Buckets, waiting: IntArray, gain: int) -> IntArray:
    """All sources that greedy takes with this gain; the others go to lower buckets."""
    taken = list[IntArray]()
    while len(waiting):
        many = len(waiting)
        links.look(waiting)
        exact = links.size[waiting] == gain
        buckets.put(waiting[~exact], links.size)
        waiting = waiting[exact]
        rows, whose = links.rows(waiting)
        pages = links.page[rows]
        links.first[pages[::-1]] = whose[::-1]  # of those written to one place the last stays: the first in the log
        ahead = np.bincount(whose[links.first[pages] == whose], minlength=len(waiting)) == gain
        taken.append(waiting[ahead])
        links.reach(waiting[ahead])
        waiting = waiting[~ahead]
        if len(waiting) > (1 - _WORTH_A_ROUND) * many:
            taken.append(_one_by_one(links, waiting, gain))
            links.look(waiting)
            buckets.put(waiting, links.size)
            break
    return np.concatenate(taken)


def _one_by_one(links: _Links, waiting: IntArray, gain: int) -> IntArray:
    """The same of sources that all gained as much a moment ago, each looked at in its turn: in plain Python, as arrays
    of so few pages take longer to make than to look at.
    """
    taken = []
    flags, pages = links.flags, links.page[links.rows(waiting)[0]].tolist()
    for number, source in enumerate(waiting.tolist()):
        mine = pages[number * gain : (number + 1) * gain]
        if not any(map(flags.__getitem__, mine)):
            taken.append(source)
            for page in mine:
                flags[page] = 1
    return np.array(taken, np.int64)


def _whole(pages: float) -> int:
    """So many pages, rounded up; a hair above a whole number is the error of a product."""
    return int(np.ceil(pages - 1e-9 * max(pages, 1.0)))
