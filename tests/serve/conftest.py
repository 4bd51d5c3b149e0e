"""The API as people run it: another process, real HTTP on loopback."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from mayfly.store.records import Crawled, Estimate, Fetched, Memory, Minute, NewSource, ShownLink
from mayfly.store.sqlite import SqliteStore

COMMAND = [sys.executable, "-c", "from mayfly.cli import main; main()", "serve", "--bind", "127.0.0.1:0"]
SITE = "paper.example"


class Running(NamedTuple):
    """A server, and a client of it."""

    process: subprocess.Popen
    url: str
    http: httpx.Client
    home: Path

    def stop(self, how: int = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(how)
        rest = self.process.stderr.read()
        return self.process.wait(20), rest


@contextmanager
def _serving(home: Path, *flags: str, **environment: str) -> Iterator[Running]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAYFLY_")}
    command = [*COMMAND, "--home", str(home), *flags]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=clean | environment)
    try:
        first = process.stderr.readline()
        found = re.search(r"http://\S+", first)
        assert found, first + process.stderr.read()
        token = environment.get("MAYFLY_TOKEN")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with httpx.Client(base_url=found[0], headers=headers, timeout=30.0, trust_env=False) as http:
            yield Running(process, found[0], http, home)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def url(number: int) -> str:
    return f"https://{SITE}/story-{number}"


async def land(home: Path, *numbers: int, outcome: str = "fetched") -> None:
    """Pages are found and fetched, as a crawl would."""
    async with SqliteStore(home / "mayfly.db") as store:
        await store.add_sources(10.0, [NewSource(f"https://{SITE}/", "front")])
        links = [ShownLink(url(number), SITE, f"Story {number}", number) for number in numbers]
        landed = await store.commit(Crawled(0, 100.0, 200, 0.1, 1000, Memory(), links))
        for page, link in landed.new:
            said = {"title": f"Title of {link.url}", "text": "words " * 20, "body_hash": page}
            await store.commit(Fetched(page, 200.0, outcome, 200, 0.1, 2000, link.url, **said))


def _lands(home: Path, *numbers: int, **how: str) -> None:
    asyncio.run(land(home, *numbers, **how))


async def _believe(home: Path) -> None:
    async with SqliteStore(home / "mayfly.db") as store:
        await store.save_estimates([Estimate(0, 12 / 86400, 3.0, 1 / 7200, 900.0, 0.8, 36900.0, "")])
        await store.note_minute(Minute(36000.0, 1, 0, 1, 0, 1, 0.4))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with three pages and something that is believed."""
    made = tmp_path_factory.mktemp("home")
    _lands(made, 1, 2, 3)
    asyncio.run(_believe(made))
    return made


@pytest.fixture(scope="module")
def api(home: Path) -> Iterator[Running]:
    """A server without a token, for tests that only add to what is there."""
    with _serving(home, "--clicks-per-second", "1000000", "--indexnow-keys", "a-key-of-a-site") as running:
        yield running


@pytest.fixture(scope="session")
def serving():
    """Runs a server on a home: `with serving(home, flags…, SETTING=…) as running`."""
    return _serving


@pytest.fixture(scope="session")
def lands():
    """Lets pages land in a home."""
    return _lands


@pytest.fixture
def kept(home: Path):
    """What the store of the home says, asked directly."""

    def ask(name: str, *values, home: Path = home):
        async def main():
            async with SqliteStore(home / "mayfly.db", read_only=True) as store:
                return await getattr(store, name)(*values)

        return asyncio.run(main())

    return ask
