"""What a second machine brings where answers are waited for: requests a second at the origin, 1 and 2 workers.

usage: python bench/cluster_speed.py [--repeats 3] [--seconds 15]

Machines are network namespaces with a node of Ray each (`faults_stage.py`), with one shard a machine. The test web
answers after 100 ms, and a shard has four requests under way at most; its budget is far above that.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from faults_stage import Stage, in_namespaces, wait_for
from live_judge import Table

from mayfly.cluster.settings import ClusterSettings

LATENCY, CONNECTIONS, BUDGET, HOSTS = 0.1, 4, 1000.0, 32
PATIENCE = 120.0
SETTLE = 3.0
BAR = 1.8


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0, help="in which requests are counted")
    parser.add_argument("--machines", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--note", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if "FAULTS_INSIDE" in os.environ:
        asked.note.write_text(str(rate(asked.machines, asked.seconds)))
        return 0
    table = Table(f"{CONNECTIONS} connections a shard, answers after {LATENCY:g} s, {asked.seconds:g} s counted")
    ratios = [ratio(table, asked.seconds) for _ in range(asked.repeats)]
    table.least("two machines against one, the least of all", min(ratios), BAR)
    return 0 if table.ok else 1


def ratio(table: Table, seconds: float) -> float:
    """Two machines against one."""
    load = os.getloadavg()[0]
    one, two = (apart(machines, seconds) for machines in (1, 2))
    most = CONNECTIONS / LATENCY
    table.say(
        f"requests/s of 1 and 2 (at most {most:.0f}, {2 * most:.0f}); ratio", f"{one:.1f} {two:.1f}; {two / one:.3f}"
    )
    table.say("  load of the machine before and after", f"{load:.1f} {os.getloadavg()[0]:.1f}")
    return two / one


def apart(machines: int, seconds: float) -> float:
    """The same in namespaces of its own."""
    with tempfile.TemporaryDirectory(prefix="speed-") as folder:
        note = Path(folder) / "rate"
        words = ["--machines", str(machines), "--seconds", str(seconds), "--note", str(note)]
        if in_namespaces([sys.argv[0], *words]):
            sys.exit(f"the crawl on {machines} machines failed")
        return float(note.read_text())


def rate(machines: int, seconds: float) -> float:
    """Requests a second, once every source was read."""
    cluster = ClusterSettings(shards=machines, lease=10.0, margin=5.0, fetch_seconds=4.0, price_every=1.0)
    settings = {"budget": BUDGET, "host_delay": 0.0, "connections": CONNECTIONS}
    with Stage(settings, cluster, HOSTS, machines, LATENCY) as stage:
        wait_for(lambda: len(stage.owners()) == machines, PATIENCE)
        wait_for(stage.baselined, PATIENCE)
        time.sleep(SETTLE)
        begin = time.time()
        time.sleep(seconds)
        at = np.array([visit.at for visit in stage.visits()])
        counted = int(((at >= begin) & (at < begin + seconds)).sum())
    return counted / seconds


if __name__ == "__main__":
    sys.exit(main())
