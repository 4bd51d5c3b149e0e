"""The dashboard over a hundred thousand sources: how long its table and what-if take, one after another.

usage: python bench/watching.py [SOURCES]          (100,000)

Of the table every order is asked for, at its first page, in the middle and at its end. The limits are 100 ms for the
table and 200 ms for what-if, for 95 of 100. The work of the processor is told, too: the machine may be busy otherwise.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from mayfly.core.model import DAY
from mayfly.crawl.settings import Settings
from mayfly.serve.app import make_app
from mayfly.serve.parts import Serving
from mayfly.store.connection import connect
from mayfly.store.sqlite import SqliteStore

COLUMNS = ("url", "rate", "profit", "decay", "interval", "yield", "due", "worth", "state", "failures")
ROUNDS = 3
LIMITS = {"table": 100.0, "search": 100.0, "what-if": 200.0}


def fill(path: Path, sources: int, now: float) -> None:
    """Sources of five thousand hosts, with what is believed of them."""
    chance = np.random.default_rng(5)
    rate, profit = chance.lognormal(0, 1.5, sources) / DAY, chance.lognormal(0, 1, sources)
    database = connect(path)
    with database:
        database.executemany(
            "INSERT INTO sources (id, url, host, site, kind, state, found_at, crawls, last_crawl, last_new, revision)"
            " VALUES (?, ?, ?, ?, 'category', 'active', ?, 1, ?, ?, ?)",
            (
                (n, f"https://www.host{n % 5000}.example/section-{n}/", f"www.host{n % 5000}.example",
                 f"host{n % 5000}.example", now - DAY, now - n % 3600, now - n % 9999, n + 1)
                for n in range(sources)
            ),
        )  # fmt: skip
        database.executemany(
            "INSERT INTO estimates VALUES (?, ?, ?, ?, ?, ?, ?, '')",
            (
                (n, rate[n], profit[n], 1e-5 * (1 + n % 7), 600.0 + n % 5000, profit[n] / 10, now + n % 1000)
                for n in range(sources)
            ),
        )
        database.execute("UPDATE meta SET value = ? WHERE name = 'revision'", (sources + 1,))
    database.close()


def asked(sources: int) -> dict[str, list[str]]:
    pages = (1, sources // 100, sources // 50)
    return {
        "table": [f"/ops/sources?sort={column}&page={page}" for column in COLUMNS for page in pages],
        "search": [f"/ops/sources?q=host{n}.example" for n in range(0, 5000, 250)],
        "what-if": [f"/ops/what-if?budget={0.5 + n / 10}" for n in range(20)],
    }


async def main(sources: int, home: Path) -> bool:
    now, ok = time.time(), True
    fill(home / "mayfly.db", sources, now)
    async with SqliteStore(home / "mayfly.db") as store, SqliteStore(home / "mayfly.db", read_only=True) as reader:
        app = make_app(Serving(home, Settings(budget=2.0), "mayfly", store, reader, clock=lambda: now))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            for what, paths in asked(sources).items():
                ok &= await measure(client, what, paths)
    print(f"others on this machine: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return ok


async def measure(client: httpx.AsyncClient, what: str, paths: list[str]) -> bool:
    taken, worked = [], []
    for path in paths * ROUNDS:
        began, before = time.perf_counter(), time.process_time()
        answer = await client.get(path)
        assert answer.status_code == 200, path
        taken.append(1000 * (time.perf_counter() - began))
        worked.append(1000 * (time.process_time() - before))
    p50, p95 = np.quantile(taken, (0.5, 0.95))
    verdict = "ok" if p95 <= LIMITS[what] else "TOO SLOW"
    print(
        f"{what:8} p50 {p50:6.1f}  p95 {p95:6.1f} ms  (limit {LIMITS[what]:g})  {verdict}   "
        f"(processor: p95 {np.quantile(worked, 0.95):6.1f})",
        flush=True,
    )
    return bool(p95 <= LIMITS[what])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(0 if asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, Path(folder))) else 1)
