"""One battery for every kind of store: a fixture opens each, and tests talk to it as if nothing were asynchronous."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mayfly.store.records import Crawled, Fetched, Memory, NewSource, ShownLink
from mayfly.store.sqlite import SqliteStore

KINDS: dict[str, Callable[[Path], Any]] = {"sqlite": lambda home: SqliteStore(home / "mayfly.db")}


class Plainly:
    """A store whose methods return when they are done; iterators come as lists."""

    def __init__(self, store: Any, runner: asyncio.Runner) -> None:
        self.store, self.runner = store, runner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            return self.together(getattr(self.store, name)(*values, **named))[0]

        return call

    def together(self, *calls: Any) -> list[Any]:
        """What comes of calls that are made at once."""

        async def main() -> list[Any]:
            return await asyncio.gather(*(_whole(call) for call in calls), return_exceptions=True)

        results = self.runner.run(main())
        for result in results:
            if len(results) == 1 and isinstance(result, BaseException):
                raise result
        return results


async def _whole(call: Any) -> Any:
    return [each async for each in call] if inspect.isasyncgen(call) else await call


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
        what = {"status": 200, "seconds": 0.5, "wire_bytes": 9000, "final_url": self.url(page)} | what
        return Fetched(page, at, outcome, **what)


@pytest.fixture(scope="session")
def make() -> Made:
    return Made()


@pytest.fixture(params=KINDS)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Plainly]:
    """A store that holds nothing."""
    with asyncio.Runner() as runner:
        store = runner.run(KINDS[request.param](tmp_path).__aenter__())
        try:
            yield Plainly(store, runner)
        finally:
            runner.run(store.__aexit__(None, None, None))


@pytest.fixture
def store(empty: Plainly, make: Made) -> Plainly:
    """A store with three sources."""
    assert empty.add_sources(10.0, [make.source(number) for number in range(3)]) == [0, 1, 2]
    return empty


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Callable[..., Plainly]]:
    """Opens SQLite stores in a folder of the test's own, and closes them."""
    opened = []
    with asyncio.Runner() as runner:

        def open_one(path: Path = tmp_path / "mayfly.db", **how: Any) -> Plainly:
            store = SqliteStore(path, **how)
            runner.run(store.__aenter__())
            opened.append(store)
            return Plainly(store, runner)

        yield open_one
        for store in opened:
            runner.run(store.__aexit__(None, None, None))
