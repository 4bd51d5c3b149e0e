"""What people see of a cluster: the reader, the dashboard and the API on its database, from a process of their own."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mayfly.store.records import Minute

from ..serve.conftest import Running, _serving
from .conftest import HOSTS, Land, until

ZERO, ONE = (f"http://{HOSTS[number]}" for number in (0, 1))


@asynccontextmanager
async def served(land: Land) -> AsyncIterator[Callable[..., Any]]:
    """A server on the land's database, asked from beside the event loop."""
    going = _serving(land.home, "--store", land.url, "--clicks-per-second", "1000", MAYFLY_BUDGET="60")
    running: Running = await asyncio.to_thread(going.__enter__)

    async def ask(path: str, sent: Any = None) -> Any:
        http = running.http
        answer = await asyncio.to_thread(lambda: http.post(path, json=sent) if sent else http.get(path))
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        return answer

    try:
        yield ask
    finally:
        await asyncio.to_thread(going.__exit__, None, None, None)


def test_the_reader_the_dashboard_and_the_api_see_all_shards(land) -> None:
    for number in (0, 1):
        land.papers[number].show("/")

    async def work() -> None:
        await land.watch(f"{ZERO}/", f"{ONE}/")
        shards = land.shard(0), land.shard(1)
        async with served(land) as ask, land.crawling(*shards):
            await land.baselined()
            for number in (0, 1):
                land.papers[number].story(f"/story-{number}")
                land.papers[number].show("/", f"/story-{number}")
            await until(lambda: _fetched(land, 2))

            reader = (await ask("/")).text
            assert "/story-0" in reader and "/story-1" in reader
            assert "story-1" in (await ask("/?q=happened")).text
            assert {page["outcome"] for page in (await ask("/api/pages")).json()["pages"]} == {"fetched"}

            now = time.time()
            rows = [{"url": f"{site}/story-{n}", "at": now, "count": 40 + n} for n, site in enumerate((ZERO, ONE))]
            assert (await ask("/api/clicks", rows)).json()["known"] == 2
            for shard in shards:
                await until(lambda shard=shard: shard._crawler.parts.scheduler.evidence().clicks > 30)

            await until(lambda: _estimated(land))
            for path in ("/ops/sources", "/ops/hosts"):
                shown = (await ask(path)).text
                assert all(host in shown for host in HOSTS.values())
            for path in (
                "/ops",
                "/ops/health",
                "/ops/what-if",
                "/ops/data/rate",
                "/ops/data/quality",
                "/ops/data/delay",
            ):
                await ask(path)
            assert "mayfly_crawling 1.0" in (await ask("/metrics")).text
            why = (await ask(f"/api/why?url={ONE}/")).json()
            assert why["what"] == "source" and why["says"]

    land.run(work)


async def _fetched(land: Land, many: int) -> bool:
    return list((await land.outcomes()).values()).count("fetched") >= many


async def _estimated(land: Land) -> bool:
    async with land.store(read_only=True) as store:
        return all(source.estimate is not None for source in await store.sources())


def test_minutes_of_many_shards_are_one_minute(land) -> None:
    async def work() -> None:
        for crawls in (3, 5):
            async with land.store() as store:
                await store.note_minute(Minute(600.0, crawls, 1, 0, 0, 1, 0.5, 60.0))
        async with land.store(read_only=True) as store:
            assert await store.minutes(0.0) == [Minute(600.0, 8, 2, 0, 0, 2, 0.5, 60.0)]

    land.run(work)
