"""Rounds of the coordinator on a real database: what was granted outlives him, and there is one at a time."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from mayfly.cluster.coordinator import Coordinator
from mayfly.cluster.lease import Lease, LeaseLost
from mayfly.cluster.ledger import COORDINATOR, Dealt, Ledger, Told
from mayfly.core.agenda import Agenda, asked
from mayfly.core.demand import at_price, price_grid
from mayfly.core.model import Evidence
from mayfly.errors import RunError, UsageError


def lease(ledger: Ledger, seconds: float = 5.0) -> Lease:
    return Lease(ledger.line, COORDINATOR, "c", seconds, 0.1)


async def owners(ledger: Ledger) -> list[Lease]:
    """Of both shards."""
    held = [Lease(ledger.line, shard, f"node/{shard}", 30.0, 0.1) for shard in (0, 1)]
    assert [await one.take() for one in held] == [True, True]
    return held


def test_a_new_coordinator_goes_on_from_what_was_granted(land) -> None:
    curves = [np.geomspace(900.0, 1e-6, 257), np.geomspace(100.0, 1e-6, 257)]

    async def work() -> None:
        async with Ledger(land.url) as ledger:
            owned = await owners(ledger)
            for version in range(1, 7):
                held = lease(ledger)
                await held.take()
                await Coordinator(land.settings, land.cluster).round(ledger, held)
                await held.give_back()
                for shard, curve in enumerate(curves):
                    offer = await ledger.offered(shard)
                    assert offer.version == version
                    await ledger.report(owned[shard], Told(offer.version, offer.allotment, curve=curve))
            rows = await ledger.shards()
        assert rows[0].allotment > 3 * rows[1].allotment
        assert sum(row.allotment for row in rows) == pytest.approx(60.0)

    land.run(work)


def test_what_is_wanted_at_the_price_is_the_budget_in_one_round(land) -> None:
    """To half a percent, of what shards have to fetch: pages and sources, of which one has the better."""
    rng = np.random.default_rng(3)
    grid, budget = price_grid(), 60.0
    curves = [
        asked(Agenda(rng.lognormal(best, 1.0, 400), np.full(400, 0.2), np.arange(400) % 40, np.ones(40)), grid)
        for best in (0.0, -1.0)
    ]

    async def work() -> float:
        async with Ledger(land.url) as ledger:
            held = lease(ledger)
            await held.take()
            coordinator = Coordinator(land.settings, land.cluster)
            await coordinator.round(ledger, held)
            for owner, curve in zip(await owners(ledger), curves, strict=True):
                await ledger.report(owner, Told(1, 30.0, curve=curve))
            await coordinator.round(ledger, held)
            return (await ledger.offered(0)).price

    price = land.run(work)
    assert 0.5 < price < 2.0
    assert sum(at_price(np.stack(curves), grid, price)) == pytest.approx(budget, rel=0.005)


def test_a_shard_with_another_grid_is_understood(land) -> None:
    """It keeps the settings it was started with, and wants what it wants."""
    curve = np.geomspace(900.0, 1e-6, 129)

    async def work() -> None:
        async with Ledger(land.url) as ledger:
            owned = await owners(ledger)
            await ledger.report(owned[0], Told(0, curve=curve))
            _, reports, _ = await ledger.heard(datetime.min.replace(tzinfo=UTC), 257)
        assert np.allclose(reports[0].curve[::2], curve) and reports[1] is None

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
            zero, one = await owners(ledger)
            mine = Evidence(1.0, 2.0, 3.0, 4.0, (5.0, 6.0), (7.0,))
            yours = Evidence(10.0, 20.0, 30.0, 40.0, (50.0, 60.0), (70.0,))
            await ledger.report(zero, Told(0, evidence=mine))
            assert await ledger.evidence_of_others(0, mine) == Evidence()  # who says nothing has seen nothing
            await ledger.report(one, Told(0, evidence=yours))
            assert await ledger.evidence_of_others(0, mine) == yours
            both = await ledger.evidence_of_others(2, mine)
            assert both == Evidence(11.0, 22.0, 33.0, 44.0, (55.0, 66.0), (77.0,))
            await ledger.report(one, Told(1))  # it learns its past again, or what it says makes no sense
            await ledger.report(one, Told(1, evidence=yours._replace(fading=(float("nan"), 1.0))))
            assert await ledger.evidence_of_others(0, mine) == yours
            await ledger.report(one, Told(1, evidence=yours._replace(places=(1.0, 2.0))))  # of another version
            assert await ledger.evidence_of_others(2, mine) == both._replace(places=mine.places)

    land.run(work)


def test_who_owns_a_shard_no_more_is_not_heard(land) -> None:
    async def work() -> None:
        async with Ledger(land.url) as ledger:
            old, _ = await owners(ledger)
            await ledger.report(old, Told(1, 30.0))
            await old.give_back()
            new = Lease(ledger.line, 0, "another", 30.0, 0.1)
            await new.take()
            await ledger.report(old, Told(7, 1.0))
            assert (await ledger.shards())[0].rate == 30.0
            await ledger.report(new, Told(2, 20.0))
            assert (await ledger.shards())[0].rate == 20.0

    land.run(work)


def test_what_was_dealt_last_is_told(land) -> None:
    async def work() -> None:
        async with Ledger(land.url) as ledger:
            assert await ledger.dealt() == Dealt(0.0, 0.0, 0.0, "")
            held = lease(ledger)
            await held.take()
            await Coordinator(land.settings, land.cluster).round(ledger, held)
            told = await ledger.dealt()
            assert (told.budget, told.coordinator) == (60.0, "c") and 0 < told.ago < 10

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
