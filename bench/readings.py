"""The paper's other readings beside the ones taken: share of the bound, for docs/explanation/readings.md.

usage: python bench/readings.py TRACE [SEEDS]
"""

import sys
from pathlib import Path

import numpy as np

from mayfly.lab.replay import Settings, replay, report
from mayfly.lab.trace import read_trace

MULTIPLES = (0.22, 0.44, 0.87)
READINGS = [
    ("echo-schedule, taken", "echo-schedule", {}, {}, {}),
    ("echo-schedule, leaves a slot unused", "echo-schedule", {"idle": True}, {}, {}),
    ("echo-schedule, ends Algorithm 1 on the affordable side", "echo-schedule", {"keep_edge": False}, {}, {}),
    ("echo-newpages, taken", "echo-newpages", {}, {}, {}),
    ("echo-newpages, ends Algorithm 1 on the affordable side", "echo-newpages", {"keep_edge": False}, {}, {}),
    ("echo-newpages, λ = 0 where T crawls found none", "echo-newpages", {}, {"quiet": 0.0}, {}),
    ("echo-newpages, clicks by all pages found", "echo-newpages", {}, {"per_found": True}, {}),
    ("echo-newpages, P = 0 where nothing was clicked", "echo-newpages", {}, {"unclicked": False}, {}),
    ("echo-newpages, all clicks told", "echo-newpages", {}, {}, {"feedback": "all"}),
]


def main() -> None:
    trace = read_trace(Path(sys.argv[1]))
    seeds = range(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print(f"{trace.name}, estimator paper, {len(seeds)} seeds\n")
    print("| reading | " + " | ".join(f"{multiple}x" for multiple in MULTIPLES) + " |\n|---|" + "---|" * len(MULTIPLES))
    for label, policy, policy_options, estimator_options, flags in READINGS:
        cells = []
        for multiple in MULTIPLES:
            options = {"policy_options": policy_options, "estimator_options": estimator_options, **flags}
            settings = [Settings(policy, multiple * trace.page_rate, "paper", seed=seed, **options) for seed in seeds]
            shares = [report(replay(trace, one))[0]["share"] for one in settings]
            cells.append(f"{np.mean(shares):.3f}" + (f" ± {np.std(shares):.3f}" if len(seeds) > 1 else ""))
        print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
