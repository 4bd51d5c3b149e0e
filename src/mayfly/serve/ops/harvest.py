"""Pages fetched in the last weeks, and their clicks: columns in memory that follow the store by two cursors."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import numpy as np

from mayfly.core.model import DAY, WEEK, FloatArray, IntArray, Seconds, SourceId
from mayfly.core.provisional import Profits, expected_rest
from mayfly.store.listings import Believed
from mayfly.store.records import Clicks
from mayfly.store.store import Store

SHOWN: Seconds = 2 * WEEK  # of dynamic quality
_KEPT: Seconds = SHOWN + WEEK  # what the week before the first point needs
_MOST_CLICKS = 5_000_000  # rows; the oldest go first
_AT_ONCE = 50_000  # rows of clicks: others want to read, too
_PATIENCE: Seconds = 0.3
_FRESH: Seconds = 15.0  # it is not brought up to date more often


class Pages(NamedTuple):
    """By page, in order of their numbers."""

    page: IntArray
    source: IntArray
    published: FloatArray
    found: FloatArray
    fetched: FloatArray
    seen: FloatArray  # what its clicks since then are worth

    @property
    def delay(self) -> FloatArray:
        return np.maximum(self.fetched - self.published, 0.0)


class Clicked(NamedTuple):
    """Rows of clicks, in the order they came in."""

    page: IntArray
    at: FloatArray
    worth: FloatArray


class SourceClicks(NamedTuple):
    """Of the pages a source was first to show: ages in seconds."""

    pages: int
    seen_from: FloatArray
    seen_until: FloatArray
    click_age: FloatArray
    worth: FloatArray


class Harvest:
    """Call `follow` before you look."""

    def __init__(self, reader: Store, click: float, show: float) -> None:
        self._reader, self._click, self._show = reader, click, show
        self._lock = asyncio.Lock()
        self._landed: int | None = None
        self._cursor = 0
        self._followed: Seconds | None = None
        self._reading: asyncio.Task[None] | None = None
        empty, numbers = np.empty(0), np.empty(0, np.int64)
        self.pages = Pages(numbers, numbers, empty, empty, empty, empty)
        self.clicks = Clicked(numbers, empty, empty)
        self.known_until: Seconds = -np.inf  # clicks are known up to here

    async def glance(self, now: Seconds) -> None:
        """The same, but who only wants a number does not wait long: the first time all of three weeks is read."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self.follow(now))
        await asyncio.wait([self._reading], timeout=_PATIENCE)
        if self._reading.done():
            self._reading.result()  # or what went wrong

    async def follow(self, now: Seconds) -> None:
        """Take in what is new. Clicks are read before pages: so no page is missing of which there are clicks."""
        async with self._lock:
            if self._followed is not None and now - self._followed < _FRESH:
                return
            clicks = await self._new_clicks()
            if self._landed is None:
                self._landed = await self._reader.landed_at(now - _KEPT)
            added, start = [], -1
            while start != self._landed:
                start = self._landed
                columns = await self._reader.fetched_since(start)
                self._landed = columns.landed
                added.append(Pages(*columns[1:], np.zeros(len(columns.page))))
            await asyncio.to_thread(self._take, added, clicks, now)
            self._followed = now

    def profits(self, believed: Believed) -> Profits:
        """What each page brought so far, and what is still expected of it."""
        size = int(max(believed.source.max(initial=-1), self.pages.source.max(initial=-1))) + 1
        profit, decay = np.zeros(size), np.zeros(size)
        profit[believed.source], decay[believed.source] = believed.page_profit, believed.profit_decay
        pages = self.pages
        rest = expected_rest(
            pages.published, pages.fetched, profit[pages.source], decay[pages.source], self.known_until
        )
        return Profits(pages.fetched, pages.seen, rest)

    def of_source(self, source: SourceId, now: Seconds) -> SourceClicks:
        """When the pages of a source were clicked."""
        rows = np.flatnonzero(self.pages.source == source)
        numbers, published = self.pages.page[rows], self.pages.published[rows]
        until = np.maximum(np.minimum(now, self.known_until), self.pages.fetched[rows])
        place = _places(numbers, self.clicks.page)
        hits = np.flatnonzero(place >= 0)
        age = np.maximum(self.clicks.at[hits] - published[place[hits]], 0.0)
        ages_from = self.pages.delay[rows]
        return SourceClicks(
            len(rows), ages_from, np.maximum(until - published, ages_from), age, self.clicks.worth[hits]
        )

    async def _new_clicks(self) -> list[Clicks]:
        found, start = [], -1
        while start != self._cursor:
            start = self._cursor
            some, self._cursor = await self._reader.clicks_since(start, _AT_ONCE)
            found.append(some)
        return found

    def _take(self, added: list[Pages], clicks: list[Clicks], now: Seconds) -> None:
        if any(len(some.page) for some in added):
            columns: list[Any] = [np.concatenate(parts) for parts in zip(self.pages, *added, strict=True)]
            joined = Pages(*columns)
            order = np.argsort(joined.page, kind="stable")
            order = order[joined.fetched[order] > now - _KEPT - DAY]
            self.pages = Pages(*(column[order] for column in columns))
        for some in clicks:
            if len(some.page):
                self._count(some, now)

    def _count(self, some: Clicks, now: Seconds) -> None:
        worth = some.number * np.where(some.show, self._show, self._click)
        place = _places(self.pages.page, some.page)
        ours = np.flatnonzero((place >= 0) & (worth > 0))
        np.add.at(self.pages.seen, place[ours], worth[ours])
        self.known_until = min(max(self.known_until, float((some.at + some.width / 2).max())), now)
        new = Clicked(some.page[ours], some.at[ours], worth[ours])
        self.clicks = Clicked(*(np.concatenate(both)[-_MOST_CLICKS:] for both in zip(self.clicks, new, strict=True)))


def _places(numbers: IntArray, asked: IntArray) -> IntArray:
    """Where each stands among the sorted numbers; -1: it does not."""
    if not len(numbers):
        return np.full(len(asked), -1)
    place = np.minimum(np.searchsorted(numbers, asked), len(numbers) - 1)
    return np.where(numbers[place] == asked, place, -1)
