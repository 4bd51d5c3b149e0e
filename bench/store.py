"""How much a store takes in: crawls per second, pages per second, rows of a click log per second.

usage: python bench/store.py [CRAWLS] [--only sqlite|postgres] [--writers 1 4]          (20,000, both)

Crawls of 60 links of which 2 are new, on 1,000 sources, beside 100,000 addresses that are known. Commits come 50 at a
time, as from so many fetches under way. Some pages are clicked far more often than others, as people do; beside it the
worst case, a log in which no two rows can be added up. The disk is that of the temporary folder. PostgreSQL is real,
with fsync; its own CPU time is not counted.
"""

import argparse
import asyncio
import contextlib
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self

import numpy as np
from msgspec import structs

from mayfly.store.postgres import PostgresStore
from mayfly.store.records import ClickRow, Crawled, Fetched, Memory, NewSource, ShownLink
from mayfly.store.sqlite import SqliteStore
from mayfly.testing.postgres import Postgres

SOURCES, LINKS, NEW, KNOWN = 1_000, 60, 2, 100_000
TOGETHER = 50
CLICKS = 200_000
TEXT = "a newspaper writes of what was said and done on this day in words that are often used " * 40


def link(source: int, number: int) -> ShownLink:
    url = f"https://www.site-{source}.example/2026/11/16/some-headline-of-ordinary-length-{number}.html"
    return ShownLink(url, f"site-{source}.example", "Some headline of ordinary length", number % LINKS)


def crawl(source: int, turn: int, first: bool = False) -> Crawled:
    last = turn * NEW
    links = [link(source, number) for number in range(last + LINKS, last, -1)]
    if first:
        links = [structs.replace(each, wanted=False) for each in links]
    return Crawled(source, 1e9 + turn * 600.0 + source, 200, 0.1, 20_000, Memory('"e"'), links, first=first)


def fetched(page: int, url: str) -> Fetched:
    linked = {(host := f"host-{page % 500 + k}.example"): [f"https://{host}/2026/11/{page}"] for k in range(10)}
    return Fetched(
        page,
        2e9,
        "fetched",
        200,
        0.1,
        30_000,
        url,
        title="Some headline",
        text=TEXT,
        body_hash=page,
        linked=linked,
    )


class Timed:
    """What a number of things took, in seconds of the clock and of the processor (all threads)."""

    def __enter__(self) -> Self:
        self.start, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.start, self.cpu = time.perf_counter() - self.start, time.process_time() - self.cpu

    def say(self, name: str, number: int) -> None:
        print(f"{name:24}{number / self.start:12,.0f} per second {number / self.cpu:12,.0f} per CPU-second")


async def all_of(work: Callable[[Any], Awaitable[Any]], things: Iterable[Any], together: int = TOGETHER) -> Timed:
    """Do all of them, so many at a time."""
    rest = iter(things)

    async def worker() -> None:
        for thing in rest:
            await work(thing)

    with Timed() as timed:
        await asyncio.gather(*(worker() for _ in range(together)))
    return timed


async def figures(store: Any, crawls: int) -> None:
    """All of them, of a store that is empty."""
    await begin(store)
    known = [structs.replace(link(SOURCES, number), wanted=False) for number in range(KNOWN)]
    with Timed() as timed:
        await store.commit(Crawled(SOURCES, 1e9, 200, 1.0, 1, Memory(), known, first=True))
    timed.say("addresses of a sitemap", KNOWN)
    await all_of(store.commit, [crawl(source, 0, first=True) for source in range(SOURCES)])
    done = [crawl(n % SOURCES, 1 + n // SOURCES) for n in range(crawls)]
    (await all_of(store.commit, done)).say("crawls", crawls)
    same = [Crawled(n % SOURCES, 2e9, 304, 0.1, 300, Memory('"e"'), None) for n in range(crawls)]
    (await all_of(store.commit, same)).say("crawls, unchanged", crawls)
    waiting = await store.waiting()
    some = [fetched(page.page, page.url) for page in waiting[: crawls // 4]]
    (await all_of(store.commit, some)).say("pages", len(some))
    del done, same, some  # or the collector of garbage looks at them again and again
    urls = [page.url for page in waiting]
    chance = np.random.default_rng(0)
    loved = chance.zipf(1.3, CLICKS) % len(urls)
    for name, which in ("rows of a click log", loved), ("the same, all different", np.arange(CLICKS)):
        rows = [ClickRow(urls[n % len(urls)], 2e9 + 1200.0 * (n // len(urls))) for n in which.tolist()]
        with Timed() as timed:
            for low in range(0, CLICKS, 50_000):
                await store.add_clicks(2e9, rows[low : low + 50_000])
        timed.say(name, CLICKS)
    with Timed() as timed:
        number = len([past async for past in store.past(0.0)])
    timed.say("what happened, read", number)
    print(f"{'disk':24}{(await store.stats())['bytes'] / 1e6:12,.1f} MB")


async def begin(store: Any) -> None:
    await store.add_sources(0.0, [NewSource(f"https://www.site-{n}.example/", "front") for n in range(SOURCES)])
    await store.add_sources(0.0, [NewSource(f"https://www.site-{SOURCES}.example/", "sitemap")])


async def land(url: str, sources: range, crawls: int, at: float) -> tuple[float, float, int]:
    """One writer: crawls of its own sources, and the pages they bring; from when to when, and how many fetches."""
    async with PostgresStore(url) as store:
        number = 0

        async def one(crawled: Crawled) -> None:
            nonlocal number
            landed = await store.commit(crawled)
            for page, shown in landed.new:
                await store.commit(fetched(page, shown.url))
            number += 1 + len(landed.new)

        await all_of(store.commit, [crawl(source, 0, first=True) for source in sources])
        todo = [crawl(sources[n % len(sources)], 1 + n // len(sources)) for n in range(crawls)]
        await asyncio.sleep(max(at - time.time(), 0.0))
        began = time.time()
        await all_of(one, todo)
        return began, time.time(), number


def writer(*words: Any) -> tuple[float, float, int]:
    return asyncio.run(land(*words))


async def together(server: Postgres, writers: int, crawls: int) -> None:
    """What so many processes land at once; they wait for each other only to number what they land."""
    url, each = server.create(f"writers_{writers}"), SOURCES // writers
    async with PostgresStore(url) as store:
        await begin(store)
    at = time.time() + 3.0 + 2.0 * writers
    with ProcessPoolExecutor(writers, mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(writer, url, range(k * each, (k + 1) * each), crawls // writers, at) for k in range(writers)
        ]
        done = [job.result() for job in jobs]
    seconds = max(end for _, end, _ in done) - min(began for began, _, _ in done)
    rate = sum(number for *_, number in done) / seconds
    print(f"{f'fetches, {writers} writers':24}{rate:12,.0f} per second")


async def apart(server: Postgres, waiting: int, writers: int = 32, each: int = 100) -> None:
    """So many shards that land pages, each so many at a time: what a shard lands at once shares a commit, what several
    do is numbered one after the other.
    """
    url = server.create(f"apart_{waiting}")
    stores = [PostgresStore(url) for _ in range(writers)]
    async with contextlib.AsyncExitStack() as stack:
        for store in stores:
            await stack.enter_async_context(store)
        await begin(stores[0])
        shown = [[link(source, number) for number in range(each)] for source in range(writers)]
        crawls = [Crawled(source, 1e9, 200, 0.1, 1, Memory(), links) for source, links in enumerate(shown)]
        pages = [(await stores[0].commit(crawled)).new for crawled in crawls]

        async def land_each(store: PostgresStore, new: list[Any]) -> None:
            some = [fetched(page, shown.url) for page, shown in new]
            await all_of(store.commit, some, waiting)

        with Timed() as timed:
            await asyncio.gather(*map(land_each, stores, pages))
    timed.say(f"pages, {writers} x {waiting} writers", writers * each)


async def main(asked: argparse.Namespace) -> None:
    if asked.only != "postgres":
        print("SQLite")
        with tempfile.TemporaryDirectory() as folder:
            async with SqliteStore(Path(folder) / "mayfly.db") as store:
                await figures(store, asked.crawls)
    if asked.only != "sqlite":
        print("PostgreSQL, on a socket of this machine")
        server = Postgres(settings=())
        try:
            server.start()
            async with PostgresStore(server.create("figures")) as store:
                await figures(store, asked.crawls)
            for writers in asked.writers:
                await together(server, writers, asked.crawls // 4)
            for waiting in (1, 8):
                await apart(server, waiting)
        finally:
            server.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("crawls", nargs="?", type=int, default=20_000)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument(
        "--writers", type=int, nargs="*", default=[1, 4], help="PostgreSQL: processes that write at once"
    )
    asyncio.run(main(parser.parse_args()))
