"""The virtual-time driver: a policy on a trace, under one budget, by the rules of replay (DESIGN §4).

It answers the scheduler's fetches from the trace and tells it nothing else. What a run did is a list of actions; all
that is reported of it follows from that list and the trace.
"""

from __future__ import annotations

import csv
import gc
import heapq
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from mayfly.core.estimates import ESTIMATORS, Estimator, Feedback
from mayfly.core.estimates.blind import Blind
from mayfly.core.events import ClicksCounted, NewPage, PageFetched, SourceCrawled, SourcesAdded, TrendsTold
from mayfly.core.merits import Merits
from mayfly.core.model import DAY, BoolArray, Fetch, FloatArray, IntArray, PageId, PerSecond, Seconds, SourceId
from mayfly.core.policies import POLICIES, Policy
from mayfly.core.politeness import Gate
from mayfly.core.quality import Interest, Quality, judge
from mayfly.core.scheduler import Scheduler
from mayfly.lab.trace import DATED_KINDS, Trace


@dataclass(frozen=True)
class Settings:
    """How a policy is run. Seconds and fetches per second."""

    policy: str
    budget: PerSecond
    estimator: str = "bayes"
    feedback: Feedback = "fetched"
    log_push: Seconds = 3600.0  # L
    history: int = 7  # T
    replan: Seconds = 1800.0
    bin: Seconds = 1200.0  # D
    host_delay: Seconds = 0.0
    page_values: bool = True  # False: a page is worth what its sources and its place say
    trends: dict[str, float] = field(default_factory=dict)  # what people ask for: terms and weights
    probe: float | None = None  # None: the policy's own
    seed: int = 0
    value: str = "clicks"
    policy_options: dict[str, Any] = field(default_factory=dict)
    estimator_options: dict[str, Any] = field(default_factory=dict)
    value_options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """What a replay did."""

    settings: Settings
    trace: Trace
    at: FloatArray  # of each fetch, in order
    is_page: BoolArray
    id: IntArray  # row number of the source or page
    shown: FloatArray  # when a crawl first showed each page; inf: never
    fetched: FloatArray  # when each page was fetched; inf: never
    dropped: IntArray  # pages given up
    prices: list[tuple[Seconds, float]]
    wall_seconds: float

    def write_actions(self, path: Path) -> None:
        """The list of actions as CSV: at, kind, id."""
        names = self.trace.page_ids, self.trace.source_ids
        with path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["at", "kind", "id"])
            for at, is_page, number in zip(self.at.tolist(), self.is_page.tolist(), self.id.tolist(), strict=True):
                kind = "page" if is_page else "source"
                writer.writerow([repr(at), kind, names[0 if is_page else 1][number]])


def replay(trace: Trace, settings: Settings, progress: Callable[[float], None] | None = None) -> Run:
    """Run a policy on a trace. `progress` is told the share done, now and then."""
    collecting = gc.isenabled()
    gc.disable()  # a run makes no cycles, and to look for them among millions of links takes a tenth of its time
    try:
        return _replay(trace, settings, progress)
    finally:
        if collecting:
            gc.enable()


def _replay(trace: Trace, settings: Settings, progress: Callable[[float], None] | None) -> Run:
    began = time.perf_counter()
    scheduler = _scheduler(settings)
    world = _World(trace, settings)
    scheduler.observe(SourcesAdded(trace.start, trace.hosts, trace.hosts, trace.kinds))
    if settings.trends:
        scheduler.observe(TrendsTold(trace.start, settings.trends))
    actions: list[tuple[Seconds, Fetch]] = []
    prices: list[tuple[Seconds, float]] = []
    slots = _slots(trace, settings.budget)
    pushes = 0
    told = settings.feedback != "none" and POLICIES[settings.policy].uses_beliefs
    push_at = trace.start if told else np.inf
    report_every = max(1, slots // 200)
    slot = 0
    while slot < slots:
        now = trace.start + slot / settings.budget
        while push_at <= now:
            scheduler.observe(world.push(push_at))
            pushes += 1
            push_at = trace.start + pushes * settings.log_push
        fetch = scheduler.next(now)
        if isinstance(fetch, Fetch):
            scheduler.observe(world.answer(fetch, now))
            actions.append((now, fetch))
            slot += 1
        else:
            # Ask again in the first slot from which the answer can differ, but never sleep through a push.
            later = min(fetch.until, push_at)
            slot = max(slot + 1, int(np.ceil((min(later, trace.end) - trace.start) * settings.budget - 1e-9)))
        if slot % report_every == 0:
            if scheduler.price is not None:
                prices.append((now, scheduler.price))
            if progress is not None:
                progress(slot / slots)
    return Run(
        settings=settings,
        trace=trace,
        at=np.array([at for at, _ in actions], float),
        is_page=np.array([fetch.kind == "page" for _, fetch in actions], bool),
        id=np.array([fetch.id for _, fetch in actions], np.int64),
        shown=world.shown,
        fetched=world.fetched,
        dropped=np.array(sorted(scheduler.dropped), np.int64),
        prices=prices,
        wall_seconds=time.perf_counter() - began,
    )


def default_window(trace: Trace) -> tuple[Seconds, Seconds]:
    """The last third."""
    return trace.start + 2 * (trace.end - trace.start) / 3, trace.end


def report(run: Run, window: tuple[Seconds, Seconds] | None = None) -> tuple[dict[str, Any], Quality]:
    """The figures of a run under the names scripts rely on (DESIGN §5), and all that is known of its quality."""
    trace, settings = run.trace, run.settings
    window = window or default_window(trace)
    interest = trace.interest(settings.value)
    quality = judge(trace.published, run.shown, run.fetched, interest, window, run.dropped)
    inside = (run.at >= window[0]) & (run.at < window[1])
    crawls = np.bincount(run.id[inside & ~run.is_page], minlength=len(trace.source_ids))
    prices = [price for at, price in run.prices if window[0] <= at < window[1]]
    missed = {
        name: {"pages": part.pages, "share": part.share}
        for name, part in (
            ("never_shown", quality.never_shown),
            ("too_late", quality.too_late),
            ("dropped", quality.dropped),
            ("left_waiting", quality.left_waiting),
        )
    }
    figures = {
        "trace": trace.name,
        "policy": settings.policy,
        "estimator": settings.estimator if POLICIES[settings.policy].uses_beliefs else None,
        "budget": settings.budget,
        "seed": settings.seed,
        "feedback": settings.feedback,
        "log_push": settings.log_push,
        "host_delay": settings.host_delay,
        "window": list(window),
        "quality": quality.quality,
        "quality_std": quality.dynamic_std,
        "quality_week": quality.dynamic_mean,
        "upper_bound": quality.upper_bound,
        "share": quality.share,
        "delay_median": quality.delay_median,
        "delay_p90": quality.delay_p90,
        "missed": missed,
        "fetches": len(run.at),
        "source_crawls": int((~run.is_page).sum()),
        "page_fetches": int(run.is_page.sum()),
        "pages_found": int(np.isfinite(run.shown).sum()),
        "price": float(np.mean(prices)) if prices else None,
        "sources_never": float(np.mean(crawls < (window[1] - window[0]) / DAY)),
        "wall_seconds": run.wall_seconds,
    }
    return figures, quality


def _scheduler(settings: Settings) -> Scheduler:
    policy: Policy = POLICIES[settings.policy](**settings.policy_options)
    estimator: Estimator = _estimator(settings, policy) if policy.uses_beliefs else Blind()
    return Scheduler(
        policy,
        estimator,
        settings.budget,
        Gate(settings.host_delay),
        replan=settings.replan,
        probe=settings.probe,
        feedback=settings.feedback if policy.uses_beliefs else "none",
        seed=settings.seed,
        merits=Merits(**settings.value_options) if _values_pages(settings, policy) else None,
    )


def _values_pages(settings: Settings, policy: Policy) -> bool:
    return settings.page_values and policy.page_order == "worth" and settings.feedback != "none"


def _estimator(settings: Settings, policy: Policy) -> Estimator:
    options: dict[str, Any] = {"feedback": settings.feedback, **settings.estimator_options}
    if settings.estimator == "paper":
        options |= {"history": settings.history, "bin_width": settings.bin, "fit": policy.fits_profit}
    estimator: Estimator = ESTIMATORS[settings.estimator](**options)
    return estimator


def _slots(trace: Trace, budget: PerSecond) -> int:
    """How many slots begin before the end."""
    count = int(np.ceil((trace.end - trace.start) * budget))
    while count and trace.start + (count - 1) / budget >= trace.end:
        count -= 1
    return count


class _World:
    """The trace as it answers: what is there now, and never what is hidden."""

    def __init__(self, trace: Trace, settings: Settings) -> None:
        self._feedback = settings.feedback
        self._interest: Interest = trace.interest(settings.value)
        self.shown: FloatArray = np.full(len(trace.page_ids), np.inf)
        self.fetched: FloatArray = np.full(len(trace.page_ids), np.inf)
        self._dated = [kind in DATED_KINDS for kind in trace.kinds]
        self._published: list[float] = trace.published.tolist() if any(self._dated) else []
        self._sites = [urlsplit(url).hostname for url in trace.page_urls] if settings.host_delay > 0 else None
        self._urls = trace.page_urls
        # Links added at the same moment are told in page order, where ranks are known, else as they stand.
        keys = trace.added, trace.link_source
        order = np.lexsort(keys if trace.rank is None else (trace.rank, *keys))
        bounds = np.searchsorted(trace.link_source[order], np.arange(len(trace.source_ids) + 1))
        page, added, removed = (column[order] for column in (trace.link_page, trace.added, trace.removed))
        rank = trace.rank[order] if trace.rank is not None else None
        self._links = [
            (page[a:b].tolist(), added[a:b].tolist(), removed[a:b].tolist(), [] if rank is None else rank[a:b].tolist())
            for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        ]
        self._read = [0] * len(
            trace.source_ids
        )  # links of each source up to here were there at a crawl, or were missed
        self._showing: list[list[Seconds]] = [[] for _ in trace.source_ids]  # when links last shown will leave
        self._known = bytearray(len(trace.page_ids))
        self._pushed = 0
        self._late: list[PageId] = []  # pages shown since the last push
        self._clicks_of: tuple[IntArray, IntArray] | None = None

    def answer(self, fetch: Fetch, now: Seconds) -> SourceCrawled | PageFetched:
        """Carry out a fetch; it takes effect at once."""
        if fetch.kind == "page":
            self.fetched[fetch.id] = now
            return PageFetched(now, fetch.id)
        return self._crawl(fetch.id, now)

    def push(self, now: Seconds) -> ClicksCounted:
        """The clicks before `now` that may be told and were not yet."""
        page, at, count = self._interest
        until = int(np.searchsorted(at, now, side="left"))
        rows = np.arange(self._pushed, until)
        gate = self.fetched if self._feedback == "fetched" else self.shown
        rows = rows[gate[page[rows]] <= (at[rows] if self._feedback == "fetched" else now)]
        if self._feedback == "all" and self._late:
            rows = np.concatenate([self._earlier(self._late), rows])
        self._late.clear()
        self._pushed = until
        return ClicksCounted(now, page[rows], at[rows], count[rows])

    def _crawl(self, source: SourceId, now: Seconds) -> SourceCrawled:
        pages, added, removed, ranks = self._links[source]
        first = self._read[source]
        self._read[source] = place = bisect_right(added, now, first)
        new: list[NewPage] = []
        again: list[PageId] = []
        again_ranks: list[float | None] = []
        dated, sites, known = self._dated[source], self._sites, self._known
        showing = self._showing[source]
        before = len(showing)
        while showing and showing[0] <= now:
            heapq.heappop(showing)
        stayed = len(showing)
        for link in range(first, place):
            if removed[link] > now:
                heapq.heappush(showing, removed[link])
                page = pages[link]
                rank = known_rank if ranks and (known_rank := ranks[link]) < inf else None
                if known[page]:
                    again.append(page)
                    again_ranks.append(rank)
                else:
                    known[page] = 1
                    self.shown[page] = now
                    self._late.append(page)
                    site, published = sites[page] if sites else None, self._published[page] if dated else None
                    new.append(NewPage(page, site, published, rank, self._urls[page]))
        return SourceCrawled(now, source, new, again, stayed, before - stayed, known_ranks=again_ranks)

    def _earlier(self, pages: list[PageId]) -> IntArray:
        """Rows of the clicks of these pages before the last push."""
        if self._clicks_of is None:
            order = np.argsort(self._interest.page, kind="stable")
            self._clicks_of = order, np.searchsorted(self._interest.page[order], np.arange(len(self.shown) + 1))
        order, start = self._clicks_of
        rows = np.concatenate([order[start[page] : start[page + 1]] for page in pages])
        return np.sort(rows[rows < self._pushed])
