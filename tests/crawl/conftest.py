"""Real crawls of small sites on loopback, in this process."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mayfly.crawl.clock import Clock
from mayfly.crawl.crawler import Crawler
from mayfly.crawl.settings import Settings
from mayfly.fetch.addresses import ConnectTo, Routes, Vetting
from mayfly.fetch.answers import Limits
from mayfly.fetch.http import Fetcher
from mayfly.fetch.readers import Readers
from mayfly.store.postgres import PostgresStore
from mayfly.store.sqlite import SqliteStore
from mayfly.testing.messages import Reply, Request
from mayfly.testing.server import Server, in_thread

QUICK = Settings(
    budget=100.0, host_delay=0.02, address_delay=0.0, replan=1.0, log_push=1.0, find_every=3600.0,
    allow_private_addresses=("127.0.0.0/8",), fetch_seconds=5.0,
)  # fmt: skip


class Paper:
    """A site whose pages a test writes: `paper.pages[path] = reply`."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.pages: dict[str, Any] = {}

    def __call__(self, request: Request) -> Any:
        answer = self.pages.get(request.path, Reply(b"no such page", 404, "text/plain"))
        return answer(request) if callable(answer) else answer

    def show(self, path: str, *links: str, head: str = "") -> None:
        """A page with these links."""
        items = "".join(f'<li><a href="{link}">Story about {link}</a></li>' for link in links)
        text = (
            f"<!doctype html><html lang=en><head><title>{path}</title>{head}</head><body><ul>{items}</ul></body></html>"
        )
        self.pages[path] = Reply(text.encode())

    def story(self, path: str, text: str = "", head: str = "") -> None:
        """An article, with a text of its own."""
        body = f"<p>{text or f'What happened at {path}. ' * 30}</p>"
        whole = f"<!doctype html><html lang=en><head><title>{path}</title>{head}</head><body>{body}</body></html>"
        self.pages[path] = Reply(whole.encode())


class House:
    """A home, the web it is about, and crawls of it."""

    def __init__(self, home: Path, server: Server, database: str = "") -> None:
        """`database`: of PostgreSQL, if it is not kept in the home."""
        self.home, self.server, self.database = home, server, database

    def store(self) -> SqliteStore | PostgresStore:
        return PostgresStore(self.database) if self.database else SqliteStore(self.home / "mayfly.db")

    def settings(self, **other: Any) -> Settings:
        return replace(QUICK, **{"connect_to": tuple(self.server.connect_to), **other})

    @contextlib.asynccontextmanager
    async def opened(
        self, clock: Clock | None = None, reading_seconds: float = 10.0, **other: Any
    ) -> AsyncIterator[Crawler]:
        settings = self.settings(**other)
        fetcher = Fetcher(
            "mayfly/test",
            limits=Limits(seconds=settings.fetch_seconds),
            vetting=Vetting(settings.allow_private_addresses),
            routes=Routes([ConnectTo.parse(rule) for rule in settings.connect_to]),
        )
        async with (
            self.store() as store,
            fetcher as fetches,
            Readers(seconds=reading_seconds) as readers,
        ):
            yield Crawler(self.home, settings, store, fetches, readers, "mayfly", clock=clock)

    @staticmethod
    def baselined(crawler: Crawler) -> bool:
        """Whether every source was read once."""
        return len(crawler.parts.sources) > 0 and all(source.crawls for source in crawler.parts.sources)

    def find(self, *hosts: str, **other: Any) -> list[Any]:
        async def work() -> list[Any]:
            async with self.opened(**other) as crawler:
                await crawler.parts.store.add_hosts(crawler.parts.clock.now(), hosts)
                return await crawler.search(hosts, lambda: None)

        return asyncio.run(work())

    def crawl(
        self,
        seconds: float = 10.0,
        until: Callable[[Crawler], bool] = lambda crawler: False,
        clock: Clock | None = None,
        **other: Any,
    ) -> Crawler:
        """Crawl until the test has seen enough."""

        async def work() -> Crawler:
            async with self.opened(clock, **other) as crawler:
                watch = asyncio.ensure_future(stop_when(crawler))
                try:
                    await crawler.run(seconds)
                finally:
                    watch.cancel()
                return crawler

        async def stop_when(crawler: Crawler) -> None:
            while not until(crawler):
                await asyncio.sleep(0.02)
            crawler.stop()

        return asyncio.run(work())

    def ask(self, work: Callable[[Any], Any]) -> Any:
        """Look into the store."""

        async def main() -> Any:
            async with self.store() as store:
                return await work(store)

        return asyncio.run(main())

    def pages(self) -> dict[str, str]:
        """Settled pages, by path, and what they turned out to be."""
        found = self.ask(lambda store: store.pages())
        return {"/" + page.url.split("/", 3)[3]: page.outcome for page in found}

    def visits(self, host: str) -> list[str]:
        return [visit.target for visit in self.server.journal.visits(host)]


@pytest.fixture(autouse=True)
def chores_come_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at every few seconds is looked at every few tenths: tests wait for it."""
    for name, seconds in (("_LOOK_AT_EDITS", 0.2), ("_LISTEN", 0.1), ("_LOOK_FOR_HOSTS", 0.3)):
        monkeypatch.setattr(f"mayfly.crawl.chores.{name}", seconds)


@pytest.fixture
def paper() -> Paper:
    made = Paper("paper.test")
    made.pages["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /secret\n", type="text/plain")
    return made


@pytest.fixture
def house(tmp_path: Path, paper: Paper, request: pytest.FixtureRequest) -> Iterator[House]:
    """On SQLite, or on what `parametrize("house", …, indirect=True)` says."""
    database = ""
    if getattr(request, "param", "sqlite") == "postgres":
        database = request.getfixturevalue("postgres").create(f"house_{secrets.token_hex(6)}")
    with in_thread(Server({paper.host: paper})) as server:
        yield House(tmp_path, server, database)


@pytest.fixture
def found(house: House, paper: Paper) -> House:
    """The house, with the sources of a paper that shows nothing yet."""
    paper.show("/", "/news/", "/sport/")
    paper.show("/news/")
    paper.show("/sport/")
    house.find("paper.test")
    return house


@pytest.fixture
def watched(found: House) -> House:
    """The same, after a first look at each of them."""
    found.crawl(until=House.baselined)
    return found
