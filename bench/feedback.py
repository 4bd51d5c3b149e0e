"""Trials of clicks in and pages out: what is learned from clicks, and whether any is lost.

usage: python bench/feedback.py TRIAL [options]     (-h lists them; each prints its figures beside their limits)

As bench/live.py: the test web is a process of its own, the real `mayfly` commands work on a home in a temporary folder,
and exit status 0 says that every limit was kept. `truth` needs neither: it replays the test web's own trace.
"""

from __future__ import annotations

import sys

import feedback_hints
import feedback_live
import feedback_storm
import feedback_truth
from trials import judged, parser_of

TRIALS = {
    "truth": feedback_truth.truth,
    "truth-live": feedback_live.truth,
    "storm": feedback_storm.storm,
    "killed": feedback_storm.killed,
    "hints": feedback_hints.hints,
}


def main() -> int:
    parser = parser_of("feedback.py", __doc__, TRIALS)
    parser.add_argument("--days", type=float, help="truth: of the world")
    parser.add_argument("--rate", type=float, help="storm, killed: clicks per second")
    parser.add_argument("--kills", type=int, help="killed: how often")
    parser.add_argument("--alive", type=float, default=6.0, help="killed: seconds from one kill to the next, at most")
    asked = parser.parse_args()
    return judged(TRIALS[asked.trial], asked)


if __name__ == "__main__":
    sys.exit(main())
