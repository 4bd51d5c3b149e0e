"""What is done beside fetching: clicks in, edits noticed, estimates out, hosts searched, hubs asked, old things
forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mayfly.core import events
from mayfly.core.model import DAY, HOUR, MINUTE, Seconds
from mayfly.core.outlook import Outlook
from mayfly.crawl import retiring
from mayfly.crawl.finder import Finder, Found
from mayfly.crawl.hearsay import Hearsay
from mayfly.crawl.hubs import Hubs
from mayfly.crawl.lock import beat
from mayfly.crawl.parts import Parts
from mayfly.crawl.restoring import announce
from mayfly.crawl.trends import Trends
from mayfly.errors import RunError
from mayfly.store.past import ClockStep
from mayfly.store.records import Estimate, Minute, Retention
from mayfly.urls import site_of

_GIGABYTE = 1e9
_LOOK_AT_EDITS: Seconds = 2.0
_LISTEN: Seconds = 1.0
_SAVE_ESTIMATES: Seconds = 10.0  # at most so often
_LATE: Seconds = 1.0  # what is noted so soon after a minute is of that minute
_SEARCHES = 8  # hosts at once
_LOOK_FOR_HOSTS: Seconds = 5.0  # new ones
_LOOK_FOR_OLD_HOSTS: Seconds = MINUTE
_SEARCH_AGAIN: Seconds = HOUR  # where it failed
log = logging.getLogger("mayfly")


@dataclass(slots=True)
class _Counted:
    crawls: int = 0
    pages: int = 0
    others: int = 0
    failures: int = 0
    found: int = 0


class Chores:
    """Each is a loop of its own; all end when they are cancelled."""

    def __init__(self, parts: Parts, finder: Finder, hearsay: Hearsay, home: Path, stir: Callable[[], None]) -> None:
        self._parts, self._finder, self._hearsay, self._home, self._stir = parts, finder, hearsay, home, stir
        self._saved: object = None
        self._trends = Trends(parts.settings.trends)
        self._counted = _Counted()
        self._alike: dict[int, int] = {}
        self._looked: Seconds = -np.inf  # for hosts that were searched long ago
        self.paused = ""  # why nothing may be fetched
        self.searching = 0  # hosts whose sources are being looked for

    async def run(self) -> None:
        """All of them, until cancelled; the first that fails ends the others."""
        async with asyncio.TaskGroup() as group:
            for chore, every in (
                (self._watch_clock_and_disk, 1.0),
                (self._take_edits, _LOOK_AT_EDITS),
                (self._hearsay.take, _LISTEN),
                (self.follow_trends, MINUTE),
                (self._push_clicks, self._parts.settings.log_push),
                (self._search_hosts, _LOOK_FOR_HOSTS),
                (self._drop_pages, _SAVE_ESTIMATES),
                (self._forget, DAY),
                (self._forget_answers, HOUR),
                (self._retire, DAY),
            ):
                group.create_task(_repeat(chore, every))
            group.create_task(_repeat(self.save_estimates, _SAVE_ESTIMATES, wait=_SAVE_ESTIMATES))
            group.create_task(self._note_minutes())
            group.create_task(Hubs(self._parts).run())

    async def _watch_clock_and_disk(self) -> None:
        parts = self._parts
        beat(self._home)
        by = parts.clock.step()
        if by:
            now = parts.clock.now()
            log.warning("the clock was set by %+.0f s, or the machine slept: nothing is learned of that time", by)
            parts.scheduler.observe(events.ClockStepped(now, by))  # before it is asked anything at the new time
            await parts.store.clock_stepped(ClockStep(now, by))
        try:
            free = shutil.disk_usage(self._home).free
        except OSError as error:
            raise RunError(f"the home {self._home} cannot be looked at any more: {error.strerror}") from None
        least = parts.settings.free_gigabytes * _GIGABYTE
        paused = (
            f"only {free / _GIGABYTE:.1f} GB free on disk, {least / _GIGABYTE:g} are needed" if free < least else ""
        )
        if paused != self.paused:
            log.warning("%s", f"paused: {paused}" if paused else "goes on: there is room on disk again")
        self.paused = paused

    async def _take_edits(self) -> None:
        """Sources that people, the finder or we ourselves added or changed."""
        parts = self._parts
        now = parts.clock.now()
        new, edited = parts.sources.take(await parts.store.edited(parts.sources.revision))
        announce(parts.scheduler, new, parts.settings, now)
        for source in edited:
            every = source.pinned or parts.settings.record_every or np.inf
            parts.scheduler.observe(events.SourcesRetired(now, [source.number], retired=not source.active))
            parts.scheduler.observe(events.SourcesPinned(now, [source.number], every))
        if new or edited:
            self._stir()

    async def _push_clicks(self) -> None:
        """A push of the click log, as in the lab."""
        store, now = self._parts.store, self._parts.clock.now()
        told, cursor = -1, await store.told()
        while cursor != told:  # a store gives so many at once
            told = cursor
            clicks, cursor = await store.clicks_since(told)
            await store.clicks_told(now, cursor)
            if len(clicks.page) or told == cursor:
                self._parts.scheduler.observe(self._parts.interest.counted(now, clicks))

    async def follow_trends(self) -> None:
        """What people ask for now, whenever the file of it is another."""
        terms = self._trends.changed()
        if terms is not None:
            self._parts.scheduler.observe(events.TrendsTold(self._parts.clock.now(), terms))

    async def save_estimates(self) -> None:
        """What is believed and planned, for whoever looks at the home."""
        parts = self._parts
        beliefs = parts.scheduler.beliefs
        if beliefs is None or beliefs is self._saved:
            return
        self._saved = beliefs
        outlook = parts.scheduler.outlook(parts.clock.now())
        if outlook is not None:
            await parts.store.save_estimates(self._estimates(outlook))
        if parts.scheduler.merits is not None:
            await parts.store.keep_page_values(parts.scheduler.merits.value.dump())

    def _estimates(self, outlook: Outlook) -> list[Estimate]:
        beliefs, plan = outlook.beliefs, outlook.polite.plan
        with np.errstate(invalid="ignore"):
            interval = np.minimum(plan.mean_interval, outlook.every)
        due = outlook.seen + interval
        return [
            Estimate(
                source=source.id,
                link_rate=float(beliefs.link_rate[number]),
                page_profit=float(beliefs.found_profit[number]),
                profit_decay=float(beliefs.profit_decay[number]),
                interval=float(interval[number]) if np.isfinite(interval[number]) else None,
                worth=min(float(outlook.keys[number]), 1e9),
                next_due=float(due[number]) if source.crawls and np.isfinite(due[number]) else None,
                note=self._remark(outlook, number, bool(np.isfinite(interval[number]))),
            )
            for number in range(len(outlook.keys))
            for source in (self._parts.sources[number],)
            if not source.elsewhere
        ]

    def _remark(self, outlook: Outlook, number: int, worth_it: bool) -> str:
        source = self._parts.sources[number]
        if not source.active:
            return "retired"
        if source.pinned or self._parts.settings.record_every:
            return "pinned"
        if outlook.polite.limited[number]:
            return "site-limited"
        return "" if worth_it else "below the price"

    async def _note_minutes(self) -> None:
        """As each minute of the clock ends: so those of many shards are the same, and add up."""
        while True:
            await asyncio.sleep(MINUTE - self._parts.clock.now() % MINUTE)
            await self.note_minute()

    async def note_minute(self) -> None:
        """Requests of the minute that ends now, or is under way."""
        parts = self._parts
        requests, tally = parts.door.requests, parts.tally
        before, self._counted = (
            self._counted,
            _Counted(
                requests["crawl"],
                requests["page"],
                requests["robots"] + requests["redirect"] + requests["find"] + requests["hub"],
                tally.failed,
                tally.found,
            ),
        )
        now = self._counted
        await parts.store.note_minute(
            Minute(
                (parts.clock.now() - _LATE) // MINUTE * MINUTE,
                now.crawls - before.crawls,
                now.pages - before.pages,
                now.others - before.others,
                now.failures - before.failures,
                now.found - before.found,
                parts.scheduler.price,
                parts.settings.budget,
            )
        )

    async def _search_hosts(self) -> None:
        """Look for the sources of hosts that are new, or were searched long ago."""
        parts = self._parts
        now = parts.clock.now()
        every = parts.settings.find_every
        old = not 0 <= now - self._looked < _LOOK_FOR_OLD_HOSTS  # to find these, all hosts are looked at
        self._looked = now if old else self._looked
        due = await parts.store.hosts_due(*((now - every, now - min(every, _SEARCH_AGAIN)) if old else (0.0, 0.0)))
        await self.search([host for host in due if parts.door.territory.ours(site_of(host))])

    async def search(self, hosts: Sequence[str], done: Callable[[], None] = lambda: None) -> list[Found]:
        """Look for the sources of these hosts, some at a time."""
        room = asyncio.Semaphore(_SEARCHES)

        async def search(host: str) -> Found:
            async with room:
                self.searching += 1
                try:
                    return await self._finder.find(host, self._parts.clock.now())
                finally:
                    self.searching -= 1
                    done()

        return await asyncio.gather(*(search(host) for host in hosts))

    async def _drop_pages(self) -> None:
        """Pages whose worth does not pay for their fetch."""
        parts = self._parts
        dropped, parts.scheduler.dropped = parts.scheduler.dropped, set()
        if dropped:
            for page in dropped:
                parts.pages.pop(page, None)
            await parts.store.drop(sorted(dropped), parts.clock.now())

    async def _forget(self) -> None:
        parts, now = self._parts, self._parts.clock.now()
        keep = parts.settings
        forgotten = await parts.store.prune(
            now, Retention(history=keep.keep_history, text=keep.keep_text, pages=keep.keep_pages)
        )
        if any(forgotten.values()):
            log.info("forgotten: %s", ", ".join(f"{many:,} {what}" for what, many in forgotten.items() if many))

    async def _forget_answers(self) -> None:
        archive, keep = self._parts.archive, self._parts.settings
        if archive is not None:
            most = int(keep.warc_gigabytes * _GIGABYTE)
            await asyncio.to_thread(archive.prune, self._parts.clock.now(), keep.keep_warc, most)

    async def _retire(self) -> None:
        """Sources that show what another shows (twice in a row), and sitemaps that show nothing new for long."""
        parts, now = self._parts, self._parts.clock.now()
        active = {source.number: source for source in parts.sources if source.active and source.crawls > 1}
        shows = await parts.store.shows([source.id for source in active.values()])
        of_number = {number: shows[source.id] for number, source in active.items() if source.id in shows}
        alike = retiring.twins(of_number, active)
        for number, other in alike.items():
            if self._alike.get(number) == other:
                reason = f"shows the same links as {parts.sources[other].url}"
                await parts.store.edit_source(active[number].id, state="retired", reason=reason)
        self._alike = alike
        for source in active.values():
            if why := retiring.silent(source, now):
                await parts.store.edit_source(source.id, state="retired", reason=why)


async def _repeat(chore: Callable[[], Awaitable[None]], every: Seconds, wait: Seconds = 0.0) -> None:
    await asyncio.sleep(wait)
    while True:
        await chore()
        await asyncio.sleep(every)
