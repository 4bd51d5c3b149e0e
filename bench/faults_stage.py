"""A cluster of three machines on one: a network namespace each, joined by a bridge, with PostgreSQL, the test web and
Ray's head beside them. All of it runs within namespaces of its own, so nothing of it is seen outside or outlives it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults_sites import Others

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
CREATE TABLE audit (
    at float8 NOT NULL, shard integer NOT NULL, owner text NOT NULL, epoch bigint NOT NULL, until float8 NOT NULL
);
CREATE FUNCTION audited() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO audit VALUES (
        extract(epoch FROM clock_timestamp()), new.shard, new.owner, new.epoch, extract(epoch FROM new.until)
    );
    RETURN new;
END $$;
CREATE TRIGGER audited AFTER UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION audited();
"""  # every change of owner, and every renewal
_SILENT = "import socket, sys; socket.create_connection((sys.argv[1], 5432), 1.0)"


def begun_in_namespaces(words: list[str], **more: str) -> subprocess.Popen[bytes]:
    """This program again, in namespaces of its own, with more in its environment."""
    inside = ["sh", "-c", 'mount -t tmpfs none /run/netns 2>/dev/null; ip link set lo up && exec "$@"', "sh"]
    Path("/run/netns").mkdir(exist_ok=True)
    told = {name: value for name, value in os.environ.items() if not name.startswith(("MAYFLY_", "RAY_"))}
    return subprocess.Popen([*UNSHARE, *inside, sys.executable, *words], env=told | {"FAULTS_INSIDE": "1"} | more)


def in_namespaces(words: list[str]) -> int:
    """The same to its end; its exit status."""
    return begun_in_namespaces(words).wait()


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
        others: bool = False,
    ) -> None:
        """`others`: beside newspapers there are sites whose pages change hands, and slow ones (`faults_sites.py`)."""
        self.cluster, self.machines, self.latency = cluster, machines, latency
        self.clock = FrozenClock()
        self.web = Web(
            seed=3,
            factor=FACTOR,
            shape=small_shape(hosts, days=30.0, pages_per_day=60),
            head_start=DAY / 4 if others else DAY,  # what is there before is fetched, too, and takes its time
            clock=self.clock,
        )
        self.others = Others(self.web.trace, cluster.shards, self.clock(), self.clock) if others else None
        self.trace = self.others.trace if self.others else self.web.trace
        self.names = {address(name): name for name in (f"node-{number}" for number in range(1, machines + 1))}
        self.home = Path(tempfile.mkdtemp(prefix="faults-"))
        self._more = settings
        self.began = time.time()

    def __enter__(self) -> Stage:
        _network(self.machines)
        self.database = Postgres(DATABASE, settings=())
        self.database.start()
        self.url = self.database.create("crawl")
        sites = {**self.web.sites, **(self.others.sites if self.others else {})}
        self._served = in_thread(Server(sites, addresses=(HUB,), within=NETWORK, latency=self.latency))
        self.server = self._served.__enter__()
        self.settings = Settings(
            **{
                "store": self.url, "allow_private_addresses": (NETWORK,), "connect_to": tuple(self.server.connect_to),
                "address_delay": 0.0, "replan": 5.0, "log_push": 3600.0, "warc": False, **self._more,
            }
        )  # fmt: skip
        run(self._open())
        self.start_ray()
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()
        if (running := nodes.local(self.home)) is not None:
            nodes.end(self.home, running)
        self._served.__exit__(None, None, None)
        self.database.end()
        shutil.rmtree(self.home, ignore_errors=True)

    def start_ray(self) -> None:
        """The head, all machines, and the coordinator, which starts the shards."""
        running = nodes.start(self.home, Node(nodes.HEAD, HUB))
        self.running = nodes.add(self.home, running, [Node(name, ip, name) for ip, name in self.names.items()])
        self._joined = joined(self.home, ClusterSettings())
        self._joined.__enter__()
        actors.start_coordinator(actors.Orders(self.home, self.settings, self.cluster))

    def _leave(self) -> None:
        self._joined.__exit__(None, None, None)

    async def _open(self) -> None:
        async with PostgresStore(self.url, shards=self.cluster.shards) as store:
            await store.add_hosts(time.time(), self.web.hosts)
            if self.others is not None:
                await store.add_sources(time.time(), self.others.sources)
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
        return Pages(self.trace, told)

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

    def audit(self, since: float = 0.0) -> list[Any]:
        """All that was ever written into a lease: when, by whom, and until when it holds."""

        async def look() -> list[Any]:
            async with Ledger(self.url) as ledger:
                return await ledger.line.rows("SELECT * FROM audit WHERE at > $1 AND shard >= 0 ORDER BY at", since)

        return run(look())

    def epochs(self) -> list[int]:
        async def look() -> list[int]:
            async with Ledger(self.url) as ledger:
                return [row.epoch for row in await ledger.shards()]

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

    def kill_head(self) -> float:
        """Ray's head dies with all it runs, and every other machine's Ray without it; seconds until the last had."""
        running = nodes.local(self.home)
        assert running is not None and running.nodes[0].process is not None
        self._leave()  # Ray ends drivers, too, that have lost their head
        for pid in running.nodes[0].process.family():
            os.kill(pid, signal.SIGKILL)
        return wait_for(lambda: not any(node.process and node.process.lives for node in running.workers), 150.0)

    def read_often(self, seconds: float, urls: set[str]) -> None:
        """Have these sources read at least so often from now on."""

        async def pin() -> None:
            async with PostgresStore(self.url, shards=self.cluster.shards) as store:
                for source in await store.sources():
                    if source.url in urls:
                        await store.pin(source.id, seconds)

        run(pin())

    def drain_by_command(self, name: str) -> None:
        """The same as a person does it."""
        words = ["cluster", "drain", name, "--home", str(self.home), "--store", self.url]
        _do(sys.executable, "-m", "mayfly", *words)

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
        """No packet of a machine reaches the database any more, and none is refused: they are sent to nobody."""
        nowhere = ["lladdr", "02:00:00:00:00:99", "dev", _card(name), "nud", "permanent"]
        _do("ip", "netns", "exec", name, "ip", "neigh", "replace", DATABASE, *nowhere)
        tried = ["ip", "netns", "exec", name, sys.executable, "-S", "-c", _SILENT, DATABASE]
        said = subprocess.run(tried, capture_output=True, text=True).stderr
        assert "TimeoutError" in said, f"the database is not silent: {said}"

    def mend(self, name: str) -> None:
        _do("ip", "netns", "exec", name, "ip", "neigh", "del", DATABASE, "dev", _card(name))


def address(name: str) -> str:
    return f"10.77.0.{10 + int(name.rpartition('-')[2])}"


def _card(name: str) -> str:
    return f"in{name.rpartition('-')[2]}"


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
        name, inside, outside = f"node-{number}", _card(f"node-{number}"), f"out{number}"
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
