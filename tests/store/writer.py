"""Writes to the store of a home until it is killed or has done so many rounds, and says what is safe.

usage: python writer.py DATABASE SOURCE ROUNDS

Each line is an address that was found and a page that was fetched, printed when the store said that they are kept.
"""

import asyncio
import sys
from pathlib import Path

from mayfly.store.records import Crawled, Fetched, Memory, ShownLink
from mayfly.store.sqlite import SqliteStore


async def main(path: Path, source: int, rounds: int) -> None:
    async with SqliteStore(path) as store:
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
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
