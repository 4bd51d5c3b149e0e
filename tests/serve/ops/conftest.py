"""Dashboards with nothing, with a little and with very much, asked in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from mayfly.core.model import DAY, HOUR
from mayfly.crawl.settings import Settings
from mayfly.serve.app import make_app
from mayfly.serve.parts import Serving
from mayfly.store.connection import connect
from mayfly.store.records import (
    ClickRow,
    Crawled,
    Estimate,
    Fetched,
    FetchFailure,
    KeptRobots,
    Memory,
    Minute,
    NewSource,
    Rest,
    ShownLink,
)
from mayfly.store.sqlite import SqliteStore

NOW = 1_790_000_000.0
MANY = 100_000
EVIL = 'https://evil.example/"><script>alert(1)</script>'
SCRIPT = "<script>alert('title')</script>"


class Asked:
    """A dashboard of a home; each call is a run of its own."""

    now, script = NOW, SCRIPT

    def __init__(self, home: Path, **settings: object) -> None:
        self.home, self.settings = home, Settings(**settings)

    def __call__(self, *paths: str, method: str = "GET", **how: object) -> list[httpx.Response]:
        return asyncio.run(self._ask(paths, method, how))

    def one(self, path: str, **how: object) -> httpx.Response:
        return self(path, **how)[0]

    def guarded(self, token: str) -> "Asked":
        return Asked(self.home, token=token)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Serving]:
        database = self.home / "mayfly.db"
        async with SqliteStore(database) as store, SqliteStore(database, read_only=True) as reader:
            yield Serving(self.home, self.settings, "mayfly", store, reader, clock=lambda: NOW)

    async def _ask(self, paths: tuple[str, ...], method: str, how: dict[str, object]) -> list[httpx.Response]:
        async with self.serving() as serving:
            transport = httpx.ASGITransport(make_app(serving))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return [await client.request(method, path, **how) for path in paths]


@pytest.fixture(scope="module")
def nothing(tmp_path_factory) -> Asked:
    return Asked(tmp_path_factory.mktemp("nothing"))


async def _live(store: SqliteStore) -> None:
    """Two days of a small crawl; one of its sources and pages would do harm if they could."""
    await store.add_hosts(NOW - 2 * DAY, ["paper.example", "gone.example"])
    await store.host_searched("gone.example", NOW - DAY, "dns")
    sources = [
        NewSource("https://paper.example/", "front"),
        NewSource(EVIL, "category"),
        NewSource("https://x.example/feed", "feed"),
    ]
    await store.add_sources(NOW - 2 * DAY, sources)
    links = [ShownLink(f"https://paper.example/{n}", "paper.example", SCRIPT, n) for n in range(1, 9)]
    await store.commit(Crawled(0, NOW - 30 * HOUR, 200, 0.1, 4000, Memory(), [], first=True))
    landed = await store.commit(Crawled(0, NOW - 29 * HOUR, 200, 0.2, 5000, Memory(), links))
    for page, link in landed.new:
        at = NOW - 28 * HOUR + 60.0 * page
        said = {"title": SCRIPT, "published": NOW - 29.5 * HOUR, "published_from": "meta", "body_hash": page}
        await store.commit(Fetched(page, at, "fetched", 200, 0.1, 2000, link.url, **said))
    await store.commit(FetchFailure("source", 2, NOW - HOUR, "busy", "", 429, NOW + 600, Rest("x.example", NOW + 600)))
    rows = [ClickRow(link.url, NOW - 27 * HOUR + 600 * n, 2.0) for n, (_, link) in enumerate(landed.new)]
    await store.add_clicks(NOW - HOUR, rows)
    for minute in range(120, 0, -1):
        await store.note_minute(Minute(NOW - 60.0 * minute, 30, 60, 6, 2, 20, 0.5, 2.0))
    await store.save_estimates(
        [
            Estimate(0, 12 / DAY, 3.0, 1 / (2 * HOUR), 900.0, 0.8, NOW + 60, ""),
            Estimate(1, 1 / DAY, 0.1, 1 / DAY, None, 0.001, None, "below the price"),
        ]
    )  # fmt: skip
    await store.keep_robots(KeptRobots("https://paper.example", b"User-agent: *\nCrawl-delay: 30\n", NOW - HOUR))


@pytest.fixture(scope="module")
def little(tmp_path_factory) -> Asked:
    home = tmp_path_factory.mktemp("little")

    async def fill() -> None:
        async with SqliteStore(home / "mayfly.db") as store:
            await _live(store)

    asyncio.run(fill())
    return Asked(home, budget=2.0)


@pytest.fixture(scope="session")
def much(tmp_path_factory) -> Asked:
    """A hundred thousand sources, put in by the thousand."""
    home = tmp_path_factory.mktemp("much")
    database = connect(home / "mayfly.db")
    draw = np.random.default_rng(5)
    rate, profit = draw.lognormal(0, 1.5, MANY) / DAY, draw.lognormal(0, 1, MANY)
    with database:
        database.executemany(
            "INSERT INTO sources (id, url, host, site, kind, state, found_at, crawls, last_crawl, last_new, revision)"
            " VALUES (?, ?, ?, ?, 'category', ?, ?, 1, ?, ?, ?)",
            (
                (n, f"https://www.host{n % 5000}.example/section-{n}/", f"www.host{n % 5000}.example",
                 f"host{n % 5000}.example", "retired" if n % 100 == 7 else "active", NOW - DAY,
                 NOW - n % 3600, NOW - n % 9999, n + 1)
                for n in range(MANY)
            ),
        )  # fmt: skip
        database.executemany(
            "INSERT INTO estimates VALUES (?, ?, ?, ?, ?, ?, ?, '')",
            (
                (n, rate[n], profit[n], 1e-5 * (1 + n % 7), 600.0 + n % 5000, profit[n] / 10, NOW + n % 1000)
                for n in range(MANY)
            ),
        )
        database.execute("UPDATE meta SET value = ? WHERE name = 'revision'", (MANY + 1,))
    database.close()
    return Asked(home, budget=2.0)
