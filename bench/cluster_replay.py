"""The worlds of `cluster_quality.py` in virtual time: one scheduler, and four under the real coordinator's rounds.

usage: python bench/cluster_replay.py [--seeds 1 2 4 5] [--runs 4] [--seconds 225] [--shards 4] [--held]

No network, no database, the same each time: what the dealing and the learning apart cost, in half a minute. As on the
test web there are half a day of older pages at the start, and links have ranks. `--held` gives each shard all the time
what one scheduler spends on its sites in the last third: the best that could be dealt out, and known to nobody before.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from cluster_quality import BUDGET, DELAY, FACTOR, HEAD_START, PRELUDE, world
from live_fresh import share
from live_judge import Table

from mayfly.core.agenda import asked, steadied
from mayfly.core.allotment import Report, first_grants, next_grants
from mayfly.core.demand import price_grid
from mayfly.core.events import OthersTold, SourcesAdded
from mayfly.core.model import DAY, HOUR, MINUTE, Evidence, Fetch
from mayfly.core.politeness import Bucket
from mayfly.core.scheduler import Scheduler
from mayfly.lab.excerpt import from_then_on
from mayfly.lab.replay import Settings, _scheduler, _World
from mayfly.lab.shapes import read_shape
from mayfly.lab.trace import DATED_KINDS, Trace
from mayfly.store.postgres_schema import shard_of
from mayfly.testing.world import Times, served_world

BEGIN = 1e6
ROUND, LOOK, AHEAD, MEMORY, IDLE = 1.0, 0.5, 5, 16, 0.1  # as in `cluster_quality.py` and in a shard
GRID = price_grid()


@dataclass
class Part:
    """A shard: its part of the world, and what it has done since its last report."""

    trace: Trace
    scheduler: Scheduler
    world: _World
    now: float
    bucket: Bucket
    pushes: int = 0
    used: int = 0
    idle: float = 0.0
    asked: np.ndarray | None = None
    made: list[tuple[float, Fetch]] = field(default_factory=list)

    def go(self, until: float, settings: Settings, begin: float) -> None:
        """Spend what is allotted."""
        self.bucket.pace(self.scheduler.budget, self.now)
        while self.now < until:
            now = self.bucket.next_token(self.now)
            if now > self.now:
                self.now = min(max(now, self.now + 1e-6), until)
                continue
            while begin + self.pushes * settings.log_push <= now:
                self.scheduler.observe(self.world.push(begin + self.pushes * settings.log_push))
                self.pushes += 1
            fetch = self.scheduler.next(now, self.bucket.patience(now))
            if isinstance(fetch, Fetch):
                self.scheduler.observe(self.world.answer(fetch, now))
                self.used += 1
                self.made.append((now, fetch))
                self.bucket.take(now)
            else:
                self.now = min(max(fetch.until, now + 0.001), until)
                self.idle += 0.0 if fetch.better else self.now - now

    def report(self, version: int) -> Report:
        """What `cluster/shard.py` says."""
        items = self.scheduler.agenda(self.now, AHEAD * ROUND)
        if items is not None:
            self.asked = steadied(self.asked, asked(items, GRID), ROUND, MEMORY * ROUND)
        curve = np.zeros(len(GRID)) if self.asked is None else self.asked
        told = Report(curve, version, self.used / ROUND, self.idle / ROUND > IDLE)
        self.used, self.idle = 0, 0.0
        return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 4, 5], help="worlds")
    parser.add_argument("--runs", type=int, default=4, help="of each world, with a seed of their own")
    parser.add_argument("--seconds", type=float, default=225.0)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--held", action="store_true", help="fixed allotments, from what one scheduler spends")
    asked = parser.parse_args()
    jobs = [(seed, run, asked.seconds, asked.shards, asked.held) for seed in asked.seeds for run in range(asked.runs)]
    with multiprocessing.Pool() as pool:
        found = np.array(pool.map(pair, jobs)).reshape(len(asked.seeds), asked.runs, 2, 3)
    table = Table(f"{len(asked.seeds)} worlds, {asked.runs} runs of each: one scheduler, and {asked.shards} shards")
    for who, name in enumerate(("one scheduler", f"{asked.shards} shards")):
        table.say(f"{name}: share of clicks kept by thirds, %", _figures(found[:, :, who].mean((0, 1))))
    apart = found[:, :, 1, 2] - found[:, :, 0, 2]
    table.say("difference in the last third by world, points", _figures(apart.mean(1)))
    table.say("  spread of runs of a world", float(apart.std(1, ddof=1).mean()) if asked.runs > 1 else np.nan)
    table.least("mean difference, points", float(apart.mean()), -1.0)
    return 0 if table.ok else 1


def pair(job: tuple[int, int, float, int, bool]) -> tuple[list[float], list[float]]:
    seed, run, seconds, shards, held = job
    one, spent = crawled(seed, run, seconds, 1, shards, None)
    many, _ = crawled(seed, run, seconds, shards, shards, spent if held else None)
    return one, many


def crawled(
    seed: int, run: int, seconds: float, parts: int, shards: int, held: np.ndarray | None
) -> tuple[list[float], np.ndarray]:
    """Shares of the clicks kept, by thirds; and fetches a second by shard in the last third."""
    full, begin = trace_of(seed, seconds), BEGIN + PRELUDE
    settings = Settings(
        "index", BUDGET / parts, log_push=HOUR / FACTOR, replan=30 * MINUTE / FACTOR, bin=20 * MINUTE / FACTOR,
        host_delay=DELAY, seed=run,
    )  # fmt: skip
    some = [_part(full, number, parts, begin, seconds, settings) for number in range(parts)]
    grants, now, spent_on = first_grants(BUDGET, parts), begin, np.zeros(shards)
    while now < begin + seconds - 1e-9:
        for number, part in enumerate(some):
            part.scheduler.budget = float(grants.allotment[number] if held is None else held[number])
            part.go(now + LOOK, settings, begin)
        now += LOOK
        if parts > 1 and abs((now - begin) / ROUND - round((now - begin) / ROUND)) < 1e-9:
            grants = next_grants(grants, [part.report(grants.version) for part in some], BUDGET, GRID)
            _share_evidence(some, now)
    thirds = [(begin + third * seconds / 3, begin + (third + 1) * seconds / 3) for third in range(3)]
    if parts == 1:
        spent_on = _fetches_by_shard(some[0], shards, thirds[2])
    return [100 * _kept(full, some, window) for window in thirds], spent_on


@cache
def trace_of(seed: int, seconds: float) -> Trace:
    """As the test web serves it."""
    with tempfile.TemporaryDirectory() as folder:
        world(Path(folder), seed, seconds)
        return served_world(read_shape(Path(folder) / "shape.toml"), seed, Times(BEGIN, FACTOR, HEAD_START * DAY))


def _part(full: Trace, number: int, parts: int, begin: float, seconds: float, settings: Settings) -> Part:
    own = {host for host in full.hosts if shard_of(host, parts) == number}
    sources = [source for source, host in enumerate(full.hosts) if host in own]
    trace = from_then_on(with_backlog(full, begin), begin, begin + seconds, sources)
    row = {page: number for number, page in enumerate(full.page_ids)}
    trace = replace(trace, published=full.published[[row[page] for page in trace.page_ids]])  # with its true dates
    scheduler = _scheduler(settings)
    scheduler.observe(SourcesAdded(begin, trace.hosts, trace.hosts, trace.kinds))
    bucket = Bucket(settings.budget, begin)
    bucket.start(begin)
    return Part(trace, scheduler, _World(trace, settings), begin, bucket)


def with_backlog(full: Trace, begin: float) -> Trace:
    """Without older pages that no feed or sitemap shows: at a first look only what has a date can be new."""
    listed = np.array([kind in DATED_KINDS for kind in full.kinds])[full.link_source]
    links = np.flatnonzero(listed | (full.published[full.link_page] >= begin))
    columns = {name: getattr(full, name)[links] for name in ("link_source", "link_page", "added", "removed")}
    ranks = np.random.default_rng(0).integers(1, 11, len(links)).astype(float)  # they say nothing, but are learned from
    return replace(full, **columns, rank=ranks)


def _share_evidence(parts: list[Part], now: float) -> None:
    seen = [part.scheduler.evidence() for part in parts]
    told = np.array([[*each[:4], *each.fading, *each.places] for each in seen])
    wide = 4 + len(seen[0].fading)
    for part, others in zip(parts, (told.sum(axis=0) - told).tolist(), strict=True):
        part.scheduler.observe(OthersTold(now, Evidence(*others[:4], tuple(others[4:wide]), tuple(others[wide:]))))


def _fetches_by_shard(part: Part, shards: int, window: tuple[float, float]) -> np.ndarray:
    hosts, urls = part.trace.hosts, part.trace.page_urls
    asked = [urls[fetch.id].split("/")[2] if fetch.kind == "page" else hosts[fetch.id] for at, fetch in part.made
             if window[0] <= at < window[1]]  # fmt: skip
    return np.bincount([shard_of(host, shards) for host in asked], minlength=shards) / (window[1] - window[0])


def _kept(full: Trace, parts: list[Part], window: tuple[float, float]) -> float:
    """All parts together, by the clicks of the whole world."""
    fetched = np.full(len(full.page_ids), np.inf)
    row = {page: number for number, page in enumerate(full.page_ids)}
    for part in parts:
        for page, at in zip(part.trace.page_ids, part.world.fetched.tolist(), strict=True):
            fetched[row[page]] = min(fetched[row[page]], at)
    return share(full, fetched, window)


def _figures(values: np.ndarray) -> str:
    return " ".join(f"{value:.2f}" for value in values)


if __name__ == "__main__":
    sys.exit(main())
