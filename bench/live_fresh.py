"""`ample` and `parity`: how fresh a crawl is, with more budget than it needs and with a third of it.

The world is pressed together by FACTOR: two of its days take ten minutes, and so do the times that belong to it (log
pushes, plans, bins of clicks).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from live_judge import Table, courtesy
from live_web import Home, TestWeb, finish, resident_megabytes, wait_for

from mayfly.lab.excerpt import from_then_on
from mayfly.lab.trace import Trace, write_trace
from mayfly.testing.witness import Pages, read_journal

FACTOR = 288.0
DAY = 86400.0
PAGES_PER_DAY = 30.0  # of the world's day and a host: six a minute of ours
HEAD_START = 0.5  # days of the world before anyone looks
DELAY = 0.5
LAST_MINUTE = 60.0
LOG_PUSH, REPLAN, BIN = 3600 / FACTOR, 1800 / FACTOR, 1200 / FACTOR
AMPLE = 200.0
CLICKS_EVERY = 4.0


def world(hosts: int, seconds: float, seed: int) -> list[str]:
    """A web that goes on for a little longer than the crawl."""
    days = HEAD_START + FACTOR * (1.1 * seconds + 150) / DAY
    words = {"hosts": hosts, "seed": seed, "factor": FACTOR, "days": days, "pages-per-day": PAGES_PER_DAY,
             "head-start": HEAD_START}  # fmt: skip
    return [word for name, value in words.items() for word in (f"--{name}", str(value))]


def crawl_words(budget: float, seconds: float) -> list[object]:
    return ["crawl", "--budget", budget, "--for", f"{seconds}s", "--host-delay", DELAY, "--log-push", f"{LOG_PUSH}s",
            "--replan", f"{REPLAN}s", "--policy", "index"]  # fmt: skip


def ample(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """All new pages, soon, and none twice."""
    seconds, hosts, budget = asked.seconds or 600.0, asked.hosts or 60, asked.budget or AMPLE
    with TestWeb(folder, *world(hosts, seconds, asked.seed)) as web:
        home = Home(folder / "home", web.routes(), bin=f"{BIN}s")
        home.find(web.hosts, "--budget", budget, "--host-delay", DELAY)
        began = time.time()
        memory: list[float] = []
        crawl = home.start(*crawl_words(budget, seconds))
        wait_for(crawl, seconds, 1.0, lambda: memory.append(resident_megabytes(crawl.pid)))
        ended = began + seconds
        table.most("exit status of the crawl", finish(crawl), 0)
    visits = read_journal(web.journal, began)
    pages = Pages(web.trace, visits)
    table.say("requests a second", len(visits) / seconds)
    table.say("memory of the crawl at its end, MB", memory[-1] if memory else 0.0)
    freshness(table, pages, ended, min(LAST_MINUTE, seconds / 4))
    courtesy(table, read_journal(web.journal), DELAY, budget)
    if asked.keep:
        (folder / "used.json").write_text(json.dumps({"rate": len(visits) / seconds}))


def freshness(table: Table, pages: Pages, ended: float, last: float, delay: float = DELAY) -> None:
    """Pages published after all sources of their host had been read once, until a minute before the end."""
    trace, at, read = pages.trace, pages.fetched_at(), pages.baselines()
    known = np.array([read.get(host, np.inf) for host in pages.host_of])
    counted = (trace.published >= known) & (trace.published < ended - last)
    got = counted & np.isfinite(at)
    sources = np.array([sum(1 for host in trace.hosts if host == other) for other in dict.fromkeys(trace.hosts)])
    limit = 2 * (float(sources.mean()) * delay / 2 + delay)
    table.say("hosts whose sources were all read; sources", f"{len(read)}; {len(pages.crawls)} of {len(trace.hosts)}")
    table.say("pages published after that, till a minute before the end", int(counted.sum()))
    table.least("share of them fetched, %", 100 * float(got.sum()) / max(1, int(counted.sum())), 99.5)
    late = at[got] - trace.published[got]
    table.most("median delay, seconds", float(np.median(late)) if got.any() else np.inf, limit)
    table.say("  9 of 10 within, seconds", float(np.quantile(late, 0.9)) if got.any() else np.inf)
    table.most("pages fetched twice", len(pages.twice_by_page()), 0)
    table.most("addresses fetched twice", len(pages.twice_by_url()), 0)
    table.say("pages fetched in all, old ones too", len(pages.fetches))


def parity(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """The share of clicks kept, live and by the lab's replay of the same world."""
    seconds, hosts = asked.seconds or 600.0, asked.hosts or 60
    budget = asked.budget or 0.6 * hosts
    with TestWeb(folder, *world(hosts, seconds, asked.seed)) as web:
        home = Home(folder / "home", web.routes(), bin=f"{BIN}s")
        home.find(web.hosts, "--budget", AMPLE, "--host-delay", DELAY)
        began = time.time()
        crawl = home.start(*crawl_words(budget, seconds))
        told = Clicks(web, home, began)
        wait_for(crawl, seconds, CLICKS_EVERY, told.hand_in)
        table.most("exit status of the crawl", finish(crawl), 0)
    visits = read_journal(web.journal, began)
    pages = Pages(web.trace, visits)
    began = visits[0].at  # a process takes a while to start, and the lab's does not
    window = began + 2 * seconds / 3, began + seconds
    live = share(pages.trace, pages.fetched_at(), window)
    table.say("requests a second", len(visits) / seconds)
    table.say("clicks handed in", told.rows)
    table.say("pages of the window; the heaviest's share of its clicks, %", heaviest(pages.trace, window))
    table.say("share of clicks kept live, %", 100 * live)
    for what, trace in (
        ("the sources the crawl has", from_then_on(pages.trace, began, began + seconds, set(pages.crawls))),
        ("all sources of the trace", from_then_on(pages.trace, began, began + seconds, None)),
    ):
        write_trace(trace, folder / "cut")
        lab = replayed(home, folder / "cut", budget, window)
        table.say(f"the lab's, with {what}, %", 100 * lab["share"])
        if what.startswith("the sources"):
            table.most("difference, points", 100 * abs(live - lab["share"]), 3.0)
        table.say("  crawls and page fetches: live", split(pages))
        table.say("  the lab's", f"{lab['source_crawls']} {lab['page_fetches']}")
    courtesy(table, visits, DELAY, budget)
    table.most("addresses fetched twice", len(pages.twice_by_url()), 0)


class Clicks:
    """The readers' clicks, handed in as JSONL."""

    def __init__(self, web: TestWeb, home: Home, since: float) -> None:
        self._web, self._home, self._since = web, home, since
        self.rows = 0

    def text(self) -> str:
        """Those since the last call."""
        text = self._web.clicks(self._since)
        rows = text.splitlines()
        if rows:
            self._since = float(np.nextafter(json.loads(rows[-1])["at"], np.inf))
        self.rows += len(rows)
        return text

    def hand_in(self) -> None:
        text = self.text()
        if text:
            self._home.must_take("clicks", text)


def heaviest(trace: Trace, window: tuple[float, float]) -> str:
    """What chance may do: one page more or less."""
    inside = (trace.published >= window[0]) & (trace.published < window[1])
    clicks = np.bincount(trace.clicks.page, trace.clicks.number, len(inside))[inside]
    return f"{len(clicks)}; {100 * clicks.max() / clicks.sum():.1f}"


def split(pages: Pages) -> str:
    return f"{sum(map(len, pages.crawls.values()))} {sum(map(len, pages.fetches.values()))}"


def share(trace: Trace, fetched: np.ndarray, window: tuple[float, float]) -> float:
    """Clicks at or after the fetch, of the pages published and fetched in the window, of all clicks of its pages."""
    inside = (trace.published >= window[0]) & (trace.published < window[1])
    page, at, number = trace.clicks
    kept = inside[page] & (fetched[page] < window[1]) & (at >= fetched[page])
    return float(number[kept].sum() / number[inside[page]].sum())


def replayed(home: Home, trace: Path, budget: float, window: tuple[float, float]) -> dict[str, float]:
    """The lab's figures."""
    words = ["lab run", trace, "--policy", "index", "--budget", budget, "--host-delay", DELAY, "--log-push", LOG_PUSH,
             "--replan", REPLAN, "--window", *window, "--json"]  # fmt: skip
    return json.loads(home.outside(*words))
