"""`truth`: whether what is learned from clicks is what is true, with pages fetched at once and six hours late.

The world is the test web's, in its own time. The real scheduler crawls it with more budget than it needs; the lab's
world answers, tells clicks at every push (those of fetched pages, from their fetch on), and carries out page fetches at
once or so much later than it was told to. True of a source is what its pages gathered in all their life, seen or not:
P their clicks by page, μ one by the mean age of those clicks.
"""

from __future__ import annotations

import argparse
import heapq
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from live_judge import Table

from mayfly.core.estimates import Estimator
from mayfly.core.estimates.bayes import Bayes
from mayfly.core.events import SourcesAdded
from mayfly.core.model import HOUR, Beliefs, Fetch, FloatArray, Seconds
from mayfly.lab.replay import Settings, _scheduler, _World
from mayfly.lab.trace import Trace
from mayfly.testing.world import Times, served_world, small_shape

LATE = 6 * HOUR
ENOUGH = 200  # clicked pages of a source
BUDGET = 0.01  # fetches a second and host: each of its twelve sources some seventy times a day
PROFIT, DECAY, SIGNED = 10.0, 20.0, 5.0  # limits, %
BEGIN = 1_750_000_000.0
ARMS = [(estimator, late) for estimator in ("bayes", "paper") for late in (0.0, LATE)]


def truth(folder: Path, asked: argparse.Namespace, table: Table) -> None:
    """Errors of P and μ by source: the default estimator within its limits; the paper's beside it."""
    jobs = [(asked.hosts or 10, asked.days or 28.0, asked.seed, *arm) for arm in ARMS]
    with ProcessPoolExecutor(2) as pool:
        for (estimator, late), (plain, hoped) in zip(ARMS, pool.map(learned, jobs), strict=True):
            name = f"{estimator}, {f'{late / HOUR:g} h late' if late else 'at once'}"
            report(table, name, plain, judged=estimator == "bayes")
            if hoped is not None:
                report(table, f"{name}, with the hope that index adds", hoped, judged=False)


class Errors(NamedTuple):
    """Of the sources with enough clicked pages: estimate by truth, less one."""

    profit: FloatArray
    decay: FloatArray


def report(table: Table, name: str, errors: Errors, judged: bool) -> None:
    """Its figures, beside their limits if it is to keep them."""
    table.least(f"{name}: sources with {ENOUGH} clicked pages", len(errors.profit), 1)
    if not len(errors.profit):
        return
    for what, limit, off in (("P", PROFIT, errors.profit), ("μ", DECAY, errors.decay)):
        middle, signed = 100 * float(np.median(np.abs(off))), 100 * float(off.mean())
        if judged:
            table.most(f"  {what}: median error, %", middle, limit)
            table.most(f"  {what}: mean signed error, %, its size", abs(signed), SIGNED)
            table.say("    with its sign", signed)
        else:
            table.say(f"  {what}: median error, %", middle)
            table.say(f"  {what}: mean signed error, %", signed)


def learned(job: tuple) -> tuple[Errors, Errors | None]:
    """One arm, in a process of its own: of the estimates, and with hope where there is some."""
    hosts, days, seed, estimator, late = job
    trace = served_world(small_shape(hosts, days), seed, Times(BEGIN, head_start=0.0))
    found, fetched = crawled(trace, Settings("index", BUDGET * hosts, estimator=estimator), late)
    true, clicked = true_of(trace), clicked_pages(trace, fetched)
    plain, hoped = without_hope(found, trace.end)
    return errors_of(plain, true, clicked), None if hoped is None else errors_of(hoped, true, clicked)


def crawled(trace: Trace, settings: Settings, late: Seconds) -> tuple[Estimator, FloatArray]:
    """What was learned by the end, and when each page was fetched: `late` after the scheduler said so."""
    scheduler, world = _scheduler(settings), _World(trace, settings)
    scheduler.observe(SourcesAdded(trace.start, trace.hosts, trace.hosts))
    pushes, push_at = 0, trace.start
    on_their_way: list[tuple[Seconds, int]] = []
    now = trace.start
    while now < trace.end:
        while min(push_at, on_their_way[0][0] if on_their_way else np.inf) <= now:
            if on_their_way and on_their_way[0][0] <= push_at:
                at, page = heapq.heappop(on_their_way)
                scheduler.observe(world.answer(Fetch("page", page), at))
            else:
                scheduler.observe(world.push(push_at))
                pushes += 1
                push_at = trace.start + pushes * settings.log_push
        fetch = scheduler.next(now)
        if isinstance(fetch, Fetch):
            if late and fetch.kind == "page":
                heapq.heappush(on_their_way, (now + late, fetch.id))
            else:
                scheduler.observe(world.answer(fetch, now))
        now += 1 / settings.budget
    return scheduler._estimator, world.fetched


def without_hope(estimator: Estimator, now: Seconds) -> tuple[Beliefs, Beliefs | None]:
    """The estimates, and what is believed for the sake of trying: they and some of their standard error."""
    if not isinstance(estimator, Bayes):
        return estimator.beliefs(now), None
    hoped = estimator.beliefs(now)
    hope, estimator._hope = estimator._hope, 0.0
    plain = estimator.beliefs(now)
    estimator._hope = hope
    return plain, hoped


@dataclass(frozen=True)
class True_:
    """By source."""

    profit: FloatArray
    decay: FloatArray


def linked(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """(source, page): who linked what, each pair once."""
    return np.divmod(np.unique(trace.link_source * len(trace.page_ids) + trace.link_page), len(trace.page_ids))


def true_of(trace: Trace) -> True_:
    """P and μ of each source, by all clicks of all pages it linked; nan where there was none."""
    (source, page), clicks, sources = linked(trace), trace.clicks, len(trace.source_ids)
    by_page = np.bincount(clicks.page, clicks.number, len(trace.page_ids))
    age = clicks.at - trace.published[clicks.page]
    ages = np.bincount(clicks.page, clicks.number * age, len(trace.page_ids))
    pages = np.bincount(source, minlength=sources)
    gathered = np.bincount(source, by_page[page], sources)
    with np.errstate(divide="ignore", invalid="ignore"):
        return True_(gathered / pages, gathered / np.bincount(source, ages[page], sources))


def clicked_pages(trace: Trace, fetched: FloatArray) -> np.ndarray:
    """Pages of each source of which a click was seen."""
    source, page = linked(trace)
    seen = np.zeros(len(trace.page_ids), bool)
    seen[trace.clicks.page[trace.clicks.at >= fetched[trace.clicks.page]]] = True
    return np.bincount(source, seen[page], len(trace.source_ids))


def errors_of(beliefs: Beliefs, true: True_, clicked: np.ndarray) -> Errors:
    """Estimates by truth, less one."""
    some = clicked >= ENOUGH
    return Errors((beliefs.page_profit / true.profit - 1)[some], (beliefs.profit_decay / true.decay - 1)[some])
