"""Which shard runs where: laws of the decision, and the loop that carries it out, on a fleet of paper."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.cluster.placement import EVERYWHERE, Placement, decide

NAMES = ["a", "b", "c", "d", "e"]
NODES = st.sets(st.sampled_from(NAMES), min_size=1)


@st.composite
def clusters(draw):
    """Some nodes, some of them to be emptied, and shards anywhere: also on nodes that are gone, or nowhere yet."""
    shards = draw(st.integers(1, 12))
    nodes, draining = draw(NODES), draw(st.sets(st.sampled_from(NAMES)))
    places = st.dictionaries(st.integers(0, shards - 1), st.sampled_from(NAMES))
    return shards, nodes, draining, draw(places)


class PaperFleet:
    """Nodes and shards as a dictionary; every call is kept."""

    def __init__(self, nodes, placed) -> None:
        self._nodes, self.at, self.did = nodes, dict(placed), []

    async def nodes(self):
        return {node: f"id-{node}" for node in self._nodes}

    async def placed(self):
        return dict(self.at)

    async def create(self, shard, node):
        assert shard not in self.at, "a twin"
        self.at[shard] = node.removeprefix("id-")
        self.did.append(("create", shard))

    async def retire(self, shard):
        del self.at[shard]
        self.did.append(("retire", shard))


class Wishes:
    def __init__(self, draining) -> None:
        self._draining = draining

    async def draining(self):
        return set(self._draining)

    async def set_draining(self, node, on):
        assert not on
        self._draining = self._draining - {node}


def settle(shards, nodes, draining, placed) -> tuple[PaperFleet, int]:
    """Step until there is nothing to do; and how many steps that took."""
    fleet = PaperFleet(nodes, placed)
    placement = Placement(fleet, Wishes(draining), shards)

    async def go() -> int:
        steps = 0
        while await placement.step():
            steps += 1
            assert steps <= 2 * shards + 1, "it goes in circles"
        return steps

    return fleet, asyncio.run(go())


@given(clusters())
def test_all_shards_find_a_place_and_the_nodes_are_even(cluster) -> None:
    shards, nodes, draining, placed = cluster
    fleet, _ = settle(*cluster)
    usable = nodes - draining
    if not usable:
        assert fleet.at == placed and not fleet.did
        return
    assert fleet.at.keys() == set(range(shards)) and set(fleet.at.values()) <= usable
    counts = Counter(fleet.at.values())
    assert max(counts[node] for node in usable) - min(counts[node] for node in usable) <= 1


@given(clusters())
def test_no_shard_moves_that_need_not(cluster) -> None:
    shards, nodes, draining, placed = cluster
    fleet, _ = settle(*cluster)
    usable = nodes - draining
    if usable:
        moved = sum(what == "retire" for what, _ in fleet.did)
        leaving = sum(node not in usable for node in placed.values())
        most = -(-shards // len(usable))
        surplus = sum(max(0, count - most) for node, count in Counter(placed.values()).items() if node in usable)
        assert leaving + surplus <= moved <= leaving + surplus + len(usable)


@given(clusters())
def test_one_move_at_a_time_and_while_something_starts_only_from_nodes_that_are_to_go(cluster) -> None:
    shards, nodes, draining, placed = cluster
    found = decide(*cluster)
    assert not (found.move and found.create)
    assert {shard for shard, _ in found.create} in (set(), set(range(shards)) - placed.keys())
    if placed:
        starting = {**placed, min(placed): None}
        move = decide(shards, nodes, draining, starting).move
        leaving = placed.keys() == set(range(shards)) and [one for one in starting if starting[one] in draining]
        assert (move is not None) == bool(leaving and nodes - draining)
        assert move is None or starting[move[0]] in draining


@given(clusters())
def test_a_node_that_comes_back_is_given_its_share(cluster) -> None:
    shards, nodes, _, placed = cluster
    before, _ = settle(shards, nodes, set(), placed)
    fewer, _ = settle(shards, nodes, {min(nodes)}, before.at)
    after, _ = settle(shards, nodes, set(), fewer.at)
    counts = Counter(after.at.values())
    assert counts[min(nodes)] in (shards // len(nodes), -(-shards // len(nodes)))


@given(clusters())
def test_a_drain_of_all_stops_all_and_creates_nothing(cluster) -> None:
    shards, nodes, draining, placed = cluster
    fleet, _ = settle(shards, nodes, draining | {EVERYWHERE}, placed)
    assert not fleet.at and all(what == "retire" for what, _ in fleet.did)


def test_a_drain_ends_with_its_node() -> None:
    fleet, wishes = PaperFleet({"a", "b"}, {0: "b"}), Wishes({"a", EVERYWHERE})
    placement = Placement(fleet, wishes, 1)
    asyncio.run(placement.step())
    assert asyncio.run(wishes.draining()) == {"a", EVERYWHERE}
    fleet._nodes = {"b"}
    for _ in range(5):
        assert "a" in asyncio.run(wishes.draining())
        asyncio.run(placement.step())
    assert asyncio.run(wishes.draining()) == {EVERYWHERE}


def test_what_fails_is_tried_again() -> None:
    class Shaky(PaperFleet):
        fails = 2

        async def nodes(self):
            self.fails -= 1
            if self.fails >= 0:
                raise OSError("Ray is away")
            return await super().nodes()

    async def go() -> dict:
        fleet = Shaky({"a"}, {})
        running = asyncio.ensure_future(Placement(fleet, Wishes(set()), 2).run())
        async with asyncio.timeout(10):
            while len(fleet.at) < 2:
                assert not running.done()
                await asyncio.sleep(0.01)
        running.cancel()
        return fleet.at

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mayfly.cluster.placement._LOOK_EVERY", 0.01)
        assert asyncio.run(go()) == {0: "a", 1: "a"}
