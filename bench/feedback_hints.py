"""`hints`: what it brings to say when a source has changed, and what it costs the others if that is a lie.

One source a newspaper is watched, the sitemap of its news, on which every page stands from its publication on. One of
them sends a hint for each page as it appears; its like, the newspaper nearest in pages and clicks, sends none; a third,
which publishes least, sends hints at random.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from feedback_storm import Served
from live_fresh import BIN, DELAY, Clicks, world
from live_hard import crawl_words, sound
from live_judge import Table, courtesy
from live_web import Home, TestWeb, finish

from mayfly.lab.trace import Trace, read_trace
from mayfly.testing.witness import Pages, Visit, read_journal

PAGES_PER_DAY = 15.0  # of the world's day: a page in twenty seconds of ours
SOURCE = "news.xml"
SOON = 5.0  # seconds from a hint
LIE_EVERY = 5.0  # seconds, on the average
CLICKS_EVERY = 4.0
LOOK_EVERY = 0.1


@dataclass(frozen=True)
class Chosen:
    """Newspapers by the part they play."""

    true: str
    like: str
    false: str


def hints(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """How soon pages are found that were announced, at how many crawls; and how long lies are believed."""
    seconds, hosts = asked.seconds or 900.0, asked.hosts or 12
    budget = asked.budget or 0.17 * hosts
    words = [*world(hosts, seconds, asked.seed), "--pages-per-day", str(PAGES_PER_DAY)]
    with TestWeb(folder, *words) as web:
        trace = read_trace(web.trace)
        home = Home(folder / "home", web.routes(), bin=f"{BIN}s")
        home.must("sources add", *(f"http://{host}/{SOURCE}" for host in web.hosts))
        serve = Served(home, folder)
        began = time.time()
        crawl = home.start(*crawl_words(budget, seconds, DELAY))
        chosen = choose(trace, began, began + seconds)
        told = tell(trace, chosen, serve, Clicks(web, home, began), began + seconds, asked.seed)
        table.most("exit status of the crawl", finish(crawl), 0)
        serve.stop()
    visits = read_journal(web.journal, began)
    pages = Pages(trace, visits)
    table.say("newspapers: with hints, its like, with lies", f"{chosen.true} {chosen.like} {chosen.false}")
    table.say("hints that were true; that were not", f"{told[chosen.true]}; {told[chosen.false]}")
    soon = {host: found_soon(pages, host, began + seconds - 2 * SOON) for host in (chosen.true, chosen.like)}
    table.least(f"pages found within {SOON:g} s of their hint, %", soon[chosen.true], 90.0)
    table.say("  of its like, without hints, %", soon[chosen.like])
    hour = seconds / 3600
    crawls = {host: len(crawls_of(pages, host)) / hour for host in (chosen.true, chosen.like)}
    table.most(
        "crawls an hour of the source with hints, by those of its like", crawls[chosen.true] / crawls[chosen.like], 1.0
    )
    table.say("  crawls an hour: with hints; its like", f"{crawls[chosen.true]:.0f}; {crawls[chosen.like]:.0f}")
    first, last = thirds(crawls_of(pages, chosen.false), began, seconds)
    table.say("crawls of the source with lies, first third; last third", f"{first}; {last}")
    table.most("  the last by the first", last / max(first, 1), 1.0)
    sound(table, home, folder)
    courtesy(table, visits, DELAY, budget)


def choose(trace: Trace, start: float, end: float) -> Chosen:
    """The two that are most alike among the livelier half, and the one that publishes least."""
    hosts = list(dict.fromkeys(trace.hosts))
    number = {host: at for at, host in enumerate(hosts)}
    of_page = np.array([number[url.split("/")[2]] for url in trace.page_urls])
    inside = (trace.published >= start) & (trace.published < end)
    pages = np.bincount(of_page[inside], minlength=len(hosts)) + 1.0
    clicks = np.bincount(of_page[trace.clicks.page], trace.clicks.number, len(hosts)) + 1.0
    lively = np.argsort(-pages).tolist()[: max(len(hosts) // 2, 2)]
    apart = np.log(np.column_stack([pages, clicks]))
    true, like = min(combinations(lively, 2), key=lambda pair: float(np.abs(apart[pair[0]] - apart[pair[1]]).sum()))
    return Chosen(hosts[true], hosts[like], hosts[int(np.argmin(pages))])


def tell(trace: Trace, chosen: Chosen, serve: Served, clicks: Clicks, until: float, seed: int) -> dict[str, int]:
    """Hints and clicks as they come, until then; how many hints each sent."""
    rng = np.random.default_rng(seed)
    host = f"http://{chosen.true}/"
    due = sorted(at for at, url in zip(trace.published.tolist(), trace.page_urls, strict=True) if url.startswith(host))
    told = {chosen.true: 0, chosen.false: 0}
    next_ = int(np.searchsorted(due, time.time()))
    lie_at, clicks_at = time.time() + rng.exponential(LIE_EVERY), time.time() + CLICKS_EVERY
    while (now := time.time()) < until:
        while next_ < len(due) and due[next_] <= now:
            _hint(serve, chosen.true, told)
            next_ += 1
        if now >= lie_at:
            _hint(serve, chosen.false, told)
            lie_at = now + rng.exponential(LIE_EVERY)
        if now >= clicks_at:
            rows = [json.loads(line) for line in clicks.text().splitlines()]
            if rows:
                serve.post("/api/clicks", rows)
            clicks_at = now + CLICKS_EVERY
        time.sleep(LOOK_EVERY)
    return told


def _hint(serve: Served, host: str, told: dict[str, int]) -> None:
    serve.post("/api/hints", [{"url": f"http://{host}/{SOURCE}", "kind": "source"}])
    told[host] += 1


def crawls_of(pages: Pages, host: str) -> list[Visit]:
    """Crawls of the one source of a host."""
    source = pages.trace.source_urls.index(f"http://{host}/{SOURCE}")
    return pages.crawls.get(source, [])


def found_soon(pages: Pages, host: str, until: float) -> float:
    """Share of a host's pages, published after its first crawl, whose source was crawled soon after, in %."""
    crawls = np.array([visit.at for visit in crawls_of(pages, host)])
    of_host = np.array([url.split("/")[2] == host for url in pages.trace.page_urls])
    published = pages.trace.published[of_host]
    if not len(crawls):
        return 0.0
    published = published[(published > crawls[0]) & (published < until)]
    after = np.append(crawls, np.inf)[np.searchsorted(crawls, published)]
    return 100 * float(np.mean(after - published <= SOON)) if len(published) else 0.0


def thirds(crawls: list[Visit], began: float, seconds: float) -> tuple[int, int]:
    """How many in the first third, how many in the last."""
    at = np.array([visit.at for visit in crawls]) - began
    return int((at < seconds / 3).sum()), int((at >= 2 * seconds / 3).sum())
