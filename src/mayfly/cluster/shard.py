"""One shard: takes its lease, crawls its sites while it holds it, says what it wants and spends what it is given.

It is the ordinary crawler (`crawl/`) on a part of the web. What it knows is in the database: when the lease is lost all
that is in memory is thrown away, and whoever takes it next learns it again from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from mayfly.cluster.handover import Handover
from mayfly.cluster.lease import Lease, LeaseLost
from mayfly.cluster.ledger import Ledger, Told
from mayfly.cluster.line import GONE, Line
from mayfly.cluster.settings import ClusterSettings
from mayfly.core import events
from mayfly.core.agenda import asked, steadied
from mayfly.core.demand import price_grid
from mayfly.core.model import FloatArray, Seconds
from mayfly.crawl.crawler import Crawler
from mayfly.crawl.opening import opened
from mayfly.crawl.settings import Settings
from mayfly.crawl.territory import Territory
from mayfly.errors import MayflyError
from mayfly.store.postgres import PostgresStore
from mayfly.store.postgres_schema import shard_of

_TRY_AGAIN: Seconds = 0.25  # to take a lease that is another's
_LOOK: Seconds = 0.5  # for a new allotment, and for pages that others found
_IDLE = 0.1  # of the time with nothing to fetch: it could not use what it was given
_AFTER_FAILURE: Seconds = 1.0
_SHARES = 4  # for each plan and push of clicks: before them nobody asks what others know
_AHEAD, _MEMORY = 5, 16  # rounds: it asks for what there is to fetch in so many, as a mean over so many
log = logging.getLogger("mayfly")


class Shard:
    """Of one number; runs in any process, once everywhere."""

    def __init__(self, home: Path, settings: Settings, cluster: ClusterSettings, number: int, owner: str) -> None:
        self._home = home
        self._settings, self._cluster = settings, cluster
        self.number, self.owner = number, owner
        self._stopping = False
        self._stopped = asyncio.Event()
        self._crawler: Crawler | None = None
        self._lease: Lease | None = None

    async def run(self) -> None:
        """Until it is told to stop."""
        try:
            line = Line(self._settings.store, self._cluster.lease / 3, f"mayfly lease of shard {self.number}")
            async with line, Ledger(self._settings.store, self._cluster.margin) as ledger:
                while not self._stopping:
                    await self._once(ledger, line)
        finally:
            self._stopped.set()

    async def stop(self) -> None:
        """Land what is in the air, and give the lease back."""
        if self._crawler is not None and not self._stopping:  # told twice, it would throw away what is in the air
            self._crawler.stop()
        self._stopping = True
        await self._stopped.wait()

    def status(self) -> dict[str, Any]:
        """For whoever asks the process itself; the ledger has what all see."""
        crawler, lease = self._crawler, self._lease
        return {
            "shard": self.number,
            "owner": self.owner,
            "epoch": lease.epoch if lease else 0,
            "holds": bool(lease and lease.holds()),
            "sources": len(crawler.parts.sources) if crawler else 0,
            "pages": len(crawler.parts.pages) if crawler else 0,
            "allotment": crawler.parts.scheduler.budget if crawler else 0.0,
            "price": (crawler.parts.scheduler.price if crawler else None) or 0.0,
            "idle": crawler.idle if crawler else 0.0,
        }

    async def _once(self, ledger: Ledger, line: Line) -> None:
        """Take the lease and crawl until it is lost; or wait a little."""
        lease = Lease(line, self.number, self.owner, self._cluster.lease, self._cluster.margin)
        try:
            if not await lease.take():
                await asyncio.sleep(_TRY_AGAIN)
                return
            self._lease = lease
            await self._crawl(ledger, lease)
        except LeaseLost as error:
            log.warning("%s", error)
        except GONE as error:
            log.warning("shard %d cannot reach the database (%s)", self.number, error or type(error).__name__)
            await asyncio.sleep(_AFTER_FAILURE)
        except MayflyError as error:
            log.error("shard %d ended: %s", self.number, error)
            await asyncio.sleep(_AFTER_FAILURE)
        finally:
            self._crawler = self._lease = None
            with contextlib.suppress(*GONE):
                if lease.epoch:
                    await lease.give_back()

    async def _crawl(self, ledger: Ledger, lease: Lease) -> None:
        cluster, settings = self._cluster, self._settings
        ours = lru_cache(100_000)(lambda site: shard_of(site, cluster.shards) == self.number)
        territory = Territory(ours, lease.holds, taken=True, fetch_seconds=cluster.fetch_seconds)
        store = PostgresStore(
            settings.store, shards=cluster.shards, fence=lease, crawls=True, idle=cluster.margin, patience=cluster.lease
        )
        share = replace(settings, readers=1, warc_gigabytes=settings.warc_gigabytes / cluster.shards)
        async with opened(self._home, share, store, territory, f"{self.number:03d}") as crawler:
            self._crawler = crawler
            if self._stopping:
                return
            crawler.allot(0.0)
            duty = Duty(crawler, ledger, lease, cluster)
            handover = Handover(crawler.parts, store, await store.landed())
            async with beside(crawler, lease.keep(), duty.run(), _hand_over(crawler, handover)):
                await crawler.run()


class Duty:
    """What a shard owes the others: to say what it wants, and to spend no more than it is given."""

    def __init__(self, crawler: Crawler, ledger: Ledger, lease: Lease, cluster: ClusterSettings) -> None:
        self._crawler, self._ledger, self._lease, self._cluster = crawler, ledger, lease, cluster
        self._shard = lease.shard
        self._grid = price_grid(cluster.price_grid)
        self._applied = 0
        self._asked: FloatArray | None = None
        self._at = self._asked_at = self._began = asyncio.get_running_loop().time()
        self._requests, self._idle, self._lag = 0, 0.0, 0.0
        self._used, self._spares = 0.0, False
        self._share_at: Seconds = 0.0

    async def run(self) -> None:
        """For ever."""
        loop = asyncio.get_running_loop()
        due = 0.0
        while True:
            try:
                changed = await self._take_offer()
                if changed or loop.time() >= due:
                    await self._report(loop.time())
                    due = loop.time() + self._cluster.price_every
            except GONE as error:
                log.warning("shard %d hears no price (%s)", self._shard, error or type(error).__name__)
            wake = loop.time() + min(_LOOK, self._cluster.price_every)
            await asyncio.sleep(wake - loop.time())
            self._lag = max(self._lag, loop.time() - wake)

    async def _take_offer(self) -> bool:
        offer = await self._ledger.offered(self._shard)
        if offer is None or offer.version == self._applied:
            return False
        self._crawler.allot(offer.allotment)
        self._applied = offer.version
        return True

    async def _report(self, now: Seconds) -> None:
        self._measure(now)
        crawler = self._crawler
        lag, self._lag = self._lag, 0.0
        # While it learns its past again it knows less than it has told, and others lean on that.
        evidence = crawler.parts.scheduler.evidence() if crawler.learning is None else None
        waiting = len(crawler.parts.pages)
        curve = await self._curve(now)
        told = Told(self._applied, self._used, self._spares, waiting, lag, curve, evidence)
        await self._ledger.report(self._lease, told)
        if now >= self._share_at:
            await self._share(now)

    def _measure(self, now: Seconds) -> None:
        """What was used since the last time, and whether more could have been; half a second says nothing of it."""
        crawler, passed, every = self._crawler, now - self._at, self._cluster.price_every
        if passed < every / 2:
            return
        requests = sum(crawler.parts.door.requests.values())
        self._used = (requests - self._requests) / passed
        learns_long = crawler.learning is not None and now - self._began > _AHEAD * every
        self._spares = learns_long or (crawler.idle - self._idle) / passed > _IDLE
        self._at, self._requests, self._idle = now, requests, crawler.idle

    async def _curve(self, now: Seconds) -> FloatArray | None:
        """What it could fetch at each price, computed off the event loop."""
        parts, every = self._crawler.parts, self._cluster.price_every
        passed, self._asked_at = now - self._asked_at, now
        items = parts.scheduler.agenda(parts.clock.now(), _AHEAD * every)
        if items is not None:
            curve = await asyncio.to_thread(asked, items, self._grid)
            self._asked = steadied(self._asked, curve, passed, _MEMORY * every)
        return self._asked

    async def _share(self, now: Seconds) -> None:
        """Tell the scheduler what others have learned, where nothing is known here; some times for each plan."""
        parts = self._crawler.parts
        self._share_at = now + min(parts.settings.replan, parts.settings.log_push) / _SHARES
        others = await self._ledger.evidence_of_others(self._shard, parts.scheduler.evidence())
        parts.scheduler.observe(events.OthersTold(parts.clock.now(), others))


async def _hand_over(crawler: Crawler, handover: Handover) -> None:
    """Once the crawl has begun, for ever."""
    while True:
        await asyncio.sleep(_LOOK)
        if crawler.learning is None and await handover.take():
            crawler.stir()


@contextlib.asynccontextmanager
async def beside(crawler: Crawler, *works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Let these be done as long as the crawl runs; if one fails, the crawl does."""

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            crawler.fail(error)

    tasks = [asyncio.ensure_future(work) for work in works]
    for task in tasks:
        task.add_done_callback(ended)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
