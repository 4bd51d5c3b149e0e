"""A cluster of three machines on one: a network namespace each, joined by a bridge, with PostgreSQL, the test web and
Ray's head beside them. All of it runs within namespaces of its own, so nothing of it is seen outside or outlives it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mayfly.cluster import actors, nodes
from mayfly.cluster.joining import joined
from mayfly.cluster.ledger import Ledger
from mayfly.cluster.nodes import Node
from mayfly.cluster.settings import ClusterSettings
from mayfly.core.model import DAY
from mayfly.crawl.settings import Settings
from mayfly.store.postgres import PostgresStore
from mayfly.store.postgres_schema import shard_of
from mayfly.testing.postgres import Postgres
from mayfly.testing.server import Server, in_thread
from mayfly.testing.web import Web
from mayfly.testing.witness import Pages, Visit
from mayfly.testing.world import small_shape
from mayfly.urls import site_of

UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
NETWORK, HUB, DATABASE = "10.77.0.0/24", "10.77.0.1", "10.77.0.2"
FACTOR = 600.0  # seconds of the world in one of ours
_AUDIT = """
CREATE TABLE audit (at float8 NOT NULL, shard integer NOT NULL, owner text NOT NULL, epoch bigint NOT NULL);
CREATE FUNCTION audited() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO audit VALUES (extract(epoch FROM clock_timestamp()), new.shard, new.owner, new.epoch);
    RETURN new;
END $$;
CREATE TRIGGER audited AFTER UPDATE ON leases FOR EACH ROW
    WHEN (new.owner <> old.owner OR new.epoch <> old.epoch) EXECUTE FUNCTION audited();
"""


def in_namespaces(words: list[str]) -> int:
    """Run this program again in namespaces of its own; its exit status."""
    inside = ["sh", "-c", 'mount -t tmpfs none /run/netns 2>/dev/null; ip link set lo up && exec "$@"', "sh"]
    Path("/run/netns").mkdir(exist_ok=True)
    told = {name: value for name, value in os.environ.items() if not name.startswith(("MAYFLY_", "RAY_"))}
    return subprocess.run([*UNSHARE, *inside, sys.executable, *words], env=told | {"FAULTS_INSIDE": "1"}).returncode


class FrozenClock:
    """The wall's time, until it is stopped."""

    def __init__(self) -> None:
        self.stopped_at = float("inf")

    def __call__(self) -> float:
        return min(time.time(), self.stopped_at)


class Stage:
    """A crawl on three machines; a context manager."""

    def __init__(
        self,
        settings: dict[str, Any],
        cluster: ClusterSettings,
        hosts: int,
        machines: int = 3,
        latency: float = 0.0,
    ) -> None:
        self.cluster, self.machines, self.latency = cluster, machines, latency
        self.clock = FrozenClock()
        self.web = Web(
            seed=3,
            factor=FACTOR,
            shape=small_shape(hosts, days=30.0, pages_per_day=60),
            head_start=DAY,
            clock=self.clock,
        )
        self.home = Path(tempfile.mkdtemp(prefix="faults-"))
        self._more = settings
        self.began = time.time()

    def __enter__(self) -> Stage:
        _network(self.machines)
        self.database = Postgres(DATABASE, settings=())
        self.database.start()
        self.url = self.database.create("crawl")
        self._served = in_thread(Server(self.web.sites, addresses=(HUB,), within=NETWORK, latency=self.latency))
        self.server = self._served.__enter__()
        self.settings = Settings(
            **{
                "store": self.url, "allow_private_addresses": (NETWORK,), "connect_to": tuple(self.server.connect_to),
                "address_delay": 0.0, "replan": 5.0, "log_push": 3600.0, "warc": False, **self._more,
            }
        )  # fmt: skip
        run(self._open())
        running = nodes.start(self.home, Node(nodes.HEAD, HUB))
        names = [f"node-{number}" for number in range(1, self.machines + 1)]
        machines = [Node(name, address(name), name) for name in names]
        self.running = nodes.add(self.home, running, machines)
        self._joined = joined(self.home, ClusterSettings())
        self._joined.__enter__()
        actors.start_coordinator(actors.Orders(self.home, self.settings, self.cluster))
        return self

    def __exit__(self, *error: object) -> None:
        self._joined.__exit__(None, None, None)
        if (running := nodes.local(self.home)) is not None:
            nodes.end(self.home, running)
        self._served.__exit__(None, None, None)
        self.database.end()

    async def _open(self) -> None:
        async with PostgresStore(self.url, shards=self.cluster.shards) as store:
            await store.add_hosts(time.time(), self.web.hosts)
        async with Ledger(self.url) as ledger:
            await ledger.start(self.cluster.shards)
            await ledger.line.rows("SELECT 1")
            async with ledger.line.transaction() as connection:
                await connection.execute(_AUDIT)

    # What is seen

    def visits(self) -> list[Any]:
        """All requests the web has noted, by their start."""
        return sorted(self.server.journal.visits(), key=lambda visit: visit.at)

    def pages(self) -> Pages:
        told = [Visit(v.at, v.ended or v.at, v.host, v.target, v.status) for v in self.visits()]
        return Pages(self.web.trace, told)

    def shard_of(self, host: str) -> int:
        return shard_of(site_of(host), self.cluster.shards)

    def baselined(self) -> bool:
        """Whether all sources that were found have been read."""

        async def look() -> bool:
            async with PostgresStore(self.url, read_only=True, shards=self.cluster.shards) as store:
                hosts, sources = await store.hosts(), await store.sources()
            searched = all(host.found_at is not None for host in hosts)
            return searched and bool(sources) and all(one.crawls or one.state != "active" for one in sources)

        return bool(run(look()))

    def owners(self) -> dict[int, str]:
        """The node of each shard that is owned, and its process."""

        async def look() -> dict[int, str]:
            async with Ledger(self.url) as ledger:
                return {row.number: row.owner for row in await ledger.shards() if row.lease_left > 0 and row.owner}

        return run(look())

    def audit(self) -> list[Any]:
        async def look() -> list[Any]:
            async with Ledger(self.url) as ledger:
                return await ledger.line.rows("SELECT at, shard, owner, epoch FROM audit ORDER BY at")

        return run(look())

    def allotted(self) -> list[float]:
        async def look() -> list[float]:
            async with Ledger(self.url) as ledger:
                return [row.allotment for row in await ledger.shards()]

        return run(look())

    # What is done to it

    def actor(self, shard: int) -> int:
        """The process of a shard."""
        import ray

        told = ray.get(ray.get_actor(actors.shard_name(shard), actors.NAMESPACE).status.remote(), timeout=20)
        return int(told["pid"])

    def coordinator(self) -> int:
        import ray

        told = ray.get(ray.get_actor(actors.COORDINATOR, actors.NAMESPACE).status.remote(), timeout=20)
        return int(told["pid"])

    def signal_node(self, name: str, number: signal.Signals) -> None:
        """Send it to every process of a machine."""
        pids = [int(pid) for pid in _said("ip", "netns", "pids", name).split()]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def start_node(self, name: str) -> None:
        running = nodes.local(self.home)
        assert running is not None
        self.running = nodes.add(self.home, running, [Node(name, address(name), name)])

    def drain(self, name: str) -> None:
        """Let the shards of a machine move to others; comes back when none is there."""
        self._wish(name, True)
        wait_for(lambda: all(node not in (name, None) for node in actors.places().values()), 60.0)

    def undrain(self, name: str) -> None:
        self._wish(name, False)

    def _wish(self, name: str, on: bool) -> None:
        async def say() -> None:
            async with Ledger(self.url) as ledger:
                await ledger.set_draining(name, on)

        run(say())

    def cut(self, name: str) -> None:
        """No packet of a machine reaches the database any more; the rest of the network is as it was."""
        _do("ip", "netns", "exec", name, "ip", "route", "add", "blackhole", f"{DATABASE}/32")

    def mend(self, name: str) -> None:
        _do("ip", "netns", "exec", name, "ip", "route", "del", "blackhole", f"{DATABASE}/32")


def address(name: str) -> str:
    return f"10.77.0.{10 + int(name.rpartition('-')[2])}"


def wait_for(true: Callable[[], bool], within: float, every: float = 0.5) -> float:
    """Seconds until this was so."""
    begun = time.monotonic()
    while not true():
        if time.monotonic() - begun > within:
            raise TimeoutError(f"not within {within:g} s: {true}")
        time.sleep(every)
    return time.monotonic() - begun


def run(work: Any) -> Any:
    return asyncio.run(work)


def _network(machines: int) -> None:
    _do("ip", "link", "add", "hub", "type", "bridge")
    for own in (HUB, DATABASE):
        _do("ip", "addr", "add", f"{own}/24", "dev", "hub")
    _do("ip", "link", "set", "hub", "up")
    for number in range(1, machines + 1):
        name, inside, outside = f"node-{number}", f"in{number}", f"out{number}"
        _do("ip", "netns", "add", name)
        _do("ip", "link", "add", outside, "type", "veth", "peer", "name", inside)
        _do("ip", "link", "set", inside, "netns", name)
        _do("ip", "link", "set", outside, "master", "hub", "up")
        for words in (["addr", "add", f"{address(name)}/24", "dev", inside], ["link", "set", inside, "up"],
                      ["link", "set", "lo", "up"]):  # fmt: skip
            _do("ip", "netns", "exec", name, "ip", *words)


def _do(*words: str) -> None:
    subprocess.run(words, check=True)


def _said(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout
