"""Shards in this process, on a real PostgreSQL and small sites on loopback; no Ray is needed for what is tested so."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mayfly.cluster.coordinator import Coordinator
from mayfly.cluster.ledger import Ledger
from mayfly.cluster.line import Line
from mayfly.cluster.settings import ClusterSettings
from mayfly.cluster.shard import Shard
from mayfly.crawl.settings import Settings
from mayfly.store.postgres import PostgresStore
from mayfly.store.postgres_schema import shard_of
from mayfly.store.records import NewSource
from mayfly.testing.messages import Reply, Request
from mayfly.testing.postgres import Postgres
from mayfly.testing.server import Server, in_thread

SHORT = ClusterSettings(shards=2, lease=2.0, margin=0.8, fetch_seconds=0.6, price_every=0.3)
HOSTS = {number: next(f"p{i}.test" for i in range(99) if shard_of(f"p{i}.test", 2) == number) for number in (0, 1)}


class Paper:
    """A site whose pages a test writes."""

    def __init__(self) -> None:
        self.pages: dict[str, Reply] = {"/robots.txt": Reply(b"User-agent: *\nDisallow:\n", type="text/plain")}

    def __call__(self, request: Request) -> Reply:
        return self.pages.get(request.path, Reply(b"no such page", 404, "text/plain"))

    def show(self, path: str, *links: str) -> None:
        items = "".join(f'<li><a href="{link}">Story about {link}</a></li>' for link in links)
        self.pages[path] = Reply(f"<!doctype html><html><title>{path}</title><body><ul>{items}</ul></html>".encode())

    def feed(self, path: str, *links: str) -> None:
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
        items = "".join(f"<item><title>t</title><link>{link}</link><pubDate>{date}</pubDate></item>" for link in links)
        body = f'<?xml version="1.0"?><rss version="2.0"><channel><title>f</title>{items}</channel></rss>'
        self.pages[path] = Reply(body.encode(), type="application/rss+xml")

    def story(self, *paths: str) -> None:
        for path in paths:
            text = f"What happened at {path}. " * 30
            self.pages[path] = Reply(f"<!doctype html><html><title>{path}</title><body><p>{text}</p></html>".encode())


class Land:
    """Two shards' worth of web, and the database they share."""

    def __init__(self, url: str, home: Path, server: Server, papers: dict[int, Paper]) -> None:
        self.url, self.home, self.server, self.papers = url, home, server, papers
        self.settings = Settings(
            budget=60.0, host_delay=0.05, address_delay=0.0, replan=0.5, log_push=0.5, find_every=3600.0, warc=False,
            store=url, allow_private_addresses=("127.0.0.0/8",), connect_to=tuple(server.connect_to), probe=0.0,
            other_hosts=1.0,
        )  # fmt: skip
        self.cluster = SHORT
        self.lines: list[Line] = []

    def run(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        async def main() -> Any:
            try:
                return await work()
            finally:
                for line in self.lines:
                    await line.close()

        return asyncio.run(main())

    def line(self) -> Line:
        """A connection of its own, until the test is over."""
        self.lines.append(Line(self.url, 5.0))
        return self.lines[-1]

    def shard(self, number: int, owner: str = "", **other: Any) -> Shard:
        return Shard(self.home, replace(self.settings, **other), self.cluster, number, owner or f"node/{number}")

    def store(self, **how: Any) -> PostgresStore:
        return PostgresStore(self.url, shards=2, **how)

    @contextlib.asynccontextmanager
    async def crawling(self, *shards: Shard) -> AsyncIterator[None]:
        """These shards and a coordinator, for as long as it is needed."""
        works = [*shards, Coordinator(self.settings, self.cluster)]
        tasks = [asyncio.ensure_future(work.run()) for work in works]
        try:
            yield
            assert [task.exception() for task in tasks if task.done()] == []
        finally:
            await asyncio.wait_for(asyncio.gather(*(work.stop() for work in works)), 20.0)
            await asyncio.gather(*tasks)

    async def watch(self, *sources: str) -> None:
        async with self.store() as store:
            kinds = ["feed" if url.endswith(".xml") else "front" for url in sources]
            await store.add_sources(time.time(), [NewSource(*pair) for pair in zip(sources, kinds, strict=True)])

    async def baselined(self) -> None:
        """Every source was read once."""

        async def read() -> bool:
            async with self.store(read_only=True) as store:
                return all(source.crawls for source in await store.sources())

        await until(read)

    async def outcomes(self) -> dict[str, str]:
        async with self.store(read_only=True) as store:
            return {page.url: page.outcome for page in await store.pages(first=1000)}

    def asked(self, number: int, path: str) -> int:
        return len(self.server.journal.visits(HOSTS[number], path))


async def until(true: Callable[[], Any], seconds: float = 30.0) -> None:
    """Wait until this is so."""
    end = time.monotonic() + seconds
    while True:
        found = true()
        if await found if asyncio.iscoroutine(found) else found:
            return
        assert time.monotonic() < end, f"not within {seconds:g} s"
        await asyncio.sleep(0.05)


@pytest.fixture
def land(postgres: Postgres, tmp_path: Path) -> Iterator[Land]:
    papers = {number: Paper() for number in HOSTS}
    with in_thread(Server({HOSTS[number]: paper for number, paper in papers.items()})) as server:
        made = Land(postgres.create(f"land_{time.monotonic_ns()}"), tmp_path, server, papers)

        async def begin() -> None:
            async with made.store():
                pass
            async with Ledger(made.url) as ledger:
                await ledger.start(2)

        made.run(begin)
        yield made
