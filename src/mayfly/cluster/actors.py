"""What Ray runs: an actor a shard, and the coordinator. Ray restarts them; they hold nothing that is not in the store.

Ray's own loop for such actors is uvloop where that is installed. An actor whose work fails ends its process, and Ray
starts it again; one that was stopped stays, and says so, until whoever stopped it takes it away.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import sys
import time
from collections.abc import Coroutine
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from mayfly.cluster.coordinator import Coordinator
from mayfly.cluster.ledger import Ledger
from mayfly.cluster.nodes import RESOURCE
from mayfly.cluster.placement import Placement
from mayfly.cluster.settings import ClusterSettings
from mayfly.cluster.shard import Shard
from mayfly.core.model import Seconds
from mayfly.crawl.settings import Settings
from mayfly.errors import RunError

NAMESPACE = "mayfly"
COORDINATOR = "coordinator"
STOPPED = ""  # where an actor is whose work has been stopped
_PREFIX = "shard-"
_ANSWER_WITHIN: Seconds = 3.0
_COORDINATOR_WITHIN: Seconds = 30.0
_BREATH: Seconds = 0.5  # before an actor that failed ends, so that one that always fails does not spin
_S = TypeVar("_S", Settings, ClusterSettings)
log = logging.getLogger("mayfly")


@dataclass(frozen=True, slots=True)
class Orders:
    """All an actor must know; nodes have no home of their own. It goes over the wire by name, for in the middle of an
    upgrade one side may know settings that the other does not."""

    home: Path
    settings: Settings
    cluster: ClusterSettings

    def told(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def heard(cls, told: dict[str, Any]) -> Orders:
        """What this side knows of it; the rest is as by default."""
        return cls(told["home"], _known(Settings, told["settings"]), _known(ClusterSettings, told["cluster"]))


class ShardActor:
    """One shard, in a process of its own."""

    def __init__(self, told: dict[str, Any], number: int) -> None:
        _log_to_stderr()
        orders = Orders.heard(told)
        orders.home.mkdir(parents=True, exist_ok=True)
        self._node = _this_node()
        owner = f"{self._node}/{os.getpid()}-{secrets.token_hex(4)}"  # never the same twice
        self._shard = Shard(orders.home, orders.settings, orders.cluster, number, owner)
        self._work = _work("the shard", self._shard.run())

    async def where(self) -> str:
        """The node it runs on; `STOPPED` once it was stopped."""
        return STOPPED if self._work.done() else self._node

    async def status(self) -> dict[str, Any]:
        """What the shard says of itself, and its process."""
        return {**self._shard.status(), "node": self._node, "pid": os.getpid()}

    async def stop(self) -> None:
        """Land what is in the air and give the lease back."""
        await self._shard.stop()
        await asyncio.wait({self._work})


class CoordinatorActor:
    """The price for all shards, and their places."""

    def __init__(self, told: dict[str, Any]) -> None:
        _log_to_stderr()
        self._orders = orders = Orders.heard(told)
        self._coordinator = Coordinator(orders.settings, orders.cluster)
        self._fleet = RayFleet(orders)
        self._work = [_work("the price", self._coordinator.run()), _work("placement", self._place())]

    async def status(self) -> dict[str, Any]:
        """Where it runs, and where the shards do."""
        return {"node": _this_node(), "pid": os.getpid(), "placed": await self._fleet.seen()}

    async def stop(self) -> None:
        """Make no more prices and moves."""
        self._work[1].cancel()
        await self._coordinator.stop()
        await asyncio.wait(self._work)

    async def _place(self) -> None:
        async with Ledger(self._orders.settings.store) as ledger:
            await Placement(self._fleet, ledger, self._orders.cluster.shards).run()


class RayFleet:
    """The shards as named actors, found again by their names: so a new coordinator makes no twins."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._actors: dict[int, Any] = {}

    async def nodes(self) -> dict[str, str]:
        """Ray's number of every live node that takes shards, by its name."""
        return await asyncio.to_thread(live_nodes)

    async def placed(self) -> dict[int, str | None]:
        """The node of every shard that has an actor; one that was stopped and left behind is taken away here."""
        told = await self._told()
        for number in [number for number, node in told.items() if node == STOPPED]:
            await self._forget(number)
            del told[number]
        return told

    async def seen(self) -> dict[int, str | None]:
        """The same, and nothing is done about it."""
        return {number: node for number, node in (await self._told()).items() if node != STOPPED}

    async def _told(self) -> dict[int, str | None]:
        numbers = await asyncio.to_thread(running_shards)
        return dict(zip(numbers, await asyncio.gather(*map(self._where, numbers)), strict=True))

    async def create(self, shard: int, node: str) -> None:
        """Start a shard, on this node or, if that is gone, on any."""
        await asyncio.to_thread(_create_shard, self._orders, shard, node)

    async def retire(self, shard: int) -> None:
        """Stop a shard and take its actor away. One that does not answer is taken away too: its lease will end."""
        from ray.exceptions import RayError

        with contextlib.suppress(ValueError, RayError, TimeoutError):  # gone, ended, silent
            await asyncio.wait_for((await self._actor(shard)).stop.remote(), self._orders.cluster.lease)
        await self._forget(shard)

    async def _where(self, shard: int) -> str | None:
        from ray.exceptions import RayError

        try:
            return str(await asyncio.wait_for((await self._actor(shard)).where.remote(), _ANSWER_WITHIN))
        except (ValueError, RayError, TimeoutError):
            self._actors.pop(shard, None)
            return None

    async def _actor(self, shard: int) -> Any:
        import ray

        if shard not in self._actors:
            self._actors[shard] = await asyncio.to_thread(ray.get_actor, shard_name(shard), NAMESPACE)
        return self._actors[shard]

    async def _forget(self, shard: int) -> None:
        self._actors.pop(shard, None)
        await asyncio.to_thread(_remove, shard_name(shard))


def shard_name(number: int) -> str:
    """As Ray knows a shard.

    >>> shard_name(7)
    'shard-007'
    """
    return f"{_PREFIX}{number:03d}"


def running_shards() -> list[int]:
    """Numbers of the shards that have an actor."""
    from ray.util import list_named_actors

    names = [str(one["name"]) for one in list_named_actors(all_namespaces=True) if one["namespace"] == NAMESPACE]
    return sorted(int(name.removeprefix(_PREFIX)) for name in names if name.startswith(_PREFIX))


def live_nodes() -> dict[str, str]:
    """Ray's number of every live node that takes shards, by its name."""
    import ray

    nodes = [one for one in ray.nodes() if one["Alive"] and one["Resources"].get(RESOURCE)]
    return {str(one["NodeName"]): str(one["NodeID"]) for one in nodes}


def places() -> dict[int, str | None]:
    """Where the coordinator sees the shards; it is waited for, as it may be starting again."""
    import ray
    from ray.exceptions import RayError

    until = time.monotonic() + _COORDINATOR_WITHIN
    while True:
        try:
            told = ray.get(ray.get_actor(COORDINATOR, NAMESPACE).status.remote(), timeout=_COORDINATOR_WITHIN)
            return dict(told["placed"])
        except (ValueError, RayError, TimeoutError) as error:
            if time.monotonic() > until:
                raise RunError(f"the coordinator does not answer ({error}); mayfly cluster up starts it anew") from None
            time.sleep(_BREATH)


def start_coordinator(orders: Orders) -> Any:
    """A coordinator with these orders in place of the one that runs, which may be down for a moment as well."""
    import ray

    _remove(COORDINATOR)
    options = _options(COORDINATOR, share=0.001)
    return ray.remote(CoordinatorActor).options(**options).remote(orders.told())


def coordinator_lives() -> bool:
    """Whether there is one, be it that Ray starts it again."""
    import ray

    try:
        return ray.get_actor(COORDINATOR, NAMESPACE) is not None
    except ValueError:
        return False


def stop_shards(patience: Seconds) -> None:
    """Let all shards land what is in the air and give their leases back, and take them away."""
    import ray

    shards = [ray.get_actor(shard_name(number), NAMESPACE) for number in running_shards()]
    if shards:
        ray.wait([shard.stop.remote() for shard in shards], num_returns=len(shards), timeout=patience)
    for shard in shards:
        ray.kill(shard, no_restart=True)


def remove_coordinator() -> None:
    """No coordinator any more: nothing is created or moved, and the last prices hold."""
    import ray
    from ray.exceptions import RayError

    with contextlib.suppress(ValueError, RayError, TimeoutError):  # else the next waits until the lease of this is over
        ray.get(ray.get_actor(COORDINATOR, NAMESPACE).stop.remote(), timeout=_ANSWER_WITHIN)
    _remove(COORDINATOR)


def _create_shard(orders: Orders, number: int, node: str) -> None:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    near = NodeAffinitySchedulingStrategy(node, soft=True)
    options = _options(shard_name(number), share=1) | {"scheduling_strategy": near}
    ray.remote(ShardActor).options(**options).remote(orders.told(), number)


def _options(name: str, share: float) -> dict[str, Any]:
    return {
        "name": name, "namespace": NAMESPACE, "lifetime": "detached", "get_if_exists": True,
        "max_restarts": -1, "num_cpus": 0, "resources": {RESOURCE: share},
    }  # fmt: skip


def _remove(name: str) -> None:
    import ray

    with contextlib.suppress(ValueError):  # there is none
        ray.kill(ray.get_actor(name, NAMESPACE), no_restart=True)


def _known(kind: type[_S], told: dict[str, Any]) -> _S:
    return kind(**{one.name: told[one.name] for one in fields(kind) if one.name in told})


def _work(name: str, running: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """The actor's own work. If it fails the process ends, and Ray starts another."""

    async def work() -> None:
        try:
            await running
        except Exception:
            log.exception("%s failed; the process ends, to be started again", name)
            await asyncio.sleep(_BREATH)
            os._exit(1)

    return asyncio.get_running_loop().create_task(work())


def _this_node() -> str:
    import ray

    own = ray.get_runtime_context().get_node_id()
    return next((str(one["NodeName"]) for one in ray.nodes() if one["NodeID"] == own), str(own))


def _log_to_stderr() -> None:
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.INFO, stream=sys.stderr)
