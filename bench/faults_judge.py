"""What a broken cluster did, judged by the log of the origin server and by all that was written into its leases."""

from __future__ import annotations

import bisect
import contextlib
import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from faults_sites import CRAWL_DELAY, FEED
from faults_stage import Stage, run, wait_for
from live_judge import Table, most_within, pauses, shortest_pause, too_short

from mayfly.store.postgres import PostgresStore
from mayfly.testing.witness import Visit

SETTLE = CRAWL_DELAY + 1  # after the first request of a new owner: so long the slowest site may wait for its next
_PATIENCE = 120.0
_READ_EVERY = 5.0  # once nothing is published any more
_SHOWS_ALL = ("/articles.xml.gz", FEED)
_REDIRECT = 302
PACED_AFTER = 4.0  # a takeover: what the new owner may spend is dealt out each second, by what he says he wants
_MOVES_WITHIN = 10.0


@dataclass(slots=True)
class Broken:
    """A fault: the shards it hit, and from when to when pages of theirs may be fetched again."""

    what: str
    shards: list[int]
    epochs: list[int]  # of all shards, before
    allowed: int  # such pages
    within: float | None  # seconds that its shards may be silent; None: no matter
    begin: float = field(default_factory=time.time)
    clock: float = 0.0  # from when on their silence counts
    end: float = np.inf

    def covers(self, at: float, shard: int) -> bool:
        return self.begin <= at <= self.end and shard in self.shards


def judged(stage: Stage, table: Table, broken: list[Broken], disturbed: list[tuple[float, float]], since: float,
           delay: float, budget: float) -> None:  # fmt: skip
    """All of the log, whatever the faults were; after everything that was published had its chance."""
    lost_pages(stage, table)
    visits = [Visit(v.at, v.ended or v.at, v.host, v.target, v.status) for v in stage.visits()]
    paced = stage.others.paced if stage.others else {}
    leases = Leases(stage.audit())
    fetched_again(stage, table, leases, broken)
    table.most("pauses of a site under its delay", len(too_short(visits, delay, paced)), 0)
    table.say("  the shortest", shortest_pause(visits))
    slow = [pause for site, pause, after_robots in pauses(visits) if site in paced and not after_robots]
    table.say(f"  the shortest with a Crawl-delay of {CRAWL_DELAY:g} s", min(slow, default=np.nan))
    owned(stage, table, leases)
    table.most("most requests in any 60 s", most_within(visits, 60.0), int(1.02 * 60 * budget + 1))
    rate, seconds = steady(visits, [*disturbed, *leases.moves()], since, stage.clock.stopped_at, budget)
    table.least("requests per second where nothing broke or moved, of N", rate, 0.95)
    table.say("  seconds of that", seconds)


def lost_pages(stage: Stage, table: Table) -> None:
    """Publish nothing more, have the sources that show all of a site read again, and see what was never asked for."""
    stage.clock.stopped_at = time.time()
    stage.read_often(_READ_EVERY, {url for url in stage.trace.source_urls if url.endswith(_SHOWS_ALL)})
    finders = stage.others.finders if stage.others else stage.pages().host_of
    read, trace = stage.pages().baselines(), stage.trace
    known = np.array([read.get(host, np.inf) for host in finders])
    born = (known <= trace.published) & (trace.published < stage.clock.stopped_at)

    def missing() -> Any:
        return born & ~np.isfinite(stage.pages().fetched_at())

    with contextlib.suppress(TimeoutError):
        table.say("seconds of draining", wait_for(lambda: not missing().any(), _PATIENCE))
    lost = np.flatnonzero(missing())
    of_others = np.array([host != of for host, of in zip(finders, stage.pages().host_of, strict=True)])
    table.say("pages published while it crawled", int(born.sum()))
    table.say("  that only a source of another site showed", int((born & of_others).sum()))
    table.most("pages lost", len(lost), 0)
    if len(lost):
        explain(stage, table, lost)


def explain(stage: Stage, table: Table, pages: Any) -> None:
    """What the store knows of pages nobody fetched."""

    async def look() -> None:
        trace = stage.trace
        async with PostgresStore(stage.url, read_only=True, shards=stage.cluster.shards) as store:
            crawled = {source.url: (source.crawls, source.last_crawl) for source in await store.sources()}
            waits = await store._read(lambda database: database.execute(_WAIT).fetchall())
            table.note(f"shard, waiting pages in the database, and as it says itself: {waits}")
            for page in pages[:12]:
                kept = await store.page_at(trace.page_urls[page])
                on = [trace.source_urls[source] for source in trace.link_source[trace.link_page == page]]
                table.note(f"{trace.page_urls[page]} {trace.published[page]} {kept and (kept.outcome, kept.reason)}")
                table.note(f"    {[(url, crawled.get(url)) for url in on]}")

    run(look())


def fetched_again(stage: Stage, table: Table, leases: Leases, broken: list[Broken]) -> None:
    """Each second fetch by its date: only what a fault hit may be fetched again, no more than was in the air."""
    counted, calm, halfway = [0] * len(broken), [], 0
    for before, visit in again(stage):
        shard = stage.shard_of(visit.host)
        of = [number for number, fault in enumerate(broken) if fault.covers(visit.at, shard)]
        if of:
            counted[of[-1]] += 1
        elif visit.status == _REDIRECT and leases.at(shard, before.at)["epoch"] != leases.at(shard, visit.at)["epoch"]:
            halfway += 1
        else:
            calm.append((before, visit))
    over = [count - fault.allowed for count, fault in zip(counted, broken, strict=True)]
    table.most("pages fetched twice where nothing broke", len(calm), 0)
    table.most("  after a fault, beyond what it allows: the worst", max([0, *over]), 0)
    table.say("  after a fault, of the most allowed", f"{sum(counted)} of {sum(fault.allowed for fault in broken)}")
    table.say("  redirects that a shard had no time to follow as it moved", halfway)
    for before, visit in calm[:10]:
        table.note(f"twice: {before.at} and {visit.at} {visit.host}{visit.target}")
    for fault, count in zip(broken, counted, strict=True):
        if count > fault.allowed:
            table.note(f"{fault.what}: {count} pages fetched twice of {fault.allowed} allowed")


def again(stage: Stage) -> list[tuple[Visit, Visit]]:
    """Fetches of pages that had been fetched, and of addresses that had led elsewhere, with those before."""
    redirects = defaultdict(list)
    for visit in stage.visits():
        if visit.status == _REDIRECT:
            redirects[visit.host, visit.target].append(visit)
    return [pair for visits in (*stage.pages().fetches.values(), *redirects.values()) for pair in pairwise(visits)]


def owned(stage: Stage, table: Table, leases: Leases) -> None:
    """That every request came from the machine of the owner, while his lease held, and never from two."""
    wrong, late, by = [], [], defaultdict(set)
    for visit in stage.visits():
        shard = stage.shard_of(visit.host)
        row = leases.at(shard, visit.at)
        if row is None or row["owner"].partition("/")[0] != stage.names.get(visit.client):
            wrong.append((visit.at, visit.host, visit.client, row and row["owner"]))
        elif visit.at >= row["until"]:
            late.append((visit.at, visit.host, row["owner"], row["until"]))
        else:
            by[visit.connection, shard].add(row["owner"])  # a connection is of one process
    table.most("requests by who was not the owner of the site", len(wrong), 0)
    table.most("requests after the end of the owner's lease", len(late), 0)
    table.most("connections on which two owners asked", sum(len(owners) > 1 for owners in by.values()), 0)
    table.most("leases taken while they were another's", len(leases.robbed()), 0)
    table.say("  leases taken in all, and renewed", f"{leases.taken} {leases.renewed}")
    for row in [*wrong[:5], *late[:5], *leases.robbed()[:5]]:
        table.note(row)


class Leases:
    """What was written into them, in order."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = defaultdict(list)
        for row in rows:
            self._rows[row["shard"]].append(row)
        self._times = {shard: [row["at"] for row in own] for shard, own in self._rows.items()}
        steps = [(a, b) for own in self._rows.values() for a, b in pairwise(own)]
        self._changes = [(a, b) for a, b in steps if b["owner"] and b["epoch"] != a["epoch"]]
        self.taken = len(self._changes) + len(self._rows)
        self.renewed = sum(a["epoch"] == b["epoch"] and bool(b["owner"]) for a, b in steps)

    def at(self, shard: int, moment: float) -> Any:
        """The last row written by then; None: there is none."""
        place = bisect.bisect_right(self._times.get(shard, []), moment) - 1
        return self._rows[shard][place] if place >= 0 else None

    def moves(self) -> list[tuple[float, float]]:
        """From when a shard was last its old owner's until its new one is at his pace."""
        return [(max(a["at"] - 1.0, b["at"] - _MOVES_WITHIN), b["at"] + PACED_AFTER) for a, b in self._changes]

    def robbed(self) -> list[Any]:
        """Changes of owner before the end of the lease; one that was given back ended long ago."""
        return [(tuple(a), tuple(b)) for a, b in self._changes if b["at"] < a["until"]]


def silence(stage: Stage, shard: int, since: float, until: float) -> float:
    """The longest time without a request to sites of a shard."""
    asked = [v.at for v in stage.visits() if since < v.at < until and stage.shard_of(v.host) == shard]
    return float(np.diff([since, *asked, until]).max())


def steady(
    visits: list[Visit], disturbed: list[tuple[float, float]], since: float, until: float, budget: float
) -> tuple[float, float]:
    """The rate in the times between faults and moves, against the budget; and how long that was, in all."""
    tick = 0.1
    moments = np.arange(since, until, tick)
    calm = np.ones(len(moments), bool)
    for begin, end in disturbed:
        calm &= (moments < begin) | (moments >= end)
    counted = np.histogram([visit.at for visit in visits], np.append(moments, moments[-1] + tick))[0]
    seconds = float(calm.sum() * tick)
    return float(counted[calm].sum() / seconds / budget), seconds


_WAIT = (
    "SELECT shard, (SELECT count(*) FROM pages WHERE pages.shard = reports.shard AND outcome = 'waiting'), waiting"
    " FROM reports ORDER BY shard"
)
