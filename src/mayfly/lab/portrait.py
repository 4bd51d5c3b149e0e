"""What a picture shows of a run or of a trace: plain columns, small enough to come back from a worker."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mayfly.core.estimates.fit import fit_decay
from mayfly.core.model import DAY, HOUR, MINUTE, WEEK, FloatArray, Seconds
from mayfly.core.quality import Interest, dynamic_quality, judge, profits
from mayfly.lab.replay import Run, default_window
from mayfly.lab.trace import Trace

_STEP: Seconds = 10 * MINUTE
_BIN: Seconds = 20 * MINUTE


class Portrait(NamedTuple):
    """A run over time, its delays, and where its fetches went."""

    policy: str
    days: FloatArray  # since the start
    five_hours: FloatArray  # dynamic quality
    one_week: FloatArray
    bound: float
    delays: FloatArray  # quantiles 0, 1, … 100 % of published → fetched in the window, seconds
    spent: dict[str, float]  # shares of the budget in the window
    found_rate: FloatArray  # Σλ as the paper estimates it from the last T crawls, by day


def portrait(run: Run) -> Portrait:
    """Look at a run."""
    trace, window = run.trace, default_window(run.trace)
    interest = trace.interest(run.settings.value)
    profit = profits(run.fetched, interest)
    times = np.arange(trace.start, trace.end, _STEP)
    counted = (run.fetched >= window[0]) & (run.fetched < window[1]) & (trace.published >= window[0])
    delays = (run.fetched - trace.published)[counted]
    return Portrait(
        policy=run.settings.policy,
        days=(times - trace.start) / DAY,
        five_hours=dynamic_quality(profit, run.fetched, times, 5 * HOUR),
        one_week=dynamic_quality(profit, run.fetched, times, WEEK),
        bound=judge(trace.published, run.shown, run.fetched, interest, window).upper_bound,
        delays=np.quantile(delays, np.linspace(0, 1, 101)) if len(delays) else np.full(101, np.nan),
        spent=_spent(run, profit, window),
        found_rate=_found_rate(run, times),
    )


def _spent(run: Run, profit: FloatArray, window: tuple[Seconds, Seconds]) -> dict[str, float]:
    """Shares of all slots of the window: crawls and pages that brought something, those that did not, slots unused."""
    inside = (run.at >= window[0]) & (run.at < window[1])
    slots = (window[1] - window[0]) * run.settings.budget
    crawled, fruitful = inside & ~run.is_page, np.isin(run.at, run.shown[np.isfinite(run.shown)])
    page = run.id[inside & run.is_page]
    parts = {
        "crawls that showed a new page": float((crawled & fruitful).sum()),
        "crawls that showed none": float((crawled & ~fruitful).sum()),
        "pages clicked after the fetch": float((profit[page] > 0).sum()),
        "pages never clicked": float((profit[page] == 0).sum()),
    }
    used = {name: count / slots for name, count in parts.items()}
    return {**used, "unused": max(0.0, 1 - sum(used.values()))}


def _found_rate(run: Run, times: FloatArray) -> FloatArray:
    """Σλ over the sources, each from its last T crawls: a step at every crawl."""
    history = run.settings.history
    crawls = np.flatnonzero(~run.is_page)
    order = crawls[np.lexsort((run.at[crawls], run.id[crawls]))]
    shown = np.sort(run.shown[np.isfinite(run.shown)])
    at, source = run.at[order], run.id[order]
    found = np.searchsorted(shown, at, side="right") - np.searchsorted(shown, at, side="left")
    total = np.cumsum(found)
    first = np.searchsorted(source, source)  # of each source, its row
    back = np.maximum(np.arange(len(at)) - history, first)
    span = at - at[back]
    rate = np.divide(total - total[back], span, out=np.zeros(len(at)), where=span > 0)
    step = rate - np.where(np.arange(len(at)) > first, np.roll(rate, 1), 0.0)
    by_time = np.argsort(at, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(step[by_time])])
    return sums[np.searchsorted(at[by_time], times, side="right")]


class Fading(NamedTuple):
    """Cumulative interest by age of the pages of one host, per page, and the curve fitted to it."""

    host: str
    days: FloatArray
    clicks: FloatArray
    shows: FloatArray | None
    profit: float  # P
    decay: float  # μ, per day


def fading(trace: Trace, host: str) -> Fading:
    """How the interest in a host's pages fades."""
    mine = np.zeros(len(trace.page_ids), bool)
    of_host = np.array([name == host for name in trace.hosts])
    mine[trace.link_page[of_host[trace.link_source]]] = True
    clicks = _by_age(trace, trace.clicks, mine)
    bins = np.array([len(clicks)])
    profit, decay = fit_decay(clicks[None], bins, _BIN, np.array([1 / DAY]))
    days = (np.arange(len(clicks)) + 1) * (_BIN / DAY)
    shows = None if trace.shows is None else _by_age(trace, trace.shows, mine)
    return Fading(host, days, clicks, shows, float(profit[0]), float(decay[0] * DAY))


def loved_hosts(trace: Trace) -> list[str]:
    """Hosts by clicks, the most loved first."""
    names = list(dict.fromkeys(trace.hosts))
    number = {name: row for row, name in enumerate(names)}
    of_page = np.zeros(len(trace.page_ids), int)
    of_page[trace.link_page] = np.array([number[name] for name in trace.hosts])[trace.link_source]
    clicks = np.bincount(of_page[trace.clicks.page], trace.clicks.number, len(names))
    return [names[row] for row in np.argsort(-clicks, kind="stable").tolist()]


def page_rate(trace: Trace) -> tuple[FloatArray, FloatArray]:
    """New pages per second, by the hour: days from the start, rate."""
    hours = np.arange(trace.start, trace.end, HOUR)
    count = np.histogram(trace.published, np.append(hours, trace.end))[0]
    return (hours - trace.start) / DAY, count / np.diff(np.append(hours, trace.end))


def _by_age(trace: Trace, interest: Interest, mine: np.ndarray) -> FloatArray:
    age = interest.at - trace.published[interest.page]
    kept = mine[interest.page] & (age < WEEK)
    counts = np.bincount((age[kept] // _BIN).astype(int), interest.number[kept], int(WEEK / _BIN))
    return np.cumsum(counts) / max(1, int(mine.sum()))
