"""Who owns a shard: one at a time, whatever stands still or comes back."""

import asyncio
import time

import pytest

from mayfly.cluster.lease import Lease, LeaseLost

SECONDS, MARGIN = 1.0, 0.4


def lease(land, owner: str, seconds: float = SECONDS) -> Lease:
    return Lease(land.line(), 0, owner, seconds, MARGIN)


def test_one_owner_at_a_time(land) -> None:
    async def work() -> None:
        ours, theirs = lease(land, "a"), lease(land, "b")
        assert await ours.take() and not await theirs.take()
        assert ours.holds() and not theirs.holds()
        await asyncio.sleep(SECONDS - MARGIN)
        assert not ours.holds(), "nothing leaves in the margin"
        assert not await theirs.take(), "but it is still ours"
        await asyncio.sleep(MARGIN + 0.1)
        assert await theirs.take() and theirs.epoch == ours.epoch + 1
        with pytest.raises(LeaseLost):
            await ours.renew()

    land.run(work)


def test_a_renewed_lease_is_nobody_elses(land) -> None:
    async def work() -> None:
        ours, theirs = lease(land, "a"), lease(land, "b")
        await ours.take()
        keeping = asyncio.ensure_future(ours.keep())
        end = time.monotonic() + 2 * SECONDS
        while time.monotonic() < end:
            assert ours.holds() and not await theirs.take()
            await asyncio.sleep(0.1)
        keeping.cancel()

    land.run(work)


def test_one_given_back_is_free_at_once(land) -> None:
    async def work() -> None:
        ours, theirs = lease(land, "a"), lease(land, "b")
        await ours.take()
        await ours.give_back()
        assert not ours.holds() and await theirs.take()
        await ours.give_back()  # too late: it is theirs
        assert not await lease(land, "c").take()

    land.run(work)


def test_one_whose_taking_was_undone_frees_nobody_elses(land) -> None:
    """The next owner has the epoch that it would have had."""

    async def work() -> None:
        ours, theirs = lease(land, "a"), lease(land, "b")
        await theirs.take()
        ours.epoch = theirs.epoch
        await ours.give_back()
        with pytest.raises(LeaseLost):
            await ours.renew()
        assert not await lease(land, "c").take()
        await theirs.renew()

    land.run(work)


def test_one_that_ran_out_and_nobody_took_is_renewed(land) -> None:
    async def work() -> None:
        ours = lease(land, "a")
        await ours.take()
        await asyncio.sleep(SECONDS + 0.1)
        await ours.renew()
        assert ours.holds() and not await lease(land, "b").take()

    land.run(work)


def test_who_lost_it_can_write_no_more(land, make_source) -> None:
    async def work() -> None:
        ours, theirs = lease(land, "a", 0.3), lease(land, "b")
        await ours.take()
        async with land.store(fence=ours) as store:
            await store.add_sources(1.0, [make_source(0)])
            await asyncio.sleep(0.4)
            await store.add_sources(1.0, [make_source(1)])  # it ran out, but is nobody else's
            await theirs.take()
            with pytest.raises(LeaseLost):
                await store.add_sources(1.0, [make_source(2)])
            assert len(await store.sources()) <= 2
        assert not ours.holds()

    land.run(work)


def test_what_is_being_written_ends_before_another_begins(land) -> None:
    async def work() -> None:
        ours, theirs = lease(land, "a", 0.2), lease(land, "b")
        await ours.take()
        async with land.store(fence=ours, idle=5.0) as store:
            writing = asyncio.ensure_future(store._write(lambda database: database.execute("SELECT pg_sleep(1)")))
            await asyncio.sleep(0.5)
            assert not await theirs.take(), "its lease is over, its transaction is not"
            await writing
            assert await theirs.take()

    land.run(work)


@pytest.fixture
def make_source():
    from mayfly.store.records import NewSource

    return lambda number: NewSource(f"https://p{number}.example/", "front")


def test_shards_that_nobody_owns_are_known_while_others_are_owned(land) -> None:
    async def work() -> None:
        async with land.store(read_only=True) as store:
            assert await store.unowned() == [], "no cluster crawls"
            ours = lease(land, "a")
            await ours.take()
            assert await store.unowned() == [1]
            await asyncio.sleep(SECONDS + 0.1)
            assert await store.unowned() == []

    land.run(work)
