"""Which shard runs on which node: one pure decision, and the loop that carries it out with Ray.

Ray itself starts again what died, wherever there is room; this only creates what is missing, empties nodes that are to
go, and evens out, one shard at a time. Nothing here is needed for safety: who owns a shard is decided in PostgreSQL. So
a coordinator may die between any two steps, and the next one goes on from what it finds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from mayfly.core.model import Seconds

EVERYWHERE = "*"  # as the name of a draining node: all shards are to stop
_LOOK_EVERY: Seconds = 1.0
_GONE = 5  # looks at which a node was not there: its drain is over
_SHARDS_A_SECOND = 100  # asked where they are, at most: an answer costs Ray a millisecond
log = logging.getLogger("mayfly")


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done now. Moves are (shard, node), one at most."""

    create: tuple[tuple[int, str], ...] = ()
    move: tuple[int, str] | None = None
    stop: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.create or self.move or self.stop)


def decide(
    shards: int, nodes: Collection[str], draining: Collection[str], placed: Mapping[int, str | None]
) -> Decision:
    """What brings each shard to one node, none to a draining one, and the nodes within one shard of each other.

    `placed` has the shards that have an actor; None for one that Ray is starting again, somewhere.

    >>> decide(3, ["a", "b"], [], {0: "a", 1: "a"}).create
    ((2, 'b'),)
    >>> decide(3, ["a", "b"], ["a"], {0: "a", 1: "b", 2: "b"}).move
    (0, 'b')
    """
    if EVERYWHERE in draining:
        return Decision(stop=tuple(sorted(placed)))
    counts = Counter({node: 0 for node in sorted(nodes) if node not in draining})
    if not counts:
        return Decision()  # nowhere to go: what runs goes on
    counts.update(node for node in placed.values() if node is not None and node in counts)
    create = []
    for shard in range(shards):
        if shard not in placed:
            create.append((shard, _emptiest(counts)))
            counts[create[-1][1]] += 1
    if create:
        return Decision(tuple(create))
    return Decision(move=_move(counts, placed, draining))


def _move(counts: Counter[str], placed: Mapping[int, str | None], draining: Collection[str]) -> tuple[int, str] | None:
    target = _emptiest(counts)
    known = {shard: node for shard, node in placed.items() if node is not None}
    leaving = [shard for shard, node in known.items() if node in draining]
    if leaving:  # also while others start or are too busy to answer: a node that is to go may be why
        return min(leaving), target
    if len(known) < len(placed):
        return None  # counts are not known
    lost = [shard for shard, node in known.items() if node not in counts]
    if lost:
        return min(lost), target
    fullest = max(counts, key=lambda node: counts[node])
    if counts[fullest] - counts[target] > 1:
        return min(shard for shard, node in known.items() if node == fullest), target
    return None


def _emptiest(counts: Counter[str]) -> str:
    return min(counts, key=lambda node: counts[node])


class Fleet(Protocol):
    """The shards as Ray runs them."""

    async def nodes(self) -> dict[str, str]:
        """Ray's number of every live node that takes shards, by its name."""

    async def placed(self) -> dict[int, str | None]:
        """The node of every shard that has an actor; None while Ray starts it again."""

    async def create(self, shard: int, node: str) -> None:
        """Start a shard that has no actor, on the node with this number or, if that is gone, on any."""

    async def retire(self, shard: int) -> None:
        """Let a shard land what is in the air and give its lease back; then its actor is gone."""


class Wishes(Protocol):
    """Where it is kept which nodes are to be emptied."""

    async def draining(self) -> set[str]: ...
    async def set_draining(self, node: str, on: bool) -> None: ...


class Placement:
    """Looks again and again, and does what `decide` says."""

    def __init__(self, fleet: Fleet, wishes: Wishes, shards: int) -> None:
        self._fleet, self._wishes, self._shards = fleet, wishes, shards
        self._pause = max(_LOOK_EVERY, shards / _SHARDS_A_SECOND)
        self._missed: Counter[str] = Counter()  # looks at which a node that is to be emptied was not there

    async def run(self) -> None:
        """Go on for ever; what fails is tried again, for the database and Ray may both be away for a while."""
        while True:
            try:
                busy = await self.step()
            except Exception as error:
                log.warning("placement: %s: %s; trying again", type(error).__name__, error)
                busy = False
            if not busy:
                await asyncio.sleep(self._pause)

    async def step(self) -> bool:
        """One look and what follows from it; whether there was something to do."""
        draining, nodes, placed = await self._wishes.draining(), await self._fleet.nodes(), await self._fleet.placed()
        await self._forget_gone(draining - nodes.keys() - {EVERYWHERE})
        found = decide(self._shards, nodes, draining, placed)
        await asyncio.gather(*(self._fleet.create(shard, nodes[node]) for shard, node in found.create))
        await asyncio.gather(*(self._fleet.retire(shard) for shard in found.stop))
        if found.move is not None:
            shard, node = found.move
            log.info("shard %d moves from %s to %s", shard, placed[shard], node)
            await self._fleet.retire(shard)
            await self._fleet.create(shard, nodes[node])
        return bool(found)

    async def _forget_gone(self, missing: set[str]) -> None:
        """A drain ends with its node: one that comes by that name again is another."""
        self._missed = Counter({node: self._missed[node] + 1 for node in missing})
        for node in [node for node in missing if self._missed[node] >= _GONE]:
            await self._wishes.set_draining(node, False)
