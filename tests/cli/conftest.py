"""What tests of the live commands share: the command run in this process, and a home of its own."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from mayfly.cli import home as homes
from mayfly.cli import main
from mayfly.store.records import (
    Crawled,
    Estimate,
    Fetched,
    FetchFailure,
    KeptRobots,
    Memory,
    Minute,
    NewSource,
    Outcome,
    ShownLink,
)
from mayfly.store.sqlite import SqliteStore
from mayfly.testing.messages import Answer, Reply, Request
from mayfly.testing.server import Server, in_thread


class Done(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("MAYFLY_"):
            monkeypatch.delenv(name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def command(capsys, monkeypatch, home):
    """Run a command on the home, in this process: much quicker than another one."""

    def run(*words: object) -> Done:
        monkeypatch.setenv("MAYFLY_HOME", str(home))
        monkeypatch.setattr(sys, "argv", ["mayfly", *map(str, words)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        return Done(status, *capsys.readouterr())

    return run


class Site:
    """A host on loopback whose pages a test writes: `site.pages[path] = reply`."""

    host, root = "paper.test", "http://paper.test"

    def __init__(self) -> None:
        self.pages: dict[str, Answer] = {}
        self.server = Server({self.host: self, "other.test": self})

    def __call__(self, request: Request) -> Answer:
        return self.pages.get(request.path, Reply(b"no such page", 404, "text/plain"))

    def show(self, path: str, *links: str) -> None:
        """A page with these links, or one to read."""
        items = "".join(f'<li><a href="{link}">Story about {link}</a></li>' for link in links)
        text = items or f"<p>{f'What happened at {path}. ' * 30}</p>"
        page = f"<!doctype html><html lang=en><head><title>{path}</title></head><body>{text}</body></html>"
        self.pages[path] = Reply(page.encode())

    @property
    def settings(self) -> dict[str, str]:
        """With which commands get there, and wait for nothing."""
        return {
            "connect-to": f"::127.0.0.1:{self.server.port}", "allow-private-addresses": "127.0.0.0/8",
            "host-delay": "0.02", "address-delay": "0", "budget": "50", "replan": "0.5s",
        }  # fmt: skip

    def visits(self, path: str) -> int:
        return [visit.target for visit in self.server.journal.visits()].count(path)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site, and the environment in which commands find it."""
    made = Site()
    with in_thread(made.server):
        for name, value in made.settings.items():
            monkeypatch.setenv(f"MAYFLY_{name.upper().replace('-', '_')}", value)
        yield made


@pytest.fixture
def lived(home: Path) -> Path:
    """A home with a day of history: a newspaper with three sources, one host that fails, and things from the web that
    would like to do something to a terminal.
    """
    homes.prepare(home)
    asyncio.run(_live(home))
    return home


BEGIN = time.time() - 20 * 3600.0
EVIL = "\x1b]0;owned\x07\x1b[31m[bold]Bad[/bold] title\u202e"
FRONT, FEED, SECTION = "https://paper.example/", "https://paper.example/feed.xml", "https://paper.example/news/"


def story(number: int, **said) -> ShownLink:
    return ShownLink(f"https://paper.example/story-{number}", "paper.example", f"Story {number}", number, **said)


async def _live(home: Path) -> None:
    async with SqliteStore(home / "mayfly.db") as store:
        await store.add_hosts(BEGIN, ["paper.example", "gone.example"])
        await store.host_searched("paper.example", BEGIN)
        await store.host_searched("gone.example", BEGIN, "dns")
        found = [NewSource(FRONT, "front"), NewSource(FEED, "feed", FRONT), NewSource(SECTION, "category", FRONT)]
        await store.add_sources(BEGIN, found)
        old = [story(number, wanted=False) for number in (1, 2)]
        await store.commit(_crawl(0, 0.0, old, first=True))
        await store.commit(_crawl(1, 10.0, [story(1, wanted=False)], first=True))
        await store.commit(_crawl(0, 3600.0, [story(3), *old]))
        dated = [story(3), story(4, published=BEGIN + 5000.0, published_from="feed")]
        await store.commit(_crawl(1, 7200.0, dated))
        await store.commit(_crawl(0, 7300.0, [story(5), story(4), story(3)]))
        await store.commit(_crawl(0, 36000.0, [story(5), story(6)]))
        for page, outcome in ((1, "fetched"), (2, "fetched"), (3, "old")):
            await store.commit(_fetch(page, 7400.0 + page, outcome))
        await store.commit(FetchFailure("source", 2, BEGIN + 9000.0, "robots"))
        estimate = Estimate(0, 12 / 86400, 3.0, 1 / 7200, 900.0, 0.8, BEGIN + 36900.0, "site-limited")
        await store.save_estimates([estimate, Estimate(1, 2 / 86400, 0.5, 1 / 7200, None, 0.01, None)])
        await store.note_minute(Minute(BEGIN + 36000.0, 1, 0, 1, 0, 1, 0.4))
        await store.keep_robots(KeptRobots("https://paper.example", ROBOTS, BEGIN))
        await store.note_candidates(BEGIN, "paper.example", ["https://paper.example/sports/"])


ROBOTS = b"User-agent: *\nDisallow: /private/\nDisallow: /news/\nCrawl-delay: 30"


def _crawl(source: int, after: float, links: list[ShownLink], first: bool = False) -> Crawled:
    return Crawled(source, BEGIN + after, 200, 0.1, 1000, Memory(), links, first=first)


def _fetch(page: int, after: float, outcome: Outcome) -> Fetched:
    return Fetched(
        page, BEGIN + after, outcome, 200, 0.1, 2000, f"https://paper.example/story-{page + 2}",
        title=EVIL if page == 1 else f"Title {page}", language="en", body_hash=page, text=f"words of story {page}",
        published=BEGIN + 3000.0 + page, published_from="json-ld",
    )  # fmt: skip
