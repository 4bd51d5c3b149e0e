"""What a crawl does at this moment: looked at together for all who listen, every two seconds."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from mayfly.core.model import HOUR, MINUTE, PerSecond, Seconds
from mayfly.crawl.checkup import budget_of, crawled_by
from mayfly.crawl.health import STOPPED
from mayfly.serve.parts import Serving
from mayfly.store.records import Minute

EVERY: Seconds = 2.0
_SPAN: Seconds = 30.0  # over which a rate is shown


class _Look(NamedTuple):
    at: Seconds
    seq: int
    crawls: int
    pages: int
    failures: int


@dataclass(frozen=True, slots=True)
class Now:
    """Rates are per second and of the last half minute; None: not known yet."""

    at: Seconds
    running: bool
    stuck: bool  # someone holds the home, but has noted nothing for minutes
    budget: PerSecond
    rate: PerSecond | None
    crawls: PerSecond | None
    pages: PerSecond | None
    failures: PerSecond | None
    price: float | None
    found: int  # in the last hour
    fetched: int
    waiting: int
    kept: int
    minute: Seconds | None  # the last that was noted


class Pulse:
    """Of one home."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._lock = asyncio.Lock()
        self._looks: deque[_Look] = deque()
        self._now: Now | None = None
        self._looked: Seconds = 0.0

    async def now(self) -> Now:
        """As of two seconds ago at most."""
        async with self._lock:
            ticks = self._serving.ticks()
            if self._now is None or ticks - self._looked >= EVERY * 0.9:
                self._now = await self._look(ticks)
                self._looked = ticks
            return self._now

    async def _look(self, ticks: Seconds) -> Now:
        serving, reader = self._serving, self._serving.reader
        await self._count(ticks)
        now = serving.clock()
        minutes = await reader.minutes(now - HOUR - MINUTE)
        stats = await reader.stats()
        crawls, pages, failures = self._rates()
        held = bool(await crawled_by(reader, serving.home))
        last = minutes[-1] if minutes else None
        return Now(
            at=now,
            running=held,
            stuck=held and last is not None and now - last.at > STOPPED + MINUTE,
            budget=budget_of(serving.home, serving.settings),
            rate=_last_rate(last, now) if crawls is None else crawls + (pages or 0.0) + (failures or 0.0),
            crawls=crawls,
            pages=pages,
            failures=failures,
            price=next((minute.price for minute in reversed(minutes) if minute.price is not None), None),
            found=sum(minute.found for minute in minutes),
            fetched=sum(minute.pages for minute in minutes),
            waiting=int(stats["waiting"]),
            kept=int(stats["fetched"]),
            minute=last.at if last else None,
        )

    async def _count(self, ticks: Seconds) -> None:
        if self._looks and ticks - self._looks[-1].at > _SPAN:
            self._looks.clear()  # nobody looked for a while: begin anew
        before = self._looks[-1] if self._looks else None
        counted = await self._serving.reader.counted_since(before.seq if before else None)
        so_far = before or _Look(ticks, counted.seq, 0, 0, 0)
        self._looks.append(
            _Look(
                ticks,
                counted.seq,
                so_far.crawls + counted.crawls,
                so_far.pages + counted.pages,
                so_far.failures + counted.failures,
            )
        )
        while self._looks[0].at < ticks - _SPAN:
            self._looks.popleft()

    def _rates(self) -> tuple[PerSecond, PerSecond, PerSecond] | tuple[None, None, None]:
        first, last = self._looks[0], self._looks[-1]
        span = last.at - first.at
        if span < EVERY:
            return None, None, None
        return (
            (last.crawls - first.crawls) / span,
            (last.pages - first.pages) / span,
            (last.failures - first.failures) / span,
        )


def _last_rate(last: Minute | None, now: Seconds) -> PerSecond | None:
    """Of the last minute noted, until there is more to tell."""
    if last is None or now - last.at > STOPPED:
        return None
    return (last.crawls + last.pages + last.others) / MINUTE
