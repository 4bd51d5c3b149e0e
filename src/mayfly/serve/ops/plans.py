"""What another budget would buy: the plans behind `mayfly plan`, made from what is believed and kept for a minute."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mayfly.core import buying
from mayfly.core.intervals import Plan, exact_plan
from mayfly.core.model import Beliefs, IntArray, PerSecond, Seconds
from mayfly.store.listings import Believed
from mayfly.store.store import Store

LEAST, MOST = 1e-6, 1e6  # budgets that can be asked for
_FRESH: Seconds = 60.0
_PLANS = 8  # that are kept; one has columns of all sources
_CURVE = np.geomspace(0.1, 10.0, 13)  # budgets of the curve, as multiples of the present one


@dataclass(frozen=True, slots=True)
class Bought:
    """What a budget buys."""

    budget: PerSecond
    facts: dict[str, Any]
    plan: Plan


@dataclass(frozen=True, slots=True)
class Compared:
    """Two budgets: by how much they differ, and which sources come in or drop out. Sources are numbers of the store."""

    now: Bought
    asked: Bought
    sources: int
    bound: float
    coming: IntArray  # dearest first
    leaving: IntArray
    faster: int  # crawled more often than now, of those in both
    slower: int


class Plans:
    """Of one home."""

    def __init__(self, reader: Store, ticks: Callable[[], Seconds]) -> None:
        self._reader, self._ticks = reader, ticks
        self._lock = asyncio.Lock()
        self._read_at: Seconds = -math.inf
        self._believed: Believed | None = None
        self._beliefs: Beliefs
        self._bound = 0.0
        self._made: dict[PerSecond, Bought] = {}
        self._curves: dict[PerSecond, list[dict[str, float]]] = {}

    async def believed(self) -> Believed:
        """Columns of the sources, as of the last minute."""
        async with self._lock:
            return await self._fresh()

    async def compare(self, now: PerSecond, asked: PerSecond) -> Compared | None:
        """None: nothing is believed of any source yet."""
        async with self._lock:
            await self._fresh()
            return await asyncio.to_thread(self._compare, now, asked) if self._bound > 0 else None

    async def curve(self, now: PerSecond) -> list[dict[str, float]]:
        """Share of the bound against budget."""
        async with self._lock:
            await self._fresh()
            if self._bound <= 0:
                return []
            if now not in self._curves:
                self._curves[now] = await asyncio.to_thread(self._points, now)
            return self._curves[now]

    async def _fresh(self) -> Believed:
        if self._believed is None or self._ticks() - self._read_at > _FRESH:
            self._believed = await self._reader.believed()
            self._beliefs = self._believed.beliefs()
            self._bound = buying.bound_of(self._beliefs)
            self._read_at = self._ticks()
            self._made.clear()
            self._curves.clear()
        return self._believed

    def _points(self, now: PerSecond) -> list[dict[str, float]]:
        return [buying.point(self._beliefs, float(times) * now, self._bound) for times in _CURVE]

    def _make(self, budget: PerSecond) -> Bought:
        made = self._made.get(budget)
        if made is None:
            plan = exact_plan(self._beliefs, budget)
            made = Bought(budget, buying.facts(plan, self._bound), plan)
            if len(self._made) >= _PLANS:
                del self._made[next(iter(self._made))]
            self._made[budget] = made
        return made

    def _compare(self, now: PerSecond, asked: PerSecond) -> Compared:
        assert self._believed is not None
        before, after = self._make(now), self._make(asked)
        was, is_ = before.plan.taken > 0, after.plan.taken > 0
        worth = self._beliefs.link_rate * self._beliefs.page_profit

        def some(which: Any) -> IntArray:
            rows = np.flatnonzero(which)
            return self._believed.source[rows[np.argsort(-worth[rows], kind="stable")]]  # type: ignore[union-attr]

        both = was & is_
        change = after.plan.mean_interval[both] / before.plan.mean_interval[both]
        return Compared(
            before, after, len(worth), self._bound, some(is_ & ~was), some(was & ~is_),
            int((change < 1 - 1e-3).sum()), int((change > 1 + 1e-3).sum()),
        )  # fmt: skip
