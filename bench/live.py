"""Trials of the live crawler on the test web, judged from the web's request log and its own trace.

usage: python bench/live.py TRIAL [options]         (-h lists them; each prints its figures beside their limits)

Every trial starts the test web as its own process and runs the real `mayfly` commands on a home in a temporary folder.
Exit status 0 if every limit was kept.
"""

from __future__ import annotations

import sys

import live_fresh
import live_hard
import live_long
from trials import judged, parser_of

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
    parser = parser_of("live.py", __doc__, TRIALS)
    parser.add_argument("--rate", type=float, default=200.0, help="soak: fetches per second")
    parser.add_argument("--kills", type=int, default=30, help="killed: how often")
    parser.add_argument("--alive", type=float, default=6.0, help="killed: seconds from a start to a kill, at most")
    parser.add_argument("--store", default="", help="killed: an empty database, postgresql://…, instead of a file")
    parser.add_argument("--delay", type=float, help="pause between two requests to a site")
    asked = parser.parse_args()
    return judged(TRIALS[asked.trial], asked)


if __name__ == "__main__":
    sys.exit(main())
