"""The live driver: asks the scheduler what to fetch, fetches it, keeps what came, and tells the scheduler.

Theory of operation. The truth is in the store. One loop spends the budget: when a token is there and a fetch is worth
it, the fetch flies on its own (`flights.py`). What came of it is kept in one transaction, and only then told to the
scheduler; so a crash loses at most what was in the air, and that is simply due again. Beside the loop run the chores
(`chores.py`): clicks are taken in, edits of sources noticed, estimates saved, hosts searched, hubs asked, old things
forgotten.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from mayfly.core import events
from mayfly.core.estimates import ESTIMATORS, Estimator
from mayfly.core.estimates.blind import Blind
from mayfly.core.merits import Merits
from mayfly.core.model import Fetch, PerSecond, Seconds
from mayfly.core.policies import POLICIES, Policy
from mayfly.core.politeness import Bucket, Gate
from mayfly.core.scheduler import Scheduler
from mayfly.crawl.candidates import Patterns
from mayfly.crawl.chores import Chores
from mayfly.crawl.clock import Clock
from mayfly.crawl.doorman import Doorman
from mayfly.crawl.finder import Finder, Found
from mayfly.crawl.flights import Flights
from mayfly.crawl.hearsay import Hearsay
from mayfly.crawl.lock import beat, last_beat
from mayfly.crawl.parts import Archive, Parts
from mayfly.crawl.restoring import restore
from mayfly.crawl.settings import Settings
from mayfly.crawl.territory import ALL, Territory
from mayfly.crawl.visits import Visitor
from mayfly.fetch.http import Fetcher
from mayfly.fetch.readers import Readers
from mayfly.fetch.robots import KEPT, LONGEST_DELAY, SERVES, Robots
from mayfly.store.records import KeptRobots
from mayfly.store.store import Store
from mayfly.urls import site_of

_LEAST_DELAY: Seconds = 0.001  # the scheduler keeps sites apart only if there is some pause
_NAP: Seconds = 0.25
_SHORTEST_ROUND: Seconds = 0.02  # what a source is worth does not change faster
_BEAT: Seconds = 5.0  # a beat may be that late
_LEAST_BUDGET: PerSecond = 1e-6  # that can be planned with


class _Stopped(Exception):
    """It was told to stop before it had begun."""


class Crawler:
    """One crawl of one home."""

    def __init__(
        self,
        home: Path,
        settings: Settings,
        store: Store,
        fetcher: Fetcher,
        readers: Readers,
        agent: str,
        *,
        clock: Clock | None = None,
        archive: Archive | None = None,
        territory: Territory = ALL,
    ) -> None:
        self._home = home
        clock = clock or Clock()
        robots = Robots(fetcher, agent, fetcher.limits, self._keep_robots, self._kept_by_others)
        self._bucket = Bucket(settings.budget, 0.0)
        pauses = settings.host_delay, settings.address_delay
        door = Doorman(fetcher, robots, self._bucket, clock.now, *pauses, territory)
        door.on_pace = self._pace
        visitor = Visitor(fetcher, readers, door, store)
        patterns = Patterns(settings.only, settings.not_)
        scheduler = scheduler_of(settings)
        luck = random.Random(settings.seed)
        self.parts = Parts(settings, store, clock, scheduler, door, visitor, archive, patterns, luck)
        self._robots = robots
        self.hearsay = Hearsay(self.parts, self.stir)
        self._flights = Flights(self.parts, self.hearsay)
        self.chores = Chores(self.parts, Finder(visitor, robots, store, settings), self.hearsay, home, self.stir)
        self.learning: int | None = 0  # things of the past that were learned again so far; None: all
        self._flying: set[asyncio.Task[None]] = set()
        self._keeping: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None
        self._stopping = False
        self.idle: Seconds = 0.0  # for so long the budget allowed a fetch, and none could be made
        self._nap: asyncio.Future[None] | None = None

    @property
    def stopping(self) -> bool:
        """It was told to stop."""
        return self._stopping

    @property
    def flying(self) -> int:
        """Fetches under way."""
        return len(self._flying)

    async def run(self, seconds: Seconds | None = None) -> None:
        """Crawl until told to stop, or for so long; nothing is in the air when it ends."""
        try:
            await self.begin()
        except _Stopped:
            if self._error is not None:
                raise self._error from None
            return
        chores = asyncio.ensure_future(self.chores.run())
        chores.add_done_callback(self._chores_ended)
        try:
            await self.spend(seconds)
        finally:
            chores.cancel()
            await asyncio.gather(chores, return_exceptions=True)
            beat(self._home)
        await self.chores.save_estimates()
        await self.chores.note_minute()

    async def search(self, hosts: Sequence[str], done: Callable[[], None]) -> list[Found]:
        """Look for the sources of hosts, and do nothing else."""
        await self._remember()
        self._bucket.start(asyncio.get_running_loop().time())
        found = await self.chores.search(hosts, done)
        await self._land_all()
        beat(self._home)
        return found

    async def begin(self) -> None:
        """Learn again what the store knows."""
        parts = self.parts
        await self._remember()
        await self.chores.follow_trends()
        parts.sources, parts.pages = await restore(
            parts.store, parts.scheduler, parts.interest, parts.settings, parts.clock.now(), self._told,
            parts.door.territory.ours,
        )  # fmt: skip
        now = parts.clock.now()
        for rest in await parts.store.rests(now):  # not before: steps of the clock in the past are over
            if parts.door.territory.ours(rest.site):
                parts.scheduler.observe(events.SitePaced(now, rest.site, rests_until=rest.until))
        self.learning = None

    def _told(self) -> None:
        """One more thing of the past was learned again; there may be millions."""
        self.learning = (self.learning or 0) + 1
        if self._stopping:
            raise _Stopped

    async def _remember(self) -> None:
        """What an earlier run leaves: robots.txt, sites it may have asked just now, and those that asked for a rest."""
        parts, now, door = self.parts, self.parts.clock.now(), self.parts.door
        last = last_beat(self._home)
        lately = last is not None and now - last < LONGEST_DELAY + _BEAT
        if lately or door.territory.taken or parts.settings.store:  # others crawl that store, from homes of their own
            door.rest_all()
        for kept in await parts.store.robots():
            if not door.territory.ours(site_of(kept.origin)):
                continue
            rules = self._robots.remember(*kept)
            if now < kept.fetched_at + KEPT + SERVES:
                door.heed(site_of(kept.origin), rules.delay)
            await asyncio.sleep(0)  # there may be very many
        for rest in await parts.store.rests(now):
            if door.territory.ours(rest.site):
                door.rest(rest.site, rest.until - now)
        beat(self._home)

    async def spend(self, seconds: Seconds | None = None) -> None:
        """Spend the budget until told to stop, for so long, or until something fails. Ends with nothing in the air."""
        loop = asyncio.get_running_loop()
        # Who takes over may not spend what the one before him has spent already.
        self._bucket.start(loop.time(), 0.0 if self.parts.door.territory.taken else 1.0)
        until = None if seconds is None else loop.time() + seconds
        try:
            while not self._stopping and (until is None or loop.time() < until):
                await self._turn(loop)
        finally:
            self.parts.door.stopping = True
            await self._land_all()
        if self._error is not None:
            raise self._error

    def allot(self, rate: PerSecond) -> None:
        """Spend so many requests a second from now on."""
        self._bucket.pace(rate, asyncio.get_running_loop().time())
        self.parts.scheduler.budget = max(rate, _LEAST_BUDGET)
        self.stir()

    def stop(self) -> None:
        """Finish what is in the air, and end. A second call ends at once; what was in the air is due again later."""
        if self._stopping:
            for task in self._flying:
                task.cancel()
        self._stopping = self.parts.door.stopping = True
        self.stir()

    def fail(self, error: BaseException) -> None:
        """Something is wrong that no retry mends: end, and say so."""
        self._error = self._error or error
        self.stop()

    def stir(self) -> None:
        """Something happened: the loop should look again."""
        if self._nap is not None and not self._nap.done():
            self._nap.set_result(None)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something be done beside the loop; if it fails, the crawl does."""
        task = asyncio.ensure_future(work)
        self._flying.add(task)
        task.add_done_callback(self._landed)

    async def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """One decision."""
        now = loop.time()
        ready = self._bucket.next_token(now)
        full = len(self._flying) >= self.parts.settings.connections
        if full or self.chores.paused or not self.parts.door.territory.holds():
            await self._sleep(_NAP)
            self.idle += 0.0 if ready > now else loop.time() - now
            return
        if ready > now or self.parts.door.owed:  # those in the air go first
            ready = max(ready, now + 0.001)
            await asyncio.sleep(min(ready - now, _NAP))
            return
        wall = self.parts.clock.now()
        fetch = self.parts.scheduler.next(wall, self._bucket.patience(now))
        if not isinstance(fetch, Fetch):
            await self._sleep(min(max(fetch.until - wall, 0.001), _NAP))
            self.idle += 0.0 if fetch.better else loop.time() - now
            return
        self._bucket.take(loop.time())
        self._spawn(self._flights.fly(fetch))
        if len(self._flying) % 8 == 0:
            await asyncio.sleep(0)  # let those in the air move, however many tokens there are

    async def _sleep(self, seconds: Seconds) -> None:
        self._nap = asyncio.get_running_loop().create_future()
        handle = asyncio.get_running_loop().call_later(seconds, self.stir)
        try:
            await self._nap
        finally:
            handle.cancel()

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._flying.discard(task)
        self.stir()
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    async def _land_all(self) -> None:
        """Wait for what is in the air, but no longer than a fetch may take."""
        patience = self.parts.settings.fetch_seconds + 15.0
        pending = self._flying | self._keeping
        if pending:
            _, late = await asyncio.wait(pending, timeout=patience)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _keep_robots(self, origin: str, body: bytes | None, at: Seconds) -> None:
        task = asyncio.ensure_future(self.parts.store.keep_robots(KeptRobots(origin, body, at)))
        self._keeping.add(task)
        task.add_done_callback(self._kept)

    async def _kept_by_others(self, origin: str) -> tuple[bytes | None, Seconds] | None:
        """The robots.txt of a site of another shard, as that one keeps it."""
        kept = await self.parts.store.robots([origin])
        return (kept[0].body, kept[0].fetched_at) if kept else None

    def _pace(self, site: str, delay: Seconds) -> None:
        self.parts.scheduler.observe(events.SitePaced(self.parts.clock.now(), site, delay=delay))

    def _chores_ended(self, task: asyncio.Future[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            self.fail(error)

    def _kept(self, task: asyncio.Task[None]) -> None:
        self._keeping.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)


def scheduler_of(settings: Settings) -> Scheduler:
    """A scheduler as the settings say."""
    policy: Policy = POLICIES[settings.policy]()
    options: dict[str, Any] = {"feedback": "fetched"}
    if settings.estimator == "paper":
        options |= {"history": settings.history, "bin_width": settings.bin, "fit": policy.fits_profit}
    estimator: Estimator = ESTIMATORS[settings.estimator](**options) if policy.uses_beliefs else Blind()
    return Scheduler(
        policy,
        estimator,
        settings.budget,
        Gate(max(settings.host_delay, _LEAST_DELAY)),
        replan=settings.replan,
        probe=settings.probe if policy.probe else 0.0,
        feedback="fetched" if policy.uses_beliefs else "none",
        seed=settings.seed,
        shortest_round=_SHORTEST_ROUND,
        merits=Merits() if settings.page_values and policy.page_order == "worth" else None,
    )
