"""Forgets what is older than it is kept, in steps so short that nobody who writes beside it waits."""

from __future__ import annotations

from functools import partial
from typing import Any

from mayfly.core.model import Seconds
from mayfly.store.records import Retention
from mayfly.store.tables import pruning, seen
from mayfly.store.tables.pruning import Sweep
from mayfly.store.thread import StoreThread


async def sweep(thread: StoreThread[Any], now: Seconds, keep: Retention) -> dict[str, int]:
    """How much of what was forgotten."""
    await _touch(thread, now, keep)
    return {sweep.name: await _sweep(thread, sweep) for sweep in pruning.sweeps(now, keep)}


async def _sweep(thread: StoreThread[Any], sweep: Sweep) -> int:
    behind, forgotten = None, 0
    while (bound := await thread.read(partial(sweep.bound, behind=behind))) is not None:
        if await thread.read(partial(sweep.any_in, behind=behind, bound=bound)):
            forgotten += await thread.write(partial(sweep.forget, behind=behind, bound=bound))
        behind = bound
    return forgotten


async def _touch(thread: StoreThread[Any], now: Seconds, keep: Retention) -> None:
    """Addresses that stand on a source now are not old, however long they have stood there."""
    behind: int | None = -1
    while behind is not None:
        old, behind = await thread.read(partial(pruning.about_to_go, behind=behind, now=now, keep=keep))
        if len(old):
            await thread.write(partial(seen.touch, hashes=old, at=now))
