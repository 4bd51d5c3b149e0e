"""The trials of `bench/live.py`, each in a few seconds: whole crawls of the test web, judged from its request log.

`pytest -m "not trial"` leaves them out.
"""

import asyncio
import importlib.util
import re
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from mayfly.core.model import DAY
from mayfly.crawl.checkup import look
from mayfly.crawl.clock import Clock
from mayfly.store.records import NewSource
from mayfly.testing.misbehaviour import MISBEHAVIOURS
from mayfly.testing.server import Server, in_thread
from mayfly.testing.web import Web
from mayfly.testing.witness import Pages, Visit
from mayfly.testing.world import small_shape

pytestmark = pytest.mark.trial
BENCH = Path(__file__).parents[2] / "bench"
MAYFLY = Path(sys.executable).with_name("mayfly")
FACTOR, HEAD_START = 3600.0, DAY / 4
REASONS = {
    "silence": "timeout", "endless-body": "body-too-large", "garbage": "bad-answer", "empty-reply": "no-answer",
    "redirect-loop": "redirect-loop", "forbidden": "refused", "redirect-chain": "too-many-redirects",
    "redirect-to-10": "forbidden-address", "redirect-to-file": "bad-redirect", "busy-503": "busy",
    "error-500": "server-error", "html-as-image": "media", "unknown-encoding": "bad-encoding",
    "robots-500": "robots-unreachable", "robots-forbids": "robots", "length-too-long": "cut-short", "calendar": "",
    "session-ids": "", "entity-bomb-feed": "",
}  # fmt: skip


def _from_bench(name):
    found = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    sys.modules[name] = module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


judge = _from_bench("live_judge")
_from_bench("live_web")


@pytest.fixture
def web():
    """Three papers, a few pages of each in a second."""
    return Web(seed=3, factor=FACTOR, shape=small_shape(3, days=3.0, pages_per_day=60), head_start=HEAD_START)


@pytest.fixture
def living(house, web):
    """The house, on that web."""
    with in_thread(Server(web.sites)) as server:
        house.server = server
        house.find(*web.hosts)
        yield house


def visits_of(server, since=0.0):
    visits = [
        Visit(visit.at, visit.ended or visit.at, visit.host, visit.target, visit.status)
        for visit in server.journal.visits()
        if visit.at >= since
    ]
    return sorted(visits, key=lambda visit: visit.at)


class AfterBaselines:
    """So long after all sources were read once, and until each was read thrice more, however busy the machine is."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.end = None  # of what is judged
        self.enough = {}

    def __call__(self, crawler):
        sources = [source for source in crawler.parts.sources if source.url.startswith("http://site-")]
        if self.end is None:
            if sources and all(source.crawls or source.failures for source in sources):
                self.end = time.time() + self.seconds
            return False
        if time.time() < self.end:
            self.enough = {source.number: source.crawls + 3 for source in sources if source.crawls}
            return False
        read = [crawler.parts.sources[number].crawls >= crawls for number, crawls in self.enough.items()]
        return np.mean(read) >= 0.9 and not crawler.parts.pages


def address_of(url):
    host, _, path = url.removeprefix("http://").partition("/")
    return host, f"/{path}"


def late_of(pages, until):
    """Delays of the pages published after the baselines; inf: not fetched."""
    read = pages.baselines()
    known = np.array([read.get(host, np.inf) for host in pages.host_of])
    counted = (pages.trace.published >= known) & (pages.trace.published < until)
    assert counted.sum() >= 3
    return (pages.fetched_at() - pages.trace.published)[counted]


def assert_nothing_lost(living, pages):
    """All that was fetched is kept, and what is kept is sound."""
    kept = [*living.ask(lambda store: store.pages(first=10_000)), *living.ask(lambda store: store.waiting())]
    assert set(pages.fetches) <= {pages.page_of(Visit(0, 0, *address_of(page.url), 0)) for page in kept}
    assert living.ask(lambda store: store.check()) == []


def assert_courteous(visits, delay, budget):
    assert judge.too_short(visits, delay) == []
    assert judge.disallowed(visits) == []
    assert judge.most_within(visits, 60.0) <= 1.02 * 60 * budget + 1


def test_with_an_ample_budget_all_new_pages_are_fetched_once_and_soon(living, web):
    began, lags, over = time.time(), [], AfterBaselines(3.0)

    async def work():
        async with living.opened(budget=100.0, host_delay=0.05) as crawler:
            watch = asyncio.ensure_future(feel(crawler, over))
            await crawler.run(60.0)
            watch.cancel()

    async def feel(crawler, over):
        while not over(crawler):
            due = time.monotonic() + 0.01
            await asyncio.sleep(0.01)
            lags.append(time.monotonic() - due)
        crawler.stop()

    asyncio.run(work())
    visits = visits_of(living.server, began)
    pages = Pages(web.trace, visits)
    late = late_of(pages, over.end)
    assert np.isfinite(late).mean() >= 0.95  # bench/live.py measures
    assert pages.twice_by_page() == []
    assert_courteous(visits, 0.05, 100.0)
    assert np.quantile(lags, 0.9) < 1.0  # tests run beside this one


def test_the_clock_set_an_hour_on_and_back_makes_no_burst_and_no_stall(living, web):
    began = time.time()

    def wall():
        now = time.time()
        return now + (3600.0 if began + 2 <= now < began + 3.5 else 0.0)

    living.crawl(seconds=5.0, host_delay=0.05, budget=20.0, clock=Clock(wall))
    visits = visits_of(living.server, began)
    spent = [visit.at for visit in visits if visit.at > began + 1.5]
    assert np.diff(spent).max() < 3.0  # a step that stalled it would do so for an hour
    assert judge.most_within(visits, 1.0) <= 1 + 1.5 * 20
    assert_courteous(visits, 0.05, 20.0)


def test_trouble_among_healthy_hosts_is_named_and_stops_nobody(living, web):
    urls = {name: MISBEHAVIOURS[name].apart.replace("/robots.txt", "/") for name in REASONS}
    rules = tuple(living.server.connect_to_names)
    living.ask(lambda store: store.add_sources(time.time(), [NewSource(url, "other") for url in urls.values()]))
    began = time.time()
    over = AfterBaselines(3.0)
    living.crawl(60.0, over, host_delay=0.05, fetch_seconds=2.0, connect_to=rules)
    late = late_of(Pages(web.trace, visits_of(living.server, began)), over.end)
    assert np.isfinite(late).mean() >= 0.95
    crawls = {source.url: source.crawls for source in living.ask(lambda store: store.sources())}
    health = living.ask(lambda store: look(store, living.home, living.settings(), time.time()))
    said = {url: reason for finding in health.findings for url, reason in finding.sources.items()}
    assert {name: said.get(url, "") for name, url in urls.items()} == REASONS
    assert all(crawls[url] for name, url in urls.items() if not REASONS[name])


def test_readers_and_writers_of_one_home_are_in_nobodys_way(living, web):
    home, ends = living.home, []
    began, stop = time.time(), threading.Event()

    def repeat(*words, rows=None):
        while not stop.is_set():
            text = "" if rows is None else "\n".join(rows())
            done = subprocess.run([MAYFLY, *words, "--home", home], input=text, capture_output=True, text=True)
            ends.append((words[0], done.returncode, done.stderr))

    loops = [
        threading.Thread(target=repeat, args=("pages", "--json")),
        threading.Thread(target=repeat, args=("clicks", "-"), kwargs={"rows": lambda: web.clicks(since=began)}),
    ]
    for loop in loops:
        loop.start()
    living.crawl(seconds=5.0, host_delay=0.05)
    stop.set()
    for loop in loops:
        loop.join()
    assert len(ends) >= 2
    assert [end for end in ends if end[1] or end[2]] == []
    assert_nothing_lost(living, Pages(web.trace, visits_of(living.server, began)))


def test_a_disk_that_takes_no_more_ends_the_crawl_with_a_sentence_and_loses_nothing(living, web):
    home = living.home
    began = time.time()
    living.crawl(seconds=2.0, host_delay=0.05)
    lines = [f'connect-to = ["::127.0.0.1:{living.server.port}"]', 'allow-private-addresses = ["127.0.0.0/8"]']
    (home / "mayfly.toml").write_text("\n".join(lines) + "\n")

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    full = time.time()
    words = [MAYFLY, "crawl", "--home", home, "--budget", "100", "--host-delay", "0.05", "--for", "30s"]
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=little_room, timeout=60)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert len(re.findall(r"^mayfly: .*(?:disk|full|written|too large)", done.stderr, re.MULTILINE)) == 1, done.stderr
    broken = time.time()
    living.crawl(seconds=3.0, host_delay=0.05)
    pages = Pages(web.trace, visits_of(living.server, began))
    assert_nothing_lost(living, pages)
    assert [page for page in pages.twice_by_page() if not full <= pages.fetches[page][0].at <= broken] == []


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kill_9_loses_nothing(kind, request):
    words = ["--store", request.getfixturevalue("postgres").create("killed")] if kind == "postgres" else []
    words += ["killed", "--kills", "4", "--alive", "2", "--hosts", "3", "--seconds", "4", "--delay", "0.1"]
    done = subprocess.run([sys.executable, BENCH / "live.py", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
