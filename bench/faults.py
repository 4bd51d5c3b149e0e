"""What a cluster does when things break, judged from the origin server's log: `make faults`, or with --once.

A crawl of the test web on three machines (`faults_stage.py`); then, one after the other: kill -9 of an actor, of a
machine, of the coordinator; a machine that stands still for longer than its lease and wakes up; the coordinator
still for a minute; PostgreSQL restarted; the network cut between a machine and the database. And what people
do: every machine emptied and upgraded in turn; from three machines to one, and back. In the end nothing is published
any more, and what was must have been fetched.
"""

from __future__ import annotations

import argparse
import bisect
import contextlib
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from faults_stage import Stage, in_namespaces, run, wait_for
from live_judge import Table, most_within, shortest_pause, too_short

from mayfly.cluster.settings import ClusterSettings
from mayfly.store.postgres import PostgresStore
from mayfly.testing.witness import Visit

BUDGET, DELAY, SHARDS, HOSTS = 20.0, 0.3, 5, 12
CLUSTER = ClusterSettings(shards=SHARDS, lease=5.0, margin=2.0, fetch_seconds=1.5, price_every=1.0)
FLUSH = 0.2
QUIET = 8.0  # seconds of plain crawling between two faults
PATIENCE = 60.0


class Trial:
    """One stage, some faults, and what came of each."""

    def __init__(self, stage: Stage, table: Table, minute: float) -> None:
        self.stage, self.table, self.minute = stage, table, minute
        self.faults = 0
        self.allowed_twice = 0.0
        self.disturbed: list[tuple[float, float]] = []  # times in which less than the budget may be spent

    def run(self, name: str, times: int) -> None:
        fault: Callable[[], None] = getattr(self, name)
        for _ in range(times):
            wait_for(lambda: len(self.stage.owners()) == SHARDS, PATIENCE)
            time.sleep(QUIET)
            began = time.time()
            fault()
            self.faults += 1
            self.disturbed.append((began, time.time() + 2))

    # Faults

    def actor(self) -> None:
        shard = self._busiest()
        self._kill([self.stage.actor(shard)])
        self._recovered("actor killed", [shard], time.time(), CLUSTER.lease + 3)

    def node(self) -> None:
        name, shards = self._node()
        at = time.time()
        self.stage.signal_node(name, signal.SIGKILL)
        self._recovered(f"{name} killed", shards, at, CLUSTER.lease + 8)
        self.stage.start_node(name)

    def coordinator(self) -> None:
        pid = self.stage.coordinator()
        self._kill([pid])
        wait_for(lambda: self._coordinator() not in (None, pid), PATIENCE)

    def asleep(self) -> None:
        """A machine stands still for longer than the lease, and wakes up as if nothing had been."""
        name, shards = self._node()
        at = time.time()
        self.stage.signal_node(name, signal.SIGSTOP)
        self._recovered(f"{name} stands still", shards, at, CLUSTER.lease + 8)
        time.sleep(max(at + 16 - time.time(), 1.0))
        self.stage.signal_node(name, signal.SIGCONT)
        time.sleep(4.0)
        self._alive_again(name)

    def priceless(self) -> None:
        """Nobody deals out the budget for a minute: the last allotments hold."""
        pid, at = self.stage.coordinator(), time.time()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.minute)
        os.kill(pid, signal.SIGCONT)
        spent = sum(at + 1 <= visit.at < at + self.minute for visit in self.stage.visits()) / (self.minute - 1)
        self.table.most(f"coordinator still for {self.minute:g} s: rate off the budget", abs(spent / BUDGET - 1), 0.05)

    def database(self) -> None:
        self.stage.database.stop(signal.SIGINT)
        time.sleep(1.0)
        self.stage.database.start()
        self._recovered("PostgreSQL restarted", list(range(SHARDS)), time.time(), CLUSTER.lease + 8)

    def cut(self) -> None:
        name, shards = self._node()
        at = time.time()
        self.stage.cut(name)
        time.sleep(CLUSTER.lease + 3)
        self.stage.mend(name)
        self._recovered(f"{name} cut from the database", shards, at + CLUSTER.lease + 3, CLUSTER.lease + 8)

    def rolling(self) -> None:
        """Every machine in turn is emptied, ended and started again, as for an upgrade."""
        for name in list(self._owned()):
            self.stage.drain(name)
            self.stage.signal_node(name, signal.SIGKILL)
            time.sleep(1.0)
            self.stage.undrain(name)
            self.stage.start_node(name)
            wait_for(lambda name=name: bool(self._owned().get(name)), PATIENCE)

    def shrunk(self) -> None:
        """From three machines to one, and back, while it crawls."""
        others = sorted(self._owned())[1:]
        for name in others:
            self.stage.drain(name)
            self.stage.signal_node(name, signal.SIGKILL)
        time.sleep(QUIET)
        for name in others:
            self.stage.undrain(name)
            self.stage.start_node(name)
        wait_for(lambda: len(self._owned()) == len(others) + 1, PATIENCE)

    # What came of them

    def _recovered(self, what: str, shards: list[int], at: float, within: float) -> None:
        """The longest silence of these shards after the fault."""
        silence = max(self._silence(shard, at) for shard in shards)
        self.table.most(f"{what}: seconds until its shards ask again", silence, within)
        rate = sum(self.stage.allotted()[shard] for shard in shards)
        self.allowed_twice += np.ceil(rate * (FLUSH + CLUSTER.fetch_seconds))

    def _silence(self, shard: int, at: float) -> float:
        """Seconds to the first request of an owner that began after the fault; or that went on through it."""

        def asked() -> float | None:
            taken = [
                row["at"] for row in self.stage.audit() if row["shard"] == shard and row["owner"] and row["at"] > at
            ]
            since = taken[0] if taken else at + CLUSTER.margin
            later = (v.at for v in self.stage.visits() if v.at > since and self.stage.shard_of(v.host) == shard)
            return next(later, None)

        wait_for(lambda: asked() is not None, PATIENCE, 0.25)
        return float(asked() or np.inf) - at

    def _busiest(self) -> int:
        return int(np.argmax(self.stage.allotted()))

    def _owned(self) -> dict[str, list[int]]:
        """Shards by machine."""
        owned = defaultdict(list)
        for shard, owner in self.stage.owners().items():
            owned[owner.partition("/")[0]].append(shard)
        return owned

    def _node(self) -> tuple[str, list[int]]:
        """The machine with most shards, and which."""
        return max(self._owned().items(), key=lambda one: len(one[1]))

    def _coordinator(self) -> int | None:
        try:
            return self.stage.coordinator()
        except Exception:
            return None

    def _kill(self, pids: list[int]) -> None:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def _alive_again(self, name: str) -> None:
        """A machine that Ray gave up is started anew."""
        from mayfly.cluster.actors import live_nodes

        if name not in live_nodes():
            self.stage.signal_node(name, signal.SIGKILL)
            time.sleep(1.0)
            self.stage.start_node(name)


def judged(trial: Trial, stage: Stage, table: Table, since: float) -> None:
    """All of the log, whatever the faults were."""
    stage.clock.stopped_at = time.time()
    read = stage.pages().baselines()
    trace = stage.web.trace
    born = np.array([read.get(host, np.inf) <= at < stage.clock.stopped_at for host, at in
                     zip(stage.pages().host_of, trace.published, strict=True)])  # fmt: skip
    with contextlib.suppress(TimeoutError):
        wait_for(lambda: bool(np.isfinite(stage.pages().fetched_at()[born]).all()), PATIENCE)
    lost = int((~np.isfinite(stage.pages().fetched_at()[born])).sum())
    visits = [Visit(v.at, v.ended or v.at, v.host, v.target, v.status) for v in stage.visits()]
    if lost:
        explain(stage, np.flatnonzero(born & ~np.isfinite(stage.pages().fetched_at())))
    table.say("pages published while it crawled", int(born.sum()))
    table.most("pages lost", lost, 0)
    table.most("pages fetched twice", len(stage.pages().twice_by_page()), int(trial.allowed_twice))
    table.most("pauses of a site under its delay", len(too_short(visits, DELAY)), 0)
    table.say("  the shortest", shortest_pause(visits))
    table.most("requests by who was not the owner of the site", len(strangers(stage)), 0)
    table.most("most requests in any 60 s", most_within(visits, 60.0), int(1.02 * 60 * BUDGET + 1))
    table.least("requests per second where nothing broke, of the budget", steady(visits, trial, since), 0.95)


def explain(stage: Stage, pages: Any) -> None:
    """What the store knows of pages nobody fetched."""

    async def look() -> None:
        trace = stage.web.trace
        async with PostgresStore(stage.url, read_only=True, shards=SHARDS) as store:
            crawled = {source.url: (source.crawls, source.last_crawl) for source in await store.sources()}
            waits = await store._read(lambda database: database.execute(_WAIT).fetchall())
            print("shard, waiting pages in the database, and as it says itself:", waits)
            for page in pages[:12]:
                kept = await store.page_at(trace.page_urls[page])
                on = [trace.source_urls[source] for source in trace.link_source[trace.link_page == page]]
                print(trace.page_urls[page], trace.published[page], kept and (kept.outcome, kept.reason))
                print("   ", [(url, crawled.get(url)) for url in on])

    run(look())


def strangers(stage: Stage) -> list[Any]:
    """Requests to a site from another machine than that of the owner of its shard at that moment, or with none."""
    times, owners = defaultdict(list), defaultdict(list)
    for row in stage.audit():
        times[row["shard"]].append(row["at"])
        owners[row["shard"]].append(row["owner"].partition("/")[0])
    named = {node.ip: node.name for node in stage.running.nodes}
    found = []
    for visit in stage.visits():
        shard = stage.shard_of(visit.host)
        place = bisect.bisect_right(times[shard], visit.at) - 1
        if place < 0 or owners[shard][place] != named.get(visit.client):
            found.append((visit.at, visit.host, visit.client, owners[shard][place] if place >= 0 else ""))
    return found


def steady(visits: list[Visit], trial: Trial, since: float) -> float:
    """The rate in the times between faults, against the budget."""
    edges = [since, *(moment for pair in trial.disturbed for moment in pair), visits[-1].at]
    spans = [(a + 1, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a > 4][: len(trial.disturbed)]
    spent = sum(sum(a <= visit.at < b for visit in visits) for a, b in spans)
    return spent / sum(b - a for a, b in spans) / BUDGET


_WAIT = (
    "SELECT shard, (SELECT count(*) FROM pages WHERE pages.shard = reports.shard AND outcome = 'waiting'), waiting"
    " FROM reports ORDER BY shard"
)
FAULTS = ("actor", "node", "coordinator", "asleep", "database", "cut", "priceless", "rolling", "shrunk")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", default=FAULTS, metavar="FAULT", help=", ".join(FAULTS))
    parser.add_argument("--times", type=int, default=5, help="of each")
    parser.add_argument("--once", action="store_true", help="each once, and a shorter minute: for CI")
    asked = parser.parse_args()
    if "FAULTS_INSIDE" not in os.environ:
        return in_namespaces(sys.argv)
    times, minute = (1, 15.0) if asked.once else (asked.times, 60.0)
    table = Table(f"faults of a cluster: {SHARDS} shards, 3 machines, {BUDGET:g} requests/s, lease {CLUSTER.lease:g} s")
    began = time.time()
    with Stage({"budget": BUDGET, "host_delay": DELAY}, CLUSTER, HOSTS) as stage:
        wait_for(lambda: len(stage.owners()) == SHARDS, PATIENCE)
        table.say("seconds until all shards crawl", time.time() - began)
        wait_for(stage.baselined, 120.0)
        table.say("seconds until all sources were read once", time.time() - began)
        since = time.time()
        trial = Trial(stage, table, minute)
        for fault in asked.faults:
            trial.run(fault, times)
        judged(trial, stage, table, since)
        if not table.ok:
            for row in strangers(stage)[:10]:
                print(row)
    table.say("seconds in all", time.time() - began)
    return 0 if table.ok else 1


if __name__ == "__main__":
    sys.exit(main())
