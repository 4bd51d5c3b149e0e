"""`trouble` and `soak`: everything that goes wrong at once among healthy hosts, and a long run at a high rate."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import runpy
import time
import urllib.request
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from live_fresh import BIN, DELAY, LOG_PUSH, REPLAN, world
from live_hard import crawl_words, sound
from live_judge import Table, courtesy
from live_web import Home, TestWeb, finish, resident_megabytes, wait_for

from mayfly.testing.misbehaviour import MISBEHAVIOURS
from mayfly.testing.witness import Pages, read_journal

ADDRESS = "127.0.0.9"  # so that other loopback addresses are as forbidden as any
EXPECTED = Path(__file__).parents[1] / "tests" / "fetch" / "test_misbehaviours.py"
IN_TIME = {  # what is other than at a first look: it is gone, it is well again, the web gives up before we do
    "vanishing": "reset", "busy-then-well": "", "endless-continue": "no-answer",
}  # fmt: skip
WARM_UP = 300.0  # seconds of a soak before its memory counts
LAG_EVERY = 0.01


# Trouble


def trouble(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """Healthy hosts alone, and the same among a hundred that misbehave."""
    # One host refuses twice before it is well, and is left alone for a minute or more each time.
    seconds, hosts, budget = asked.seconds or 200.0, asked.hosts or 30, asked.budget or 100.0
    alone, _, _, _ = _among(folder / "alone", [], seconds, hosts, budget, asked.seed)
    names = {name: one.apart.replace("/robots.txt", "/") for name, one in MISBEHAVIOURS.items()}
    among, memory, home, visits = _among(folder / "among", list(names.values()), seconds, hosts, budget, asked.seed)
    table.say("median delay of healthy pages alone, seconds", alone)
    table.most("  among trouble", among, 1.1 * alone)
    half = len(memory) // 2
    table.say("memory at half time, MB", median(memory[half : half + 10]))
    table.most("  at the end", median(memory[-10:]), median(memory[half : half + 10]) + 20)
    table.say("  the most at any time", max(memory))
    reasons(table, home, names)
    sound(table, home, folder / "among")
    courtesy(table, visits, DELAY, budget, {"robots-slow.test": 120.0}, _noted_late())


def _among(folder: Path, urls: list[str], seconds: float, hosts: int, budget: float, seed: int):
    """Median delay of healthy pages, memory by the second, and the home. Trouble is served by a process of its own."""
    (folder / "trouble").mkdir(parents=True)
    wrong = TestWeb(folder / "trouble", "--hosts", "1", "--tls", "--address", ADDRESS)
    with TestWeb(folder, *world(hosts, seconds + 60, seed), "--address", ADDRESS) as web, wrong:
        routes = [*web.routes(), *(rule for rule in wrong.routes(everything=True) if not rule.startswith("site-"))]
        home = Home(folder / "home", routes, f"{ADDRESS}/32", bin=f"{BIN}s")
        home.find(web.hosts, "--budget", budget, "--host-delay", 0.1)
        if urls:
            _make_bombs(wrong)
            home.must("sources add", *urls)
        time.sleep(DELAY)
        began = time.time()
        memory: list[float] = []
        crawl = home.start(*crawl_words(budget, seconds, DELAY), log=folder / "crawl.log")
        wait_for(crawl, seconds + 10, 1.0, lambda: memory.append(resident_megabytes(crawl.pid)))
        finish(crawl, 90)
    healthy = read_journal(web.journal, began)
    pages = Pages(web.trace, healthy)
    at, trace, read = pages.fetched_at(), pages.trace, pages.baselines()
    known = np.array([read.get(host, np.inf) for host in pages.host_of])
    counted = (trace.published >= known) & (trace.published < began + seconds - 15) & np.isfinite(at)
    late = float(np.median((at - trace.published)[counted])) if counted.any() else np.inf
    return late, memory, home, sorted(healthy + read_journal(wrong.journal, began), key=lambda visit: visit.at)


def _make_bombs(web: TestWeb) -> None:
    """To pack 256 MB takes the web a while, the first time it is asked."""
    for name in ("gzip-bomb", "gzip-twice", "br-bomb", "zstd-bomb", "sitemap-bomb", "deep-nesting", "many-links"):
        one = MISBEHAVIOURS[name]
        path = one.apart.partition("test")[2]
        asked = urllib.request.Request(f"http://{web.address}:{web.port}{path}", headers={"Host": one.own_host})
        with urllib.request.urlopen(asked, timeout=120) as answer:
            answer.read()


def _noted_late() -> frozenset[str]:
    """Sites whose answers the web plays byte by byte: it learns late that the client has left."""
    return frozenset(one.own_host for one in MISBEHAVIOURS.values() if one.answer.__module__.endswith("streams")) | {
        "robots-silent.test", "vanishing.test",
    }  # fmt: skip


def reasons(table: Table, home: Home, names: dict[str, str]) -> None:
    """What `mayfly health` says of every misbehaviour, against what it should: its reason, or nothing of the kind where
    the crawler copes; such a one must have been read.
    """
    expected = runpy.run_path(str(EXPECTED))["EXPECTED"]
    crawls: dict[str, Any] = {row["url"]: row["crawls"] for row in home.rows("sources", "--state", "all")}
    health = json.loads(home.run("health", "--json").stdout)
    said = {url: reason for finding in health["findings"] for url, reason in finding["sources"].items()}
    wrong: list[str] = []
    failing = 0
    for name, url in names.items():
        wanted = IN_TIME.get(name, str(expected.get(name) or ""))
        failing += bool(wanted)
        if said.get(url, "") != wanted or (not wanted and not crawls.get(url)):
            wrong.append(f"{name}: '{said.get(url, 'not named')}' instead of '{wanted}', {crawls.get(url)} crawls")
    table.say("misbehaviours; of them to be named as failures", f"{len(names)}; {failing}")
    table.most("  not named by mayfly health with their reason", len(wrong), 0)
    for line in wrong:
        table.say("   ", line)


# Soak


def soak(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """A crawl at a high rate for long: memory and lag of its event loop, looked at from inside."""
    seconds, rate = asked.seconds or 1800.0, asked.rate
    hosts = asked.hosts or int(0.65 * rate)  # each takes two requests a second at most
    with TestWeb(folder, *world(hosts, seconds, asked.seed)) as web:
        home = Home(folder / "home", web.routes(), bin=f"{BIN}s")
        home.find(web.hosts, "--budget", rate, "--host-delay", 0.1)
        time.sleep(DELAY)
        began = time.time()
        from mayfly.fetch.loop import run

        samples = run(_soaked(home, rate, seconds, web.pid))
    visits = read_journal(web.journal, began)
    table.least("requests a second", len(visits) / seconds, 0.98 * rate)
    warm = [one for one in samples if one[0] >= min(WARM_UP, seconds / 3)]
    table.most(f"memory at the end against that at {warm[0][0]:.0f} s, MB", warm[-1][1] - warm[0][1], 0.1 * warm[0][1])
    lags = np.concatenate([one[2] for one in warm])
    table.most("event-loop lag, 99 of 100 under, ms", 1000 * float(np.quantile(lags, 0.99)), 100.0)
    table.say("  the longest, ms", 1000 * float(lags.max()))
    sound(table, home, folder)
    courtesy(table, visits, DELAY, rate)


async def _soaked(home: Home, rate: float, seconds: float, web: int) -> list[tuple[float, float, np.ndarray]]:
    from mayfly.cli.crawl import opened
    from mayfly.cli.layers import resolve

    flags = {"budget": str(rate), "host-delay": str(DELAY), "replan": f"{REPLAN}s", "log-push": f"{LOG_PUSH}s"}
    settings, _ = resolve(home.path, flags)
    samples: list[tuple[float, float, np.ndarray]] = []
    async with opened(home.path, settings) as crawler:
        watch = asyncio.ensure_future(_watch(samples, crawler, home, web, min(60.0, seconds / 6)))
        await crawler.run(seconds)
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
    return samples


async def _watch(samples: list[tuple[float, float, np.ndarray]], crawler, home: Home, web: int, every: float) -> None:
    """A line a minute: memory, lag, requests."""
    loop = asyncio.get_running_loop()
    began, asked = loop.time(), 0
    while True:
        lags, until = [], loop.time() + every
        while loop.time() < until:
            due = loop.time() + LAG_EVERY
            await asyncio.sleep(LAG_EVERY)
            lags.append(max(loop.time() - due, 0.0))
        done = sum(crawler.parts.door.requests.values())
        samples.append((loop.time() - began, resident_megabytes(os.getpid(), but=web), np.array(lags)))
        print(
            f"    {samples[-1][0]:5.0f} s {samples[-1][1]:6.0f} MB  {(done - asked) / every:6.1f} requests/s  lag p99 "
            f"{1000 * float(np.quantile(lags, 0.99)):5.1f} ms  {len(gc.get_objects()):,} objects  "
            f"database {_megabytes(home, 'mayfly.db')} and {_megabytes(home, 'mayfly.db-wal')} MB",
            flush=True,
        )
        asked = done


def _megabytes(home: Home, name: str) -> int:
    path = home.path / name
    return path.stat().st_size // 1_000_000 if path.exists() else 0
