"""Four shards against one process: the same test web, the same clicks, a third of the budget that would be ample.

usage: python bench/cluster_quality.py [--seeds 1 2 4 5] [--seconds 225] [--against 4]

Every world is crawled twice, each time from its first moment on and with a database of its own. What counts is the
share of the clicks of pages published in the last third of the crawl that came at or after their fetch, as the test
web's log tells it. The thirds before are told, too: in the first hours half a day of older pages is still fetched, and
what is kept of the new ones is chance. `--against 0` crawls it with one process again: what chance does alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from cluster_crawls import Crawl
from live_fresh import heaviest, share, split
from live_judge import Table, courtesy
from live_web import NETWORK, TestWeb

from mayfly.cluster.line import Line
from mayfly.cluster.settings import ClusterSettings
from mayfly.core.model import DAY, HOUR, MINUTE
from mayfly.crawl.settings import Settings
from mayfly.lab.trace import read_trace
from mayfly.store.postgres import PostgresStore
from mayfly.store.postgres_schema import shard_of
from mayfly.store.records import ClickRow
from mayfly.testing.postgres import Postgres
from mayfly.testing.witness import Pages, read_journal
from mayfly.testing.world import small_shape

FACTOR = 576.0  # seconds of the world in one of ours
HOSTS, PAGES_PER_DAY, PAGE_SPREAD, HEAD_START, DELAY = 24, 120.0, 0.8, 0.5, 0.25
CLICKS = 0.02 * HOSTS  # a second of the world
AMPLE = HOSTS / DELAY  # all its sites can take
BUDGET = AMPLE / 3
PRELUDE = 10.0  # seconds to find the sources and to start the processes
CLICKS_EVERY = 2.0
BAR = 1.0  # points


@dataclass(frozen=True)
class Seen:
    """What came of one crawl."""

    share: float
    clean: bool  # whether all that every crawl must keep was kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seeds",
        type=int,
        nargs="+",
        default=[1, 2, 4, 5],
        help="worlds; in 3 and 6 one page has a sixth or more of the window's clicks",
    )
    parser.add_argument("--seconds", type=float, default=225.0, help="of each crawl: 2.4 lifetimes of a page")
    parser.add_argument("--against", type=int, default=4, help="shards; 0: one process again")
    asked = parser.parse_args()
    database = Postgres()
    database.start()
    try:
        pairs = [pair(database, seed, asked) for seed in asked.seeds]
    finally:
        database.end()
    return verdict(pairs, asked.against)


def pair(database: Postgres, seed: int, asked: argparse.Namespace) -> tuple[Seen, Seen]:
    first, second = (crawled(database, seed, asked.seconds, shards) for shards in (0, asked.against))
    return first, second


def verdict(pairs: list[tuple[Seen, Seen]], shards: int) -> int:
    """The mean over the worlds, and how far they lie apart."""
    one, many = (np.array([100 * pair[at].share for pair in pairs]) for at in (0, 1))
    table = Table(f"{len(pairs)} worlds: one process against {shards or 'itself, not'} shards")
    table.say("share of clicks kept by one process, %", _figures(one))
    table.say(f"by {shards} shards, %", _figures(many))
    table.say("difference, points", _figures(many - one))
    table.say("  its standard error", float((many - one).std(ddof=1) / np.sqrt(len(one))) if len(one) > 1 else np.nan)
    table.least("mean difference, points", float((many - one).mean()), -BAR)
    return 0 if table.ok and all(seen.clean for pair in pairs for seen in pair) else 1


def crawled(database: Postgres, seed: int, seconds: float, shards: int) -> Seen:
    """A world from its first moment on."""
    what = f"{shards} shards" if shards else "one process"
    table = Table(f"world {seed}, {what}: {BUDGET:.3g} requests/s for {seconds:g} s, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="quality-") as name:
        folder = Path(name)
        with TestWeb(folder, *world(folder, seed, seconds)) as web:
            begin = float(read_trace(web.trace).about["begin"]) + PRELUDE
            url = database.create(f"quality_{time.monotonic_ns()}")
            settings = settings_for(url, web)
            cluster = ClusterSettings(shards=shards, lease=10.0, margin=5.0, fetch_seconds=4.0, price_every=1.0)
            crawl = Crawl(folder, settings, cluster if shards else None, (begin, begin + seconds))
            asyncio.run(crawl.prepare(web.hosts, 2 * AMPLE))
            written = asyncio.run(transactions(url))
            crawl.start()
            table.least("seconds to spare before the beginning", begin - time.time(), 1.0)
            told = asyncio.run(click(web, url, settings.bin, begin + seconds, shards))
            table.most("processes that failed", sum(status != 0 for status in crawl.finish()), 0)
        table.say("clicks handed in", told)
        written = asyncio.run(transactions(url)) - written
        table.say("write transactions of the database a request", written / len(read_journal(web.journal, begin)))
        seen = judged(table, folder, web, begin, seconds)
        for shard in range(shards):
            table.say(f"shard {shard}: sites; allotted; price; idle, %", looked(crawl, shard, shards, web, begin))
        return Seen(seen, table.ok)


def world(folder: Path, seed: int, seconds: float) -> list[str]:
    """Newspapers as of `small_shape`, but with pages that differ less, so that no single one decides."""
    days = HEAD_START + FACTOR * (PRELUDE + 1.1 * seconds + 60) / DAY
    kind = replace(small_shape(HOSTS).publishers["site"], pages_per_day=PAGES_PER_DAY, page_spread=PAGE_SPREAD)
    lines = [f"days = {days}", f"clicks_per_second = {CLICKS}", "[publishers.site]"]
    file = folder / "shape.toml"
    file.write_text("\n".join([*lines, *(f"{name} = {value}" for name, value in asdict(kind).items())]))
    words = {"shape": file, "seed": seed, "factor": FACTOR, "head-start": HEAD_START}
    return [word for name, value in words.items() for word in (f"--{name}", str(value))]


def settings_for(url: str, web: TestWeb) -> Settings:
    """What belongs to the world's time is pressed together with it."""
    return Settings(
        store=url, budget=BUDGET, host_delay=DELAY, address_delay=0.0, log_push=HOUR / FACTOR,
        replan=30 * MINUTE / FACTOR, bin=20 * MINUTE / FACTOR, warc=False, allow_private_addresses=(NETWORK,),
        connect_to=tuple(web.routes()),
    )  # fmt: skip


async def click(web: TestWeb, url: str, bin: float, until: float, shards: int) -> int:
    """Hand in what readers click, until then; how many rows."""
    since, rows = time.time() - HEAD_START * DAY / FACTOR, 0
    async with PostgresStore(url, **({"shards": shards} if shards else {})) as store:
        while time.time() < until:
            told = [json.loads(line) for line in (await asyncio.to_thread(web.clicks, since)).splitlines()]
            if told:
                since = float(np.nextafter(told[-1]["at"], np.inf))
                await store.add_clicks(
                    time.time(), [ClickRow(row["url"], row["at"], row["count"]) for row in told], bin
                )
            rows += len(told)
            await asyncio.sleep(min(CLICKS_EVERY, max(until - time.time(), 0.0)))
    return rows


async def transactions(url: str) -> int:
    """How many have written something, since the server was made."""
    async with Line(url, 10.0) as line:
        return int((await line.rows("SELECT pg_current_xact_id()::text"))[0][0])


def judged(table: Table, folder: Path, web: TestWeb, begin: float, seconds: float) -> float:
    """By the web's log; the share of clicks kept."""
    visits = read_journal(web.journal, begin)
    pages = Pages(web.trace, visits)
    window = begin + 2 * seconds / 3, begin + seconds
    kept = share(pages.trace, pages.fetched_at(), window)
    table.say("requests a second, in the last third", sum(visit.at >= window[0] for visit in visits) / (seconds / 3))
    table.say("crawls and page fetches", split(pages))
    table.say("pages of the window; the heaviest's share of its clicks, %", heaviest(pages.trace, window))
    for third in range(2):
        part = begin + third * seconds / 3, begin + (third + 1) * seconds / 3
        table.say(f"share of clicks kept, third {third + 1}, %", 100 * share(pages.trace, pages.fetched_at(), part))
    table.say("share of clicks kept, last third, %", 100 * kept)
    courtesy(table, visits, DELAY, BUDGET)
    table.most("pages fetched twice", len(pages.twice_by_page()), 0)
    return kept


def looked(crawl: Crawl, shard: int, shards: int, web: TestWeb, begin: float) -> str:
    """A shard in the last third of the crawl, by its own word."""
    looks = crawl.looks(shard)
    late = looks[2 * len(looks) // 3 :]
    sites = Counter(shard_of(host, shards) for host in web.hosts)[shard]
    allotment, price = (float(np.mean([look[name] or 0.0 for look in late])) for name in ("allotment", "price"))
    idle = (late[-1]["idle"] - late[0]["idle"]) / (late[-1]["at"] - late[0]["at"])
    return f"{sites}; {allotment:.2f}; {price:.4g}; {100 * idle:.0f}"


def _figures(values: np.ndarray) -> str:
    return " ".join(f"{value:.2f}" for value in values)


if __name__ == "__main__":
    sys.exit(main())
