"""Pages as people see them: Debian's Chromium, and servers of homes with nothing, with a few days and with very much.

Chromium is started by module, not by session: the driver holds an event loop in this thread while it runs, and other
tests of the same worker need theirs.
"""

import asyncio
import contextlib
import importlib.util
import os
import shutil
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvicorn
from playwright.sync_api import expect, sync_playwright

from mayfly.core.model import DAY, HOUR
from mayfly.crawl.settings import Settings
from mayfly.serve.app import make_app
from mayfly.serve.parts import Serving
from mayfly.store.connection import connect
from mayfly.store.records import (
    ClickRow,
    Crawled,
    Estimate,
    Fetched,
    FetchFailure,
    KeptRobots,
    Memory,
    NewSource,
    Rest,
    ShownLink,
)
from mayfly.store.sqlite import SqliteStore
from mayfly.testing.prose import headline, paragraphs

NOW = 1_790_000_000.0
MANY = 100_000
TOKEN = "a-token-of-24-characters"
PATIENCE = 30.0  # seconds for anything to appear: the machine may be busy
AXE = Path(__file__).parent / "axe" / "axe-4.14.0.min.js"
BENCH = Path(__file__).parents[2] / "bench"
# Sources of the newspapers, one with an address that does not end; what is believed of them: new a day, clicks a page.
SOURCES = (
    ("https://www.harbour-post.example/", "front", 30.0, 6.0),
    ("https://www.harbour-post.example/sport/", "category", 12.0, 2.5),
    ("https://evening.example/feed.xml", "feed", 20.0, 4.0),
    (f"https://evening.example/{'very-long-words-without-a-break' * 5}?page=1&order=newest", "category", 3.0, 0.2),
    ("https://quiet.example/", "front", 0.5, 1.0),
)
# Titles that try a page: no place to break, another direction, markup.
TITLES = {3: "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2,
          5: "السلام عليكم ورحمة الله", 8: "<script>document.title = 'taken'</script>"}  # fmt: skip


class Sizes(NamedTuple):
    """Of a window."""

    wide: tuple[int, int] = (1280, 800)
    phone: tuple[int, int] = (390, 844)


class Server(NamedTuple):
    """What is served of a home, and from where."""

    url: str
    home: Path
    token: str


@contextlib.contextmanager
def _served(
    home: Path, fill: Callable[[Path], Coroutine[Any, Any, None]] | None = None, **settings: Any
) -> Iterator[Server]:
    """In a thread: servers in processes of their own would take longer to start than all their tests."""
    stop: list[Callable[[], object]] = []
    where: Future[str] = Future()

    async def main() -> None:
        if fill is not None:
            await fill(home / "mayfly.db")
        async with SqliteStore(home / "mayfly.db") as store, SqliteStore(home / "mayfly.db", read_only=True) as reader:
            told = Settings(**{"budget": 2.0, **settings})
            serving = Serving(home, told, "mayfly", store, reader, clock=lambda: NOW)
            config = uvicorn.Config(make_app(serving), http="h11", ws="none", lifespan="off", log_level="error")
            server = uvicorn.Server(config)
            stop.extend((lambda: setattr(server, "should_exit", True), serving.stopping.set))
            with socket.create_server(("127.0.0.1", 0)) as listening:
                where.set_result(f"http://127.0.0.1:{listening.getsockname()[1]}")
                await server.serve(sockets=[listening])
            await serving.ledger.close()

    def work() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:
            where.set_exception(error)

    thread = threading.Thread(target=work, name="served", daemon=True)
    thread.start()
    try:
        yield Server(where.result(PATIENCE), home, settings.get("token", ""))
    finally:
        for one in stop:
            one()
        thread.join(PATIENCE)


@pytest.fixture(scope="session")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with _served(tmp_path_factory.mktemp("nothing")) as server:
        yield server


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With a token, and nothing to see."""
    with _served(tmp_path_factory.mktemp("guarded"), token=TOKEN) as server:
        yield server


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Three days of a few newspapers."""
    home = tmp_path_factory.mktemp("papers")
    with _served(home, _papers) as server:
        yield server


@pytest.fixture(scope="session")
def much(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A hundred thousand sources; every hundredth is retired."""
    home = tmp_path_factory.mktemp("much")
    _fill(home / "mayfly.db", MANY)
    database = connect(home / "mayfly.db")
    with database:
        database.execute("UPDATE sources SET state = 'retired' WHERE id % 100 = 7")
    database.close()
    with _served(home) as server:
        yield server


@pytest.fixture(scope="session")
def scarce(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two thousand sources, and a budget for some of them."""
    home = tmp_path_factory.mktemp("scarce")
    _fill(home / "mayfly.db", 2000)
    with _served(home, budget=0.04) as server:
        yield server


def _fill(path: Path, sources: int) -> None:
    """As `bench/watching.py` does."""
    found = importlib.util.spec_from_file_location("watching", BENCH / "watching.py")
    watching = importlib.util.module_from_spec(found)
    found.loader.exec_module(watching)
    watching.fill(path, sources, NOW)


async def _papers(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.add_hosts(NOW - 3 * DAY, ["gone.example"])
        await store.host_searched("gone.example", NOW - DAY, "dns")
        await store.add_sources(NOW - 3 * DAY, [NewSource(url, kind) for url, kind, *_ in SOURCES])
        for source in range(len(SOURCES)):
            await store.commit(Crawled(source, NOW - 3 * DAY + source, 200, 0.1, 4000, Memory(), [], first=True))
        for number in range(75):
            await _story(store, number)
        failed = FetchFailure("source", 4, NOW - HOUR, "busy", "", 429, NOW + 600, Rest("quiet.example", NOW + 600))
        for _ in range(6):
            await store.commit(failed)
        await store.save_estimates([
            Estimate(source, rate / DAY, profit, 1 / ((3 + source) * HOUR), 600.0 + 900 * source if profit > 1 else
                     None, rate * profit / 100, NOW + 60 * source, "" if profit > 1 else "below the price")
            for source, (_, _, rate, profit) in enumerate(SOURCES)
        ])  # fmt: skip
        await store.keep_robots(KeptRobots("https://evening.example", b"User-agent: *\nCrawl-delay: 30\n", NOW - HOUR))
    database = connect(path)
    with database:
        database.executemany(
            "INSERT INTO minutes (at, crawls, pages, others, failures, found, price, budget)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 2)",
            [(NOW - 60.0 * ago, 60 + ago % 17, 40 - ago % 11, ago % 5, ago % 3, ago % 7, 0.4 + ago % 40 / 100)
             for ago in range(1, 60 * 48)],
        )  # fmt: skip
    database.close()


async def _story(store: SqliteStore, number: int) -> None:
    """One is published, found and fetched, and read by some."""
    source = number % 3
    url = SOURCES[source][0]
    host = url.split("/")[2]
    title = TITLES.get(number, headline(1, number))
    published = NOW - 2.5 * DAY + number * 2800.0
    link = ShownLink(f"https://{host}/story-{number}", host, title, 1)
    landed = await store.commit(Crawled(source, published + 300, 200, 0.2, 5000, Memory(), [link]))
    page = landed.new[0].page
    said = {"title": title, "text": " ".join(paragraphs(1, number)), "body_hash": page, "language": "en",
            "published": published, "published_from": "meta"}  # fmt: skip
    await store.commit(Fetched(page, published + 420, "fetched", 200, 0.1, 2000, link.url, **said))
    clicks = [ClickRow(link.url, published + 600 + 1800 * after, 1.0 + number % 3) for after in range(3)]
    await store.add_clicks(published + 7200, clicks)


@pytest.fixture(scope="session")
def make_server() -> type[Server]:
    return Server


@pytest.fixture(scope="session")
def sizes() -> Sizes:
    return Sizes()


@pytest.fixture(scope="session")
def axe() -> str:
    """The program that looks for what keeps people out."""
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def ask() -> Callable[[Server, str], list[tuple]]:
    """Asks the database itself."""

    def rows(server: Server, query: str) -> list[tuple]:
        database = connect(server.home / "mayfly.db")
        try:
            return list(database.execute(query))
        finally:
            database.close()

    return rows


@pytest.fixture(scope="session")
def tab_to() -> Callable[..., None]:
    """Presses Tab until what has the focus says that, or is that."""

    def press(page: Any, text: str, selector: str = "") -> None:
        page.wait_for_load_state()
        seen = []
        for _ in range(120):
            page.keyboard.press("Tab")
            said, there = page.evaluate(
                "(it) => [document.activeElement.innerText, it && document.activeElement.matches(it)]",
                selector,
            )
            if there or (text and said.strip().rstrip("▼▲") == text):
                return
            seen.append(said.strip()[:30])
        raise AssertionError(f"Tab does not lead to {selector or text!r} but to {seen}")

    return press


class Window:
    """A window of the browser that keeps what its pages complained of, and what they asked others for."""

    def __init__(self, context: Any, server: Server, scripts: bool) -> None:
        self.server, self.scripts = server, scripts
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self.page = context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)

    def open(self, path: str) -> Any:
        """Its page, when all that is drawn there is drawn."""
        self.page.goto(self.server.url + path)
        if self.scripts:
            expect(self.page.locator("[data-chart]:not(.none):not(:has(canvas)), #list:empty")).to_have_count(0)
        return self.page

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{self.page.url}: {message.text}")

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((f"{self.server.url}/", "data:", "blob:")):
            self.strangers.append(request.url)


@pytest.fixture(scope="module")
def flags() -> list[str]:
    """What else the browser of a module is told: no name leads anywhere."""
    return ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


@pytest.fixture(scope="session", autouse=True)
def program() -> str:
    """Where Chromium is; asked for first, so that nothing is made for tests that are skipped."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium: install Debian's package chromium, or say in CHROMIUM where it is")
    return path


@pytest.fixture(scope="module")
def chromium(program: str, flags: list[str]) -> Iterator[Any]:
    """The browser."""
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as driver:
        box = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium does not box itself in as root
        browser = driver.chromium.launch(executable_path=program, args=[*flags, *box])
        yield browser
        browser.close()


@pytest.fixture
def window(chromium: Any) -> Iterator[Callable[..., Window]]:
    """Opens windows: `window(server, size=sizes.phone, dark=True, scripts=False)`."""
    major = chromium.version.partition(".")[0]
    # As one with a screen says it: who calls himself headless is taken for a robot, whose clicks do not count.
    person = (
        f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0 Safari/537.36"
    )
    with contextlib.ExitStack() as stack:

        def made(
            server: Server, size: tuple[int, int] = Sizes().wide, dark: bool = False, scripts: bool = True
        ) -> Window:
            context = chromium.new_context(
                viewport={"width": size[0], "height": size[1]},
                color_scheme="dark" if dark else "light",
                java_script_enabled=scripts,
                reduced_motion="reduce",
                user_agent=person,
            )
            stack.callback(context.close)
            context.set_default_timeout(1000 * PATIENCE)
            return Window(context, server, scripts)

        yield made
