"""What a cluster does when things break, judged from the origin server's log: `make faults`, or with --once.

A crawl of the test web on three machines (`faults_stage.py`); then, one after the other: kill -9 of an actor, of a
machine, of the coordinator; a machine that stands still for longer than its lease and wakes up; the coordinator
still for a minute; PostgreSQL restarted, and away for longer than the lease; the network cut between a machine and the
database; Ray's head killed. And what people do: every machine emptied and upgraded in turn; from three machines to one,
and back. In the end nothing is published any more, and what was must have been fetched.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections import defaultdict
from typing import IO

import numpy as np
from faults_judge import PACED_AFTER, SETTLE, Broken, judged, silence
from faults_outside import LOG, watched
from faults_stage import Stage, wait_for
from live_judge import Table

from mayfly.cluster.settings import ClusterSettings

BUDGET, DELAY, SHARDS, HOSTS = 20.0, 0.3, 5, 12
CLUSTER = ClusterSettings(shards=SHARDS, lease=5.0, margin=2.0, fetch_seconds=1.5, price_every=1.0)
AWAY = CLUSTER.lease + 3  # longer than the lease
FLUSH = 0.2
QUIET, QUIET_ONCE = 6.0, 4.5  # seconds of plain crawling between two faults,
STEADY = 12.0  # and before the first
PATIENCE = 60.0
ONCE_WITHIN = 300.0  # seconds


class Trial:
    """One stage, some faults, and what came of each."""

    def __init__(self, stage: Stage, table: Table, minute: float, quiet: float) -> None:
        self.stage, self.table, self.minute, self.quiet = stage, table, minute, quiet
        self.broken: list[Broken] = []
        self.open: list[Broken] = []  # whose silence is not told yet
        self.disturbed: list[tuple[float, float]] = []  # times in which less than the budget may be spent

    def run(self, name: str, times: int) -> None:
        for _ in range(times):
            self.calm()
            began, faults = time.time(), len(self.broken)
            getattr(self, name)()
            if name not in HARMLESS:
                self.disturbed.append((began, time.time() + PACED_AFTER))
            self.open = self.broken[faults:]

    def calm(self) -> None:
        """Wait until all is well, and a little; then say for how long the shards that were hit have been silent."""
        wait_for(lambda: len(self.stage.owners()) == SHARDS, PATIENCE)
        time.sleep(self.quiet)
        for fault in self.open:
            longest = max(silence(self.stage, shard, fault.clock, time.time()) for shard in fault.shards)
            what = f"{fault.what}: longest silence, s"
            self.table.say(what, longest) if fault.within is None else self.table.most(what, longest, fault.within)
        self.open = []

    # Faults

    def actor(self) -> None:
        shard = self._busiest()
        pid = self.stage.actor(shard)
        fault = self._breaks("an actor killed", [shard], CLUSTER.lease + 3)
        os.kill(pid, signal.SIGKILL)
        self._recovered(fault, taken=True)

    def node(self) -> None:
        name, shards = self._node()
        fault = self._breaks(f"{name} killed", shards, CLUSTER.lease + 8)
        self.stage.signal_node(name, signal.SIGKILL)
        self._recovered(fault, taken=True)
        self.stage.start_node(name)

    def coordinator(self) -> None:
        pid = self.stage.coordinator()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: self._coordinator() not in (None, pid), PATIENCE)

    def asleep(self) -> None:
        """A machine stands still for longer than the lease, and wakes up as if nothing had been."""
        name, shards = self._node()
        fault = self._breaks(f"{name} asleep", shards, CLUSTER.lease + 8)
        self.stage.signal_node(name, signal.SIGSTOP)
        self._recovered(fault, taken=True)
        time.sleep(max(fault.begin + 16 - time.time(), 1.0))
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
        """PostgreSQL is restarted, as for an upgrade."""
        self._without_database(signal.SIGINT, 1.0)

    def outage(self) -> None:
        """PostgreSQL dies, and is away for longer than the lease."""
        self._without_database(signal.SIGQUIT, AWAY)

    def cut(self) -> None:
        name, shards = self._node()
        fault = self._breaks(f"{name} cut off, once mended", shards, CLUSTER.lease + 8)
        self.stage.cut(name)
        time.sleep(max(0.0, fault.begin + AWAY - time.time()))
        asked = [v.at for v in self.stage.visits() if v.at > fault.begin and self.stage.shard_of(v.host) in shards]
        self.table.most(f"{name} cut off: it asks on for, s", max([fault.begin, *asked]) - fault.begin, CLUSTER.lease)
        fault.clock = time.time()
        self.stage.mend(name)
        self._recovered(fault)

    def head(self) -> None:
        """Ray's head is killed, and after a while every machine's Ray gives up; all of it is started again."""
        fault = self._breaks("head killed, once Ray is back", list(range(SHARDS)), None)
        self.table.say("head killed: seconds until no node was left", self.stage.kill_head())
        self.stage.start_ray()
        fault.clock = time.time()
        self._recovered(fault, taken=True)

    def rolling(self) -> None:
        """Every machine in turn is emptied, ended and started again, as for an upgrade."""
        drains = [self.stage.drain_by_command, self.stage.drain, self.stage.drain]  # a command takes its time to start
        for name, drain in zip(list(self._owned()), drains, strict=True):
            drain(name)
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
        time.sleep(self.quiet)
        for name in others:
            self.stage.undrain(name)
            self.stage.start_node(name)
        wait_for(lambda: len(self._owned()) == len(others) + 1, PATIENCE)

    def _without_database(self, how: signal.Signals, seconds: float) -> None:
        what = f"PostgreSQL away for {seconds:g} s, once it is back"
        fault = self._breaks(what, list(range(SHARDS)), CLUSTER.lease + 8)
        self.stage.database.stop(how)
        time.sleep(seconds)
        self.stage.database.start()
        fault.clock = time.time()
        self._recovered(fault)

    # What comes of them

    def _breaks(self, what: str, shards: list[int], within: float | None) -> Broken:
        """Called just before: what the shards fetch may be fetched again as far as it was not committed."""
        epochs, rate = self.stage.epochs(), sum(self.stage.allotted()[shard] for shard in shards)
        self.broken.append(Broken(what, shards, epochs, int(np.ceil(rate * (FLUSH + CLUSTER.fetch_seconds))), within))
        return self.broken[-1]

    def _recovered(self, fault: Broken, taken: bool = False) -> None:
        """Wait until every shard has been asked for under a lease renewed since, or `taken` by another."""
        fault.clock = fault.clock or fault.begin

        def asked(shard: int) -> bool:
            least = fault.epochs[shard] + taken
            rows = [row for row in self.stage.audit(fault.clock) if row["shard"] == shard]
            since = min((row["at"] for row in rows if row["owner"] and row["epoch"] >= least), default=np.inf)
            return any(v.at > since and self.stage.shard_of(v.host) == shard for v in self.stage.visits())

        with contextlib.suppress(TimeoutError):  # its silence will show it
            wait_for(lambda: all(map(asked, fault.shards)), PATIENCE, 0.25)
        fault.end = time.time() + SETTLE

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

    def _alive_again(self, name: str) -> None:
        """A machine that Ray gave up is started anew."""
        from mayfly.cluster.actors import live_nodes

        if name not in live_nodes():
            self.stage.signal_node(name, signal.SIGKILL)
            time.sleep(1.0)
            self.stage.start_node(name)


FAULTS = (
    "actor", "node", "coordinator", "asleep", "database", "outage", "cut", "priceless", "rolling", "shrunk", "head",
)  # fmt: skip
HARMLESS = ("coordinator", "priceless")  # all of the budget is spent none the less
NOT_ONCE = ("database", "head")  # one is like another, the other takes minutes
ONCE = ("priceless", *(fault for fault in FAULTS if fault not in ("priceless", *NOT_ONCE)))  # that first: a calm minute


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=", ".join(FAULTS))
    parser.add_argument("--times", type=int, default=5, help="of each")
    parser.add_argument(
        "--once", action="store_true", help=f"each but {' and '.join(NOT_ONCE)} once, and a shorter minute: for CI"
    )
    asked = parser.parse_args()
    if "FAULTS_INSIDE" not in os.environ:
        return watched(sys.argv, ONCE_WITHIN if asked.once else None)
    faults = asked.faults or list(ONCE if asked.once else FAULTS)
    times, minute, quiet = (1, 15.0, QUIET_ONCE) if asked.once else (asked.times, 60.0, QUIET)
    return tried(faults, times, minute, quiet, _apart())


def tried(faults: list[str], times: int, minute: float, quiet: float, file: IO[str]) -> int:
    """All of these; the exit status."""
    title = f"faults of a cluster: {SHARDS} shards, 3 machines, {BUDGET:g} requests/s, lease {CLUSTER.lease:g} s"
    table, began = Table(title, file), time.time()
    with Stage({"budget": BUDGET, "host_delay": DELAY, "other_hosts": 1.0}, CLUSTER, HOSTS, others=True) as stage:
        wait_for(lambda: len(stage.owners()) == SHARDS, PATIENCE)
        table.say("seconds until all shards crawl", time.time() - began)
        wait_for(stage.baselined, 120.0)
        table.say("seconds until all sources were read once", time.time() - began)
        since = time.time() + PACED_AFTER
        trial = Trial(stage, table, minute, quiet)
        time.sleep(STEADY)
        for fault in faults:
            trial.run(fault, times)
        if trial.open:
            trial.calm()
        judged(stage, table, trial.broken, trial.disturbed, since, DELAY, BUDGET)
    return 0 if table.ok else 1


def _apart() -> IO[str]:
    """What standard output was. From now on it is the log, for Ray tells its drivers of every trouble."""
    shown = os.fdopen(os.dup(1), "w")
    log = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND)
    for standard in (1, 2):
        os.dup2(log, standard)
    return shown


if __name__ == "__main__":
    sys.exit(main())
