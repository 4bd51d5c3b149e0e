"""One battery for every kind of store: a fixture opens each, and tests talk to it as if nothing were asynchronous."""

import asyncio
import inspect
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from mayfly.store.postgres import PostgresStore
from mayfly.store.records import Crawled, Fetched, Memory, NewSource, ShownLink
from mayfly.store.sqlite import SqliteStore
from mayfly.testing.postgres import Postgres

KINDS = ["sqlite", "postgres"]


class Plainly:
    """A store whose methods return when they are done; iterators come as lists."""

    def __init__(self, store: Any, runner: asyncio.Runner) -> None:
        self.store, self.runner = store, runner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            return self.together((name, *values), **named)[0]

        return call

    def together(self, *calls: tuple[Any, ...], **named: Any) -> list[Any]:
        """What comes of calls that are made at once; of more than one, errors come as results."""

        async def main() -> list[Any]:
            made = [_whole(getattr(self.store, name)(*values, **named)) for name, *values in calls]
            return await asyncio.gather(*made, return_exceptions=len(calls) > 1)

        return self.runner.run(main())


async def _whole(call: Any) -> Any:
    return [each async for each in call] if inspect.isasyncgen(call) else await call


@contextmanager
def opened(store: Any) -> Iterator[Plainly]:
    """A store, for as long as it is needed."""
    with asyncio.Runner() as runner:
        runner.run(store.__aenter__())
        try:
            yield Plainly(store, runner)
        finally:
            runner.run(store.__aexit__(None, None, None))


class Made:
    """Short words for what happens in tests."""

    site = "news.example"

    def url(self, number: int) -> str:
        return f"https://{self.site}/{number}"

    def source(self, number: int) -> NewSource:
        return NewSource(f"https://{self.site}/section-{number}", "category")

    def links(self, *numbers: int, **how: Any) -> list[ShownLink]:
        return [
            ShownLink(self.url(number), self.site, **({"anchor": f"page {number}", "rank": rank} | how))
            for rank, number in enumerate(numbers, 1)
        ]

    def crawl(self, source: int, at: float, *numbers: int, first: bool = False, **how: Any) -> Crawled:
        return Crawled(source, at, 200, 0.5, 9000, Memory(), self.links(*numbers, **how), first=first)

    def unchanged(self, source: int, at: float) -> Crawled:
        return Crawled(source, at, 304, 0.5, 300, Memory('"e"', unmodified=1), None)

    def fetched(self, page: int, at: float, outcome: Any = "fetched", **what: Any) -> Fetched:
        what = {"status": 200, "seconds": 0.5, "wire_bytes": 9000, "final_url": ""} | what
        return Fetched(page, at, outcome, **what)


@pytest.fixture(scope="session")
def make() -> Made:
    return Made()


@pytest.fixture(scope="session", params=KINDS)
def fresh(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], AbstractContextManager[Plainly]]:
    """Opens stores that hold nothing, each another."""
    if request.param == "sqlite":
        return lambda: opened(SqliteStore(tmp_path_factory.mktemp("home") / "mayfly.db"))
    postgres = request.getfixturevalue("postgres")
    number = iter(range(1_000_000))
    return lambda: opened(PostgresStore(postgres.create(f"fresh_{next(number)}")))


@pytest.fixture
def empty(fresh: Callable[[], AbstractContextManager[Plainly]]) -> Iterator[Plainly]:
    """A store that holds nothing."""
    with fresh() as store:
        yield store


@pytest.fixture
def store(empty: Plainly, make: Made) -> Plainly:
    """A store with three sources."""
    assert empty.add_sources(10.0, [make.source(number) for number in range(3)]) == [0, 1, 2]
    return empty


@pytest.fixture
def opening(tmp_path: Path) -> Callable[..., AbstractContextManager[Plainly]]:
    """Opens the SQLite store of this test's home."""
    return lambda **how: opened(SqliteStore(tmp_path / "mayfly.db", **how))


@pytest.fixture
def database(postgres: Postgres) -> str:
    """An empty one of PostgreSQL."""
    return postgres.create(f"own_{secrets.token_hex(6)}")


@pytest.fixture(scope="module")
def restarted() -> Iterator[Postgres]:
    """A PostgreSQL that tests may end and start."""
    server = Postgres()
    try:
        server.start()
        yield server
    finally:
        server.end()


def ask(url: str, *statements: str) -> Any:
    """What the last of some statements says, of a server or of one database."""

    async def main() -> Any:
        connection = await asyncpg.connect(url)
        try:
            for one in statements[:-1]:
                await connection.execute(one)
            return await connection.fetch(statements[-1])
        finally:
            await connection.close()

    return asyncio.run(main())
