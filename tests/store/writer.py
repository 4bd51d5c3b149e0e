"""Writes to the store of a home until it is killed or has done so many rounds, and says what is safe.

usage: python writer.py DATABASE SOURCE ROUNDS

The database is a file, or postgresql://….

Each line is an address that was found and a page that was fetched, printed when the store said that they are kept.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from mayfly.store.address import is_postgres
from mayfly.store.records import Crawled, Fetched, Memory, ShownLink
from mayfly.store.sqlite import SqliteStore


def store_at(database: str) -> Any:
    if is_postgres(database):
        from mayfly.store.postgres import PostgresStore

        return PostgresStore(database)
    return SqliteStore(Path(database))


async def main(database: str, source: int, rounds: int) -> None:
    async with store_at(database) as store:
        start = (await store.sources([source]))[0].crawls

        async def one(number: int) -> None:
            urls = [f"https://site-{source}.example/{number + k}" for k in range(4)]
            links = [ShownLink(url, f"site-{source}.example") for url in urls]
            landed = await store.commit(Crawled(source, float(number), 200, 0.1, 1000, Memory(), links))
            for page, link in landed.new:
                said = f"words of {link.url} " * 30
                await store.commit(Fetched(page, float(number), "fetched", 200, 0.1, 1000, link.url, text=said))
                sys.stdout.write(f"{link.url} {page}\n")
                sys.stdout.flush()

        for low in range(start, start + rounds, 10):
            await asyncio.gather(*(one(number) for number in range(low, low + 10)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
