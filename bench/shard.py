"""What sources, pages and a start cost one process that crawls: memory, disk and time.

usage: python bench/shard.py [CRAWLS]          (40,000)

Crawls of 60 links of which 2 are new, on 1,000 sources; then the new pages are fetched, each with 3.4 KB of text. A new
scheduler learns all of it again from the store, as at a start: SQLite's, then PostgreSQL's. Memory is what the process
grew by, resident.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mayfly.core.estimates.bayes import Bayes
from mayfly.core.events import SourcesAdded
from mayfly.core.merits import Merits
from mayfly.core.policies.index import Index
from mayfly.core.politeness import Gate
from mayfly.core.scheduler import Scheduler
from mayfly.crawl.interest import Interest
from mayfly.crawl.restoring import restore
from mayfly.crawl.settings import Settings
from mayfly.store.postgres import PostgresStore
from mayfly.store.records import Crawled, Fetched, Memory, NewSource, ShownLink
from mayfly.store.sqlite import SqliteStore
from mayfly.store.table_store import TableStore
from mayfly.testing.postgres import Postgres

SOURCES, LINKS, NEW = 1_000, 60, 2
MANY = 1_000_000  # sources, for their memory
TEXT = "a newspaper writes of what was said and done on this day in words that are often used " * 40


def main(crawls: int) -> None:
    before = resident()
    scheduler = scheduler_of(500.0)
    sites = [f"site-{number % (MANY // 10)}" for number in range(MANY)]
    named = resident()
    scheduler.observe(SourcesAdded(0.0, sites, sites))
    began = time.process_time()
    scheduler.next(0.0)
    print(f"a plan and the first round of {MANY:,} sources: {time.process_time() - began:.1f} CPU-seconds")
    print(
        f"memory of a source: {(resident() - named) / MANY:,.0f} bytes, and {(named - before) / MANY:,.0f} of its names"
    )
    del scheduler, sites
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(start_again(crawls, lambda: SqliteStore(Path(folder) / "mayfly.db")))
    database = Postgres()
    database.start()
    try:
        url = database.create("crawl")
        asyncio.run(start_again(crawls, lambda: PostgresStore(url)))
    finally:
        database.end()


async def start_again(crawls: int, kept_in: Callable[[], TableStore]) -> None:
    print(type(kept_in()).__name__)
    async with kept_in() as store:
        await store.add_sources(0.0, [NewSource(f"https://www.site-{n}.example/", "front") for n in range(SOURCES)])
        await together(store, [crawl(source, 0) for source in range(SOURCES)])
        await together(store, [crawl(n % SOURCES, 1 + n // SOURCES) for n in range(crawls)])
        found = (await store.stats())["bytes"]
    async with kept_in() as store:
        pages = await store.waiting()
        await together(store, [fetched(page.page, page.url, 1e9 + 1e6) for page in pages])
        kept = (await store.stats())["bytes"] - found
    print(f"disk: {found / len(pages):,.0f} bytes a page found, with its links and the crawls that showed them")
    print(f"… and {kept / len(pages):,.0f} when it was fetched, with its text of {len(TEXT):,}")
    async with kept_in() as store:
        await learn(store)


async def learn(store: TableStore) -> None:
    settings, happened = Settings(), 0

    def told() -> None:
        nonlocal happened
        happened += 1

    began = time.process_time()
    await restore(store, scheduler_of(10.0), Interest(settings), settings, 1e9 + 2e6, told)
    took = time.process_time() - began
    print(f"a start: {happened:,} crawls and fetches in {took:.1f} CPU-seconds, {happened / took:,.0f} a CPU-second")


def scheduler_of(budget: float) -> Scheduler:
    return Scheduler(Index(), Bayes(), budget, Gate(5.0), merits=Merits())


async def together(store: TableStore, things: list) -> None:
    """Fifty at a time share a commit."""
    for low in range(0, len(things), 50):
        await asyncio.gather(*map(store.commit, things[low : low + 50]))


def crawl(source: int, turn: int) -> Crawled:
    last = turn * NEW
    site = f"site-{source}.example"
    links = [
        ShownLink(f"https://www.{site}/2026/11/16/some-headline-of-ordinary-length-{number}.html", site,
                  "Some headline of ordinary length", number % LINKS, wanted=turn > 0)
        for number in range(last + LINKS, last, -1)
    ]  # fmt: skip
    return Crawled(source, 1e9 + turn * 600.0 + source, 200, 0.1, 20_000, Memory('"e"'), links, first=turn == 0)


def fetched(page: int, url: str, at: float) -> Fetched:
    return Fetched(page, at, "fetched", 200, 0.1, 30_000, url, title="Some headline", text=TEXT, body_hash=page)


def resident() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40_000)
