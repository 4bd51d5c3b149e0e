"""Deals out the budget: adds what the shards want at each price, finds the price that spends it, and what each may.

It may be down: shards go on with what they were last given. Two of them cannot deal at once: the one who does holds a
lease, as shards do.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from datetime import UTC, datetime
from typing import Any

from mayfly.cluster.lease import Lease, LeaseLost
from mayfly.cluster.ledger import COORDINATOR, Ledger
from mayfly.cluster.line import GONE
from mayfly.cluster.settings import ClusterSettings
from mayfly.core.allotment import first_grants, next_grants, spendable
from mayfly.core.demand import price_grid
from mayfly.core.model import Seconds
from mayfly.crawl.settings import Settings
from mayfly.errors import UsageError

_TRY_AGAIN: Seconds = 0.5
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
log = logging.getLogger("mayfly")


class Coordinator:
    """A price round every so often, until it is stopped."""

    def __init__(self, settings: Settings, cluster: ClusterSettings) -> None:
        check_budget(settings, cluster)
        self._settings, self._cluster = settings, cluster
        self._grid = price_grid(cluster.price_grid)
        self._since: Any = _LONG_AGO
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Deal while we are the one who does."""
        async with Ledger(self._settings.store, self._cluster.margin) as ledger:
            while not self._stopping.is_set():
                try:
                    await self._deal(ledger)
                except LeaseLost:
                    log.warning("another coordinator deals out the budget now")
                except GONE as error:
                    log.warning("the coordinator cannot reach the database (%s)", error or type(error).__name__)
                await self._pause(_TRY_AGAIN)

    async def stop(self) -> None:
        self._stopping.set()

    async def _deal(self, ledger: Ledger) -> None:
        owner = f"coordinator {socket.gethostname()}/{os.getpid()}"
        lease = Lease(ledger.line, COORDINATOR, owner, self._cluster.lease, self._cluster.margin)
        if not await lease.take():
            return
        keeping = asyncio.ensure_future(lease.keep())
        try:
            while not self._stopping.is_set() and not keeping.done():
                try:
                    await self.round(ledger, lease)
                except GONE as error:  # the lease is ours none the less
                    log.warning("the coordinator cannot reach the database (%s)", error or type(error).__name__)
                await self._pause(self._cluster.price_every)
            if keeping.done():
                keeping.result()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            if self._stopping.is_set():
                await lease.give_back()

    async def round(self, ledger: Ledger, lease: Lease) -> None:
        """One price, and what each shard may spend at it."""
        budget, points = self._settings.budget, self._cluster.price_grid
        before, reports, moment = await ledger.heard(self._since, points)
        if before is None:
            grants = first_grants(budget, len(reports))
        else:
            grants = await asyncio.to_thread(next_grants, before, reports, budget, self._grid)
        await ledger.offer(grants, budget, lease)
        self._since = moment

    async def _pause(self, seconds: Seconds) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def check_budget(settings: Settings, cluster: ClusterSettings) -> None:
    """That the budget can be dealt out to so many."""
    try:
        spendable(settings.budget, cluster.shards)
    except ValueError as error:
        raise UsageError(str(error)) from None
