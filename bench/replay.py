"""Replay of a world like the paper's with `bayes`: fetches per CPU-second for every policy, and peak memory.

Limits: 20,000 for bfs, echo-greedy and echo-newpages, 10,000 for the others, in under 2 GB.

usage: python bench/replay.py [POLICY …]
"""

import resource
import sys
import time

from mayfly.core.policies import POLICIES
from mayfly.lab.replay import Settings, replay, report
from mayfly.lab.shapes import SHAPES
from mayfly.lab.synthetic import make_world

WORLD = SHAPES["paper"]
BUDGET = 0.2
FAST = ("bfs", "echo-greedy", "echo-newpages")


def main() -> None:
    world = make_world(WORLD, seed=1)
    print(f"{len(world.source_ids):,} sources, {len(world.page_ids):,} pages, {len(world.added):,} links, "
          f"{world.clicks.number.sum():,.0f} clicks; {BUDGET}/s")  # fmt: skip
    for policy in sys.argv[1:] or POLICIES:
        limit = 20_000 if policy in FAST else 10_000
        began = time.process_time()
        run = replay(world, Settings(policy, BUDGET))
        speed = len(run.at) / (time.process_time() - began)
        gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        verdict = "ok" if speed >= limit and gigabytes < 2 else "MISSED"
        print(f"{policy:15} {speed:8,.0f} fetches per CPU-second (limit {limit:,}), {gigabytes:.2f} GB at most, "
              f"share {report(run)[0]['share']:.3f}  {verdict}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
