"""What is shown of a cluster: its nodes, its shards, and the budget against what is spent."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mayfly.cluster.ledger import Dealt, ShardRow
from mayfly.cluster.placement import EVERYWHERE
from mayfly.core.model import PerSecond, Seconds

STOPPED, DRAINING, GONE, RUNNING, UNKNOWN = "stopped", "draining", "gone", "running", "unknown"


@dataclass(frozen=True, slots=True)
class NodeShown:
    """A node: how many shards it holds a lease for, and what they do."""

    name: str
    state: str
    shards: int
    rate: PerSecond
    waiting: int


@dataclass(frozen=True, slots=True)
class Overview:
    """All of it, as of one look at the database."""

    budget: PerSecond
    rate: PerSecond
    price: float
    priced_ago: Seconds  # the coordinator's last round
    coordinator: str  # its node and process; empty: none deals, and the last allotments hold
    lag: Seconds  # the longest an event loop was late since its shard's last report
    nodes: tuple[NodeShown, ...]
    orphans: tuple[int, ...]  # shards that nobody owns now
    shards: tuple[ShardRow, ...]
    ray: bool = True  # whether it answers

    def told(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def overview(
    rows: Sequence[ShardRow], live: Collection[str] | None, draining: Collection[str], dealt: Dealt
) -> Overview:
    """What the rows say, by node. A lease that has run out is nobody's, and its rate is nothing.

    `live`: the nodes Ray has; None: it does not answer.
    """
    owned = [row for row in rows if row.owner and row.lease_left > 0]
    names = sorted({*(live or ()), *(node_of(row) for row in owned), *(set(draining) - {EVERYWHERE})})
    return Overview(
        budget=dealt.budget,
        rate=sum(row.rate for row in owned),
        price=dealt.price,
        priced_ago=dealt.ago,
        coordinator=dealt.coordinator,
        lag=max((row.lag for row in owned), default=0.0),
        nodes=tuple(_shown(name, owned, live, draining) for name in names),
        orphans=tuple(row.number for row in rows if row not in owned),
        shards=tuple(rows),
        ray=live is not None,
    )


def node_of(row: ShardRow) -> str:
    """The node of a shard's owner: owners are named NODE/PROCESS."""
    return row.owner.rpartition("/")[0] or row.owner


def _shown(name: str, owned: Sequence[ShardRow], live: Collection[str] | None, draining: Collection[str]) -> NodeShown:
    own = [row for row in owned if node_of(row) == name]
    return NodeShown(
        name, _state(name, live, draining), len(own), sum(row.rate for row in own), sum(row.waiting for row in own)
    )


def _state(name: str, live: Collection[str] | None, draining: Collection[str]) -> str:
    if live is None:
        return UNKNOWN
    if name not in live:
        return GONE
    return STOPPED if EVERYWHERE in draining else DRAINING if name in draining else RUNNING
