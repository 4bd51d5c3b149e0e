"""`Scheduler.next` + `observe`, decisions per CPU-second: 100,000 sources on 10,000 sites, politeness on, and one site
with 20,000 waiting pages among them. The limit is 20,000; beside it the same world with the gate open.

usage: python bench/decisions.py [DECISIONS]
"""

import sys
import time

import numpy as np

from mayfly.core.estimates.bayes import Bayes
from mayfly.core.events import NewPage, PageFetched, SourceCrawled, SourcesAdded
from mayfly.core.model import Fetch
from mayfly.core.policies.index import Index
from mayfly.core.politeness import Gate
from mayfly.core.scheduler import Scheduler

SOURCES, SITES, WAITING = 100_000, 10_000, 20_000
BUDGET = 500.0  # fetches per second of virtual time
DELAY = 5.0
LIMIT = 20_000


def main() -> None:
    decisions = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    for delay in (DELAY, 0.0):
        speed = run(decisions, delay)
        verdict = ("ok" if speed >= LIMIT else "TOO SLOW") if delay else ""
        print(f"delay {delay:.0f} s: {speed:,.0f} decisions per CPU-second (limit {LIMIT:,})  {verdict}")


def run(decisions: int, delay: float) -> float:
    rng = np.random.default_rng(1)
    sites = [f"site-{number % SITES}" for number in range(SOURCES)]
    scheduler = Scheduler(Index(), Bayes(), BUDGET, Gate(delay), seed=1)
    scheduler.observe(SourcesAdded(0.0, sites, sites))
    # The first source shows so many pages that its site can never catch up.
    scheduler.observe(SourceCrawled(0.0, 0, [NewPage(10_000_000 + number, sites[0]) for number in range(WAITING)]))
    pages = iter(range(10**9))
    finds = rng.poisson(1.0, decisions).tolist()
    began, made, slot, waited = time.process_time(), 0, 0, 0
    while made < decisions:
        now = slot / BUDGET
        slot += 1
        fetch = scheduler.next(now)
        if not isinstance(fetch, Fetch):
            waited += 1
            continue
        if fetch.kind == "page":
            scheduler.observe(PageFetched(now, fetch.id))
        else:
            found = [NewPage(next(pages), sites[fetch.id]) for _ in range(finds[made])]
            scheduler.observe(SourceCrawled(now, fetch.id, found))
        made += 1
    return decisions / (time.process_time() - began)


if __name__ == "__main__":
    main()
