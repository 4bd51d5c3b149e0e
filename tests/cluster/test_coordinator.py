"""Rounds of the coordinator on a real database: what was granted outlives him, and there is one at a time."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from mayfly.cluster.coordinator import Coordinator
from mayfly.cluster.lease import Lease, LeaseLost
from mayfly.cluster.ledger import COORDINATOR, Ledger
from mayfly.core.model import Evidence
from mayfly.errors import RunError, UsageError

NOTHING = Evidence()


def lease(ledger: Ledger, seconds: float = 5.0) -> Lease:
    return Lease(ledger.line, COORDINATOR, "c", seconds, 0.1)


def test_a_new_coordinator_goes_on_from_what_was_granted(land) -> None:
    curves = [np.geomspace(900.0, 1e-6, 257), np.geomspace(100.0, 1e-6, 257)]

    async def work() -> None:
        async with Ledger(land.url) as ledger:
            for version in range(1, 7):
                held = lease(ledger)
                await held.take()
                await Coordinator(land.settings, land.cluster).round(ledger, held)
                await held.give_back()
                for shard, curve in enumerate(curves):
                    offer = await ledger.offered(shard)
                    assert offer.version == version
                    await ledger.report(shard, curve, offer.version, offer.allotment, False, 0, 0.0, NOTHING)
            rows = await ledger.shards()
        assert rows[0].allotment > 3 * rows[1].allotment
        assert sum(row.allotment for row in rows) == pytest.approx(60.0)

    land.run(work)


def test_who_is_not_the_coordinator_any_more_grants_nothing(land) -> None:
    async def work() -> None:
        async with Ledger(land.url) as ledger:
            old, new = lease(ledger, 0.2), lease(ledger)
            await old.take()
            await asyncio.sleep(0.3)
            await new.take()
            with pytest.raises(LeaseLost):
                await Coordinator(land.settings, land.cluster).round(ledger, old)
            assert await ledger.offered(0) is None

    land.run(work)


def test_what_others_learned_is_told_without_our_own(land) -> None:
    async def work() -> None:
        async with Ledger(land.url) as ledger:
            await ledger.report(0, None, 0, 0.0, False, 0, 0.0, Evidence(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
            await ledger.report(1, None, 0, 0.0, False, 0, 0.0, Evidence(10.0, 20.0, 30.0, 40.0, 50.0, 60.0))
            assert await ledger.evidence_of_others(0) == Evidence(10.0, 20.0, 30.0, 40.0, 50.0, 60.0)

    land.run(work)


def test_the_number_of_shards_never_changes(land) -> None:
    async def work() -> None:
        async with Ledger(land.url) as ledger:
            with pytest.raises(RunError, match="made for 2 shards, which can never be changed"):
                await ledger.start(3)

    land.run(work)


def test_a_budget_too_small_for_so_many_shards_is_refused(land) -> None:
    with pytest.raises(UsageError, match="too small for 256 shards"):
        Coordinator(replace(land.settings, budget=2.0), replace(land.cluster, shards=256))
