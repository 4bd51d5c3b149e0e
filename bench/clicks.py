"""How many rows of a CSV click log come into the store, file to disk, on one core: read, canonicalised, added up, kept.

usage: python bench/clicks.py [ROWS]          (500,000)

Rows are of 20,000 known pages, some clicked far more often than others, as people do, over six hours, with times to the
second; a tenth of the addresses carries tracking parameters. Beside it the worst case: no two rows can be added up. The
disk is that of the temporary folder. Ends with status 1 if fewer than 100,000 rows of CSV per second come in; the other
two have no limit.
"""

import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from mayfly.cli import clicks, home
from mayfly.cli.logfiles import opened
from mayfly.store.clicklog import Reading
from mayfly.store.records import Crawled, Memory, NewSource, ShownLink
from mayfly.store.sqlite import SqliteStore

PAGES, SPAN, NOW = 20_000, 6 * 3600, 1_790_000_000.0
LIMIT = 100_000  # rows per second


def url(number: int) -> str:
    return f"https://www.example.com/2026/09/21/some-headline-of-ordinary-length-{number}.html"


def write(path: Path, pages: np.ndarray, seconds: np.ndarray, positions: bool) -> None:
    with path.open("w") as file:
        file.write("url,time,count,position\n" if positions else "url,time,count\n")
        for row, (page, second) in enumerate(zip(pages.tolist(), seconds.tolist(), strict=True)):
            at = datetime.fromtimestamp(NOW - SPAN + second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            address = url(page) + ("?utm_source=rss" if row % 10 == 0 else "")
            file.write(f"{address},{at},1,{row % 10 + 1}\n" if positions else f"{address},{at},1\n")


async def fill(folder: Path) -> None:
    async with SqliteStore(folder / home.DATABASE) as store:
        await store.add_sources(0.0, [NewSource("https://www.example.com/", "front")])
        links = [ShownLink(url(number), "example.com") for number in range(PAGES)]
        await store.commit(Crawled(0, NOW - SPAN, 200, 0.1, 1, Memory(), links))


def measure(name: str, pages: np.ndarray, seconds: np.ndarray, positions: bool = False, limit: float = 0.0) -> bool:
    """Whether as many rows per second came in as must."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        folder = Path(place)
        asyncio.run(fill(folder))
        write(folder / "clicks.csv", pages, seconds, positions)
        start, cpu = time.perf_counter(), time.process_time()
        log = opened(str(folder / "clicks.csv"), None, False, stack)
        taken = asyncio.run(clicks._take(folder, [log], Reading(NOW), 1200.0, ""))
        start, cpu = time.perf_counter() - start, time.process_time() - cpu
        assert taken.known == len(pages) and not taken.bad
        rate = len(pages) / start
        verdict = f"  (limit {limit:,.0f})  {'ok' if rate >= limit else 'BELOW'}" if limit else ""
        print(f"{name:30}{rate:12,.0f} per second {len(pages) / cpu:12,.0f} per CPU-second{verdict}")
        return rate >= limit


def main(rows: int) -> int:
    """The exit status."""
    chance = np.random.default_rng(0)
    loved, seconds = chance.zipf(1.3, rows) % PAGES, np.sort(chance.integers(0, SPAN, rows))
    good = measure("rows of CSV", loved, seconds, limit=LIMIT)
    measure("the same, with positions", loved, seconds, positions=True)
    spread = np.arange(rows)
    measure("all different", spread % PAGES, spread // PAGES % 18 * 1200 + spread % 1200)
    return 0 if good else 1


sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000))
