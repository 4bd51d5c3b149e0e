"""How much the store takes in: crawls per second, pages per second, rows of a click log per second.

usage: python bench/store.py [CRAWLS]          (20,000)

Crawls of 60 links of which 2 are new, on 1,000 sources, beside 100,000 addresses that are known. Commits come 50 at a
time, as from so many fetches under way. Seconds are wall time, on the disk of the temporary folder.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from mayfly.store.records import ClickRow, Crawled, Fetched, Memory, NewSource, ShownLink
from mayfly.store.sqlite import SqliteStore

SOURCES, LINKS, NEW, KNOWN = 1_000, 60, 2, 100_000
TOGETHER = 50
TEXT = "a newspaper writes of what was said and done on this day in words that are often used " * 40


def link(source: int, number: int) -> ShownLink:
    url = f"https://www.site-{source}.example/2026/11/16/some-headline-of-ordinary-length-{number}.html"
    return ShownLink(url, f"site-{source}.example", "Some headline of ordinary length", number % LINKS)


def crawl(source: int, turn: int, first: bool = False) -> Crawled:
    last = turn * NEW
    links = [link(source, number) for number in range(last + LINKS, last, -1)]
    if first:
        links = [each._replace(wanted=False) for each in links]
    return Crawled(source, 1e9 + turn * 600.0 + source, 200, 0.1, 20_000, Memory('"e"'), links, first=first)


async def all_of(work: Callable[[Any], Awaitable[Any]], things: Iterable[Any]) -> float:
    """Seconds for all of them, so many at a time."""
    rest = iter(things)

    async def worker() -> None:
        for thing in rest:
            await work(thing)

    start = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(TOGETHER)))
    return time.perf_counter() - start


async def main(crawls: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mayfly.db"
        async with SqliteStore(path) as store:
            await store.add_sources(0.0, [NewSource(f"https://www.site-{n}.example/", "front") for n in range(SOURCES)])
            known = [link(SOURCES, number)._replace(wanted=False) for number in range(KNOWN)]
            await store.add_sources(0.0, [NewSource(f"https://www.site-{SOURCES}.example/", "sitemap")])
            start = time.perf_counter()
            await store.commit(Crawled(SOURCES, 1e9, 200, 1.0, 1, Memory(), known, first=True))
            print(f"a sitemap of {KNOWN:,} addresses  {time.perf_counter() - start:10.2f} s")
            await all_of(store.commit, [crawl(source, 0, first=True) for source in range(SOURCES)])
            done = [crawl(n % SOURCES, 1 + n // SOURCES) for n in range(crawls)]
            print(f"crawls                       {crawls / await all_of(store.commit, done):10,.0f} per second")
            same = [Crawled(n % SOURCES, 2e9, 304, 0.1, 300, Memory('"e"'), None) for n in range(crawls)]
            print(f"crawls, unchanged            {crawls / await all_of(store.commit, same):10,.0f} per second")
            waiting = await store.waiting()
            half = [
                Fetched(page.page, 2e9, "fetched", 200, 0.1, 30_000, page.url, title="Some headline", text=TEXT,
                        body_hash=page.page, linked_hosts=[f"host-{page.page % 500 + k}.example" for k in range(10)])
                for page in waiting[: crawls // 4]
            ]  # fmt: skip
            print(f"pages                        {len(half) / await all_of(store.commit, half):10,.0f} per second")
            rows = [
                ClickRow(page.url, 2e9 + n % 7200) for n in range(200_000) for page in [waiting[n * n % len(waiting)]]
            ]
            start = time.perf_counter()
            for low in range(0, len(rows), 50_000):
                await store.add_clicks(2e9, rows[low : low + 50_000])
            print(f"rows of a click log          {len(rows) / (time.perf_counter() - start):10,.0f} per second")
            start = time.perf_counter()
            number = 0
            async for _ in store.past(0.0):
                number += 1
            print(f"past                         {number / (time.perf_counter() - start):10,.0f} per second")
        print(f"disk                         {path.stat().st_size / 1e6:10.1f} MB")


asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000))
