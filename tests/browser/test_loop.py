"""The circle in one browser: a page is found, read and clicked, its source is worth more, and /ops shows it."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from mayfly.core.model import DAY
from mayfly.testing.server import Server, in_thread
from mayfly.testing.web import Web
from mayfly.testing.world import small_shape

MAYFLY = [sys.executable, "-c", "from mayfly.cli import main; main()"]
PERSON = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
# An hour of the web in a second; plans and pushes of the log every second; not enough budget for everything.
FACTOR, BUDGET = 3600.0, 8.0
SETTINGS = """
allow-private-addresses = ["127.0.0.0/8"]
connect-to = {routes}
host-delay = 0.02
address-delay = 0.01
bin = 1
"""
UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0, "days": 86400.0}
PATIENCE = 120.0  # seconds: what is believed is written down every ten
CRAWLS = 8  # after which a rate is known
NEVER = 1e9  # seconds; people read "–"
CLICKS = 5  # of the browser; those of the others come without one


@pytest.fixture(scope="module")
def web():
    """Two newspapers."""
    made = Web(seed=3, factor=FACTOR, shape=small_shape(2, days=60.0, pages_per_day=40.0), head_start=DAY / 4)
    with in_thread(Server(made.sites)) as server:
        yield made, server


@pytest.fixture(scope="module")
def flags(web):
    """Chromium is to find the web, too; and nothing else."""
    return [f"--host-resolver-rules=MAP *.test 127.0.0.1:{web[1].port}, EXCLUDE 127.0.0.1, MAP * ~NOTFOUND"]


@contextlib.contextmanager
def running(home: Path, *words: object) -> Iterator[subprocess.Popen]:
    """A command, until it is not needed any more."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAYFLY_")}
    command = [*MAYFLY, words[0], "--home", str(home), *map(str, words[1:])]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=clean)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def home(web, tmp_path_factory):
    """Its sources are found, and crawled from now on."""
    made = tmp_path_factory.mktemp("loop")
    web, server = web
    routes = [rule for rule in server.connect_to_names if rule.startswith("site-")]
    (made / "mayfly.toml").write_text(SETTINGS.format(routes=routes).replace("'", '"'))
    with running(made, "find", *web.hosts, "--budget", 100) as find:
        assert find.wait(120) == 0, find.stderr.read()
    with running(made, "crawl", "--budget", BUDGET, "--for", "10m", "--log-push", "1s", "--replan", "1s"):
        yield made


@pytest.fixture(scope="module")
def served(home, make_server):
    with running(home, "serve", "--bind", "127.0.0.1:0") as process:
        found = re.search(r"http://\S+\d", process.stderr.readline())
        yield make_server(found[0], home, "")


def patiently(true: Callable[[], object]) -> None:
    """Until it is so."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.3)


def number(text: str) -> float:
    """What a person reads; 0: nothing is known yet.

    >>> number("1,250"), number("2.5 min"), number("–")
    (1250.0, 150.0, 0.0)
    """
    found = re.fullmatch(r"([\d.,]+)(?: (M))? ?(s|min|h|days)?", text)
    if found is None:
        return 0.0
    return float(found[1].replace(",", "")) * (1e6 if found[2] else 1.0) * UNITS[found[3] or ""]


def on_its_page(page: Page, server, source: int) -> tuple[float, float]:
    """P and the interval, as the page of the source shows them."""
    page.goto(f"{server.url}/ops/sources/{source}")
    tiles = page.locator(".tile")
    profit, interval = (
        tiles.filter(has_text=name).locator("dd").first.inner_text() for name in ("P, clicks", "Interval")
    )
    return number(profit), number(interval)


def in_the_table(page: Page, server, source: int) -> tuple[float, float]:
    """The same in the table of all."""
    page.goto(f"{server.url}/ops/sources?sort=profit")
    cells = page.locator("tr", has=page.locator(f'a[href="/ops/sources/{source}"]')).locator("td").all_inner_texts()
    return number(cells[1]), number(cells[3])


def in_both(page: Page, server, source: int) -> tuple[float, float]:
    """What its page and the table say; the same, unless other beliefs were written down in between."""
    while True:
        shown, listed = on_its_page(page, server, source), in_the_table(page, server, source)
        if on_its_page(page, server, source) == shown:
            assert listed == shown
            return shown


def open_from_the_reader(page: Page, server, title: str, url: str) -> None:
    """Search, click, arrive."""
    page.goto(f"{server.url}/")
    page.get_by_label("Words to search for").fill(title)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Found for “{title}”")
    page.get_by_role("link", name=title, exact=True).first.click()
    expect(page).to_have_url(url)
    expect(page.get_by_role("heading", name=title).first).to_be_visible()


def test_a_click_makes_its_source_worth_more(window, served, ask) -> None:
    """Clicks on pages of one of two newspapers: P of its source rises, and its interval falls, as people see them.

    Intervals of both fall at first, as rates are learned: that is waited for, and its interval is judged against that
    of the same source of the other, which may not be worth a crawl any more.
    """
    page = window(served).page
    alike = f"""
        SELECT a.id, b.id FROM sources a JOIN sources b ON b.kind = a.kind AND b.host != a.host
        WHERE min(a.crawls, b.crawls) >= {CRAWLS}
        AND (SELECT count(*) FROM pages WHERE source = a.id AND outcome = 'fetched') >= {CLICKS}
        ORDER BY min(a.crawls, b.crawls) DESC"""
    patiently(lambda: ask(served, alike))
    source, twin = ask(served, alike)[0]
    believed = f"SELECT page_profit, coalesce(interval, {NEVER}) FROM estimates WHERE source = {{}}"
    patiently(lambda: all(ask(served, f"{believed.format(one)} AND interval IS NOT NULL") for one in (source, twin)))
    profit, interval = in_both(page, served, source)
    other = on_its_page(page, served, twin)
    assert profit and interval

    mine = f"FROM pages JOIN texts USING (landed) WHERE source = {source} AND outcome = 'fetched'"
    for title, url in ask(served, f"SELECT title, url {mine} LIMIT {CLICKS}"):
        open_from_the_reader(page, served, title, url)
    patiently(lambda: ask(served, "SELECT sum(count) FROM clicks WHERE kind = 'click'") == [(CLICKS,)])

    with httpx.Client(base_url=served.url, headers=PERSON, trust_env=False) as others:

        def more_are_read() -> bool:
            for (id,) in ask(served, f"SELECT pages.id {mine}"):
                assert others.get(f"/go/{id}").status_code == 302
            now, there = (ask(served, believed.format(one)) for one in (source, twin))
            return any(
                a[0] > 2 * profit and a[0] > 2 * b[0] and a[1] / b[1] < 0.9 * interval / other[1]
                for a in now
                for b in there
            )

        patiently(more_are_read)
    shown = in_both(page, served, source)
    there = on_its_page(page, served, twin)
    assert shown[0] > 2 * max(profit, there[0]) and 0 < shown[1] / (there[1] or NEVER) < interval / other[1]
