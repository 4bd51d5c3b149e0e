"""Deadlines: as `asyncio.timeout`, with one timer for all."""

import asyncio
import time

import pytest

from mayfly.fetch import loop
from mayfly.fetch.deadlines import Deadlines


@pytest.fixture(params=[asyncio.run, loop.run], ids=["asyncio", "uvloop"])
def run(request):
    return request.param


async def sleeper(deadlines: Deadlines, limit: float, seconds: float) -> str:
    try:
        with deadlines.within(limit):
            await asyncio.sleep(seconds)
    except TimeoutError:
        return "late"
    return "done"


def test_each_has_its_own(run) -> None:
    async def work() -> list[str]:
        deadlines = Deadlines()
        pairs = [(5.0, 0.01), (0.05, 5.0), (0.02, 5.0), (5.0, 0.1), (0.1, 0.01)]
        return await asyncio.gather(*(sleeper(deadlines, *pair) for pair in pairs))

    began = time.monotonic()
    assert run(work()) == ["done", "late", "late", "done", "done"]
    assert time.monotonic() - began < 3


def test_one_that_starts_after_the_timer_was_set_is_watched(run) -> None:
    async def work() -> list[str]:
        deadlines = Deadlines()
        first = asyncio.ensure_future(sleeper(deadlines, 0.05, 0.01))
        await asyncio.sleep(0.03)
        return [await first, await sleeper(deadlines, 0.2, 5.0), await sleeper(deadlines, 0.05, 5.0)]

    assert run(work()) == ["done", "late", "late"]


def test_the_clock_may_be_stopped(run) -> None:
    async def work() -> str:
        with Deadlines().within(0.1) as deadline:
            deadline.pause()
            await asyncio.sleep(0.2)
            deadline.resume()
            await asyncio.sleep(0.01)
        return "done"

    assert run(work()) == "done"


def test_who_is_cancelled_is_not_late(run) -> None:
    async def work() -> None:
        task = asyncio.ensure_future(sleeper(Deadlines(), 5.0, 5.0))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        run(work())
