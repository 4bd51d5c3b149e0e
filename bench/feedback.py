"""Trials of clicks in and pages out: what is learned from clicks, and whether any is lost.

usage: python bench/feedback.py TRIAL [options]     (-h lists them; each prints its figures beside their limits)

As bench/live.py: the test web is a process of its own, the real `mayfly` commands work on a home in a temporary folder,
and exit status 0 says that every limit was kept. `truth` needs neither: it replays the test web's own trace.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import feedback_hints
import feedback_live
import feedback_storm
import feedback_truth
from live_judge import Table

TRIALS = {
    "truth": feedback_truth.truth,
    "truth-live": feedback_live.truth,
    "storm": feedback_storm.storm,
    "killed": feedback_storm.killed,
    "hints": feedback_hints.hints,
}


def main() -> int:
    parser = argparse.ArgumentParser("feedback.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("trial", choices=TRIALS)
    parser.add_argument("--seconds", type=float, help="how long to crawl, or to storm")
    parser.add_argument("--hosts", type=int, help="newspapers of the test web")
    parser.add_argument("--days", type=float, help="truth: of the world")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, help="fetches per second")
    parser.add_argument("--rate", type=float, help="storm, killed: clicks per second")
    parser.add_argument("--kills", type=int, help="killed: how often")
    parser.add_argument("--alive", type=float, default=6.0, help="killed: seconds from one kill to the next, at most")
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it; else in a temporary one")
    asked = parser.parse_args()
    table = Table(" ".join(["feedback.py", *sys.argv[1:]]))
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
