"""`truth-live`: the same as `truth` by a real crawl: real HTTP, a store, `mayfly clicks`; only the clock is quick.

A pressed world, as in the other trials, would not do: its interest fades in minutes, and no estimator need believe that
a page is worth nothing after five. So the world keeps its own time, and the crawler and the web are told a time that
runs many times as fast, and lies in the past, so that nothing in it has a date the commands would call the future.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from feedback_truth import clicked_pages, errors_of, report, true_of, without_hope
from live_judge import Table
from live_web import Home

from mayfly.core.estimates import Estimator
from mayfly.core.model import DAY, HOUR, Beliefs, FloatArray
from mayfly.lab.shapes import Shape
from mayfly.lab.trace import Trace
from mayfly.testing.server import Server
from mayfly.testing.web import Web
from mayfly.testing.world import small_shape

CLICKS_EVERY = 5.0  # seconds
SLACK = 30.0  # to start everything in


class Quick:
    """Time from `begin` on, `factor` times as fast as ours; the same in all processes of this machine."""

    def __init__(self, begin: float, factor: float) -> None:
        self.begin, self.factor, self._zero = begin, factor, time.monotonic() + SLACK

    def __call__(self) -> float:
        return self.begin + (time.monotonic() - self._zero) * self.factor


def truth(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """Errors of P and μ after some weeks of the world."""
    seconds, hosts, days = asked.seconds or 600.0, asked.hosts or 4, asked.days or 14.0
    factor, budget = days * DAY / seconds, asked.budget or 10.0 * hosts
    clock = Quick(time.time() - days * DAY, factor)
    shape = small_shape(hosts, days)
    with _Served(shape, asked.seed, clock) as (port, trace):
        home = Home(folder / "home", [f"::127.0.0.1:{port}"])
        estimator, urls, fetched = asyncio.run(_crawled(home, trace, clock, budget, seconds))
    rows = [urls.index(url) for url in trace.source_urls]
    true, clicked = true_of(trace), clicked_pages(trace, fetched)
    table.say("days of the world; pages fetched, %", f"{days:g}; {100 * np.isfinite(fetched).mean():.1f}")
    late = (fetched - trace.published)[np.isfinite(fetched)]
    table.say("median delay of a fetch, hours of the world", float(np.median(late)) / HOUR)
    for name, beliefs in zip(("bayes", "with the hope that index adds"), without_hope(estimator, clock()), strict=True):
        known = Beliefs(*(column[rows] for column in beliefs[:-1]), beliefs.place_worth)
        report(table, name, errors_of(known, true, clicked), judged=name == "bayes")


class _Served:
    """The web in a process of its own, by that clock."""

    def __init__(self, shape: Shape, seed: int, clock: Quick) -> None:
        self._ours, theirs = multiprocessing.Pipe()
        self._web = Web(seed=seed, shape=shape, begin=clock.begin, head_start=0.0, clock=clock)
        self._process = multiprocessing.get_context("fork").Process(target=_serve, args=(self._web, theirs))

    def __enter__(self) -> tuple[int, Trace]:
        self._process.start()
        return self._ours.recv(), self._web.trace

    def __exit__(self, *exception: object) -> None:
        self._process.terminate()
        self._process.join()


def _serve(web: Web, pipe: Connection) -> None:
    async def forever() -> None:
        async with Server(web.sites) as server:
            pipe.send(server.port)
            await asyncio.Event().wait()

    asyncio.run(forever())


async def _crawled(
    home: Home, trace: Trace, clock: Quick, budget: float, seconds: float
) -> tuple[Estimator, list[str], FloatArray]:
    """What a crawl learned by its end, of which sources, and when it fetched each page."""
    from mayfly.cli.crawl import opened
    from mayfly.cli.layers import resolve
    from mayfly.crawl.clock import Clock
    from mayfly.store.records import NewSource

    push = HOUR / clock.factor
    flags = {"budget": str(budget), "host-delay": "0s", "address-delay": "0s", "log-push": f"{push:.3f}s"}
    settings, _ = resolve(home.path, flags)
    async with opened(home.path, settings) as crawler:
        vars(crawler.parts.clock).update(vars(Clock(clock, clock)), step=lambda: 0.0)  # a moment of ours is no step
        store = crawler.parts.store
        sources = [NewSource(url, kind) for url, kind in zip(trace.source_urls, trace.kinds, strict=True)]
        await store.add_sources(clock.begin, sources)
        await asyncio.sleep(max(clock.begin - clock(), 0.0) / clock.factor)
        readers = _Readers(home, trace, clock)
        reading = asyncio.ensure_future(readers.go_on())
        await crawler.run(seconds)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await readers.hand_in()  # what came since, for minutes of ours are days
        await crawler.chores._push_clicks()
        estimator = crawler.parts.scheduler._estimator
        urls = [source.url for source in crawler.parts.sources]
        fetched = await _fetched(store, trace)
    return estimator, urls, fetched


class _Readers:
    """Their clicks, handed in by the command."""

    def __init__(self, home: Home, trace: Trace, clock: Quick) -> None:
        self._home, self._trace, self._clock = home, trace, clock
        self._told = 0

    async def go_on(self) -> None:
        while True:
            await self.hand_in()
            await asyncio.sleep(CLICKS_EVERY)

    async def hand_in(self) -> None:
        """Those since the last time. Once begun it goes on to its end, whoever waits for it."""
        trace, first, self._told = self._trace, self._told, int(np.searchsorted(self._trace.clicks.at, self._clock()))
        some = slice(first, self._told)
        rows = "".join(
            json.dumps({"url": trace.page_urls[page], "at": at}) + "\n"
            for page, at in zip(trace.clicks.page[some].tolist(), trace.clicks.at[some].tolist(), strict=True)
        )
        if rows:
            await asyncio.to_thread(self._home.must_take, "clicks", rows)


async def _fetched(store: object, trace: Trace) -> FloatArray:
    """When each page was fetched; inf: never."""
    from mayfly.urls import same_page

    at = np.full(len(trace.page_ids), np.inf)
    number = {same_page(url): page for page, url in enumerate(trace.page_urls)}
    for page in await store.pages(first=1_000_000):
        found = number.get(same_page(page.url))
        if found is not None and page.outcome == "fetched" and page.fetched_at is not None:
            at[found] = page.fetched_at
    return at
