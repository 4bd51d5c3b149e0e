"""`mayfly lab scale` beside its limits: one price for ten million sources on a thousand shards, in virtual time.

usage: python bench/scale.py [--sources 10000000] [--shards 1000]
"""

from __future__ import annotations

import argparse
import sys

from live_judge import Table

from mayfly.lab.scale import Size, facts, try_scale


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=1_000)
    asked = parser.parse_args()
    size = Size(asked.sources, asked.shards)
    found = facts(try_scale(size, 0.44 * size.page_rate))
    table = Table(f"{size.sources:,} sources on {size.shards:,} shards, budget {found['budget']:.4g} a second")
    table.most("rounds until the price spends the budget to 0.5 %", found["rounds_to_price"] or float("inf"), 3)
    table.most(
        "largest error of spend from the third round on", max(abs(step["error"]) for step in found["steps"][2:]), 0.005
    )
    table.most("in force anywhere, at most, of the budget", max(step["at_most"] for step in found["steps"]), 1.0)
    table.say("bytes a round, all shards together", found["bytes_per_round"])
    table.say("memory of a million sources, MB", found["memory_of_a_million_sources"] / 1e6)
    table.say("CPU-seconds of all this", found["cpu_seconds"])
    return 0 if table.ok else 1


if __name__ == "__main__":
    sys.exit(main())
