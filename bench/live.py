"""Trials of the live crawler on the test web, judged from the web's request log and its own trace.

usage: python bench/live.py TRIAL [options]         (-h lists them; each prints its figures beside their limits)

Every trial starts the test web as its own process and runs the real `mayfly` commands on a home in a temporary folder.
Exit status 0 if every limit was kept.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import live_fresh
import live_hard
import live_long
from live_judge import Table

TRIALS = {
    "ample": live_fresh.ample,
    "parity": live_fresh.parity,
    "killed": live_hard.killed,
    "together": live_hard.together,
    "full": live_hard.full,
    "clock": live_hard.clock,
    "trouble": live_long.trouble,
    "soak": live_long.soak,
}


def main() -> int:
    parser = argparse.ArgumentParser("live.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("trial", choices=TRIALS)
    parser.add_argument("--seconds", type=float, help="how long to crawl")
    parser.add_argument("--hosts", type=int, help="newspapers of the test web")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, help="fetches per second")
    parser.add_argument("--rate", type=float, default=200.0, help="soak: fetches per second")
    parser.add_argument("--kills", type=int, default=30, help="killed: how often")
    parser.add_argument("--alive", type=float, default=6.0, help="killed: seconds from a start to a kill, at most")
    parser.add_argument("--delay", type=float, help="pause between two requests to a site")
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it; else in a temporary one")
    asked = parser.parse_args()
    table = Table(" ".join(["live.py", *sys.argv[1:]]))
    if asked.keep:
        shutil.rmtree(asked.keep, ignore_errors=True)
        asked.keep.mkdir(parents=True)
        TRIALS[asked.trial](asked.keep, asked, table)
    else:
        with tempfile.TemporaryDirectory() as folder:
            TRIALS[asked.trial](Path(folder), asked, table)
    return 0 if table.ok else 1


if __name__ == "__main__":
    sys.exit(main())
