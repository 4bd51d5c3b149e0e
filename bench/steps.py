"""From the paper's rules to ours, one step at a time: share of the bound on worlds like the paper's.

For docs/explanation/model.md. usage: python bench/steps.py [SCALE] [SEEDS]
"""

import os
import sys
from functools import partial

import numpy as np

from mayfly.lab.compare import figures_of
from mayfly.lab.facts import PAPER_BUDGETS
from mayfly.lab.jobs import Job, Jobs
from mayfly.lab.replay import Settings
from mayfly.lab.shapes import SHAPES
from mayfly.lab.synthetic import make_world

PAPER = {"estimator": "paper", "feedback": "all"}
CENSORED = {"estimator": "paper", "feedback": "fetched"}
STEPS = [
    ("ECHO-newpages, Algorithm 1 ended on the affordable side", "echo-newpages", {"keep_edge": False}, PAPER),
    ("ended on the side that spends (stopping)", "echo-newpages", {}, PAPER),
    ("with p = λP/μ", "echo-newpages", {"poisson": True}, PAPER),
    ("with the right sources (exact plan)", "echo-newpages", {"exact": True}, PAPER),
    ("one queue, no cap", "index", {"cap": False}, PAPER),
    ("one queue, capped index", "index", {}, PAPER),
    ("ECHO-newpages, clicks only after the fetch", "echo-newpages", {}, CENSORED),
    ("capped index, clicks only after the fetch", "index", {}, CENSORED),
    ("ECHO-newpages, clicks only after the fetch, estimator bayes", "echo-newpages", {}, {}),
    ("capped index, clicks only after the fetch, estimator bayes", "index", {}, {}),
]


def main() -> None:
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    seeds = range(1, 1 + (int(sys.argv[2]) if len(sys.argv) > 2 else 3))
    worlds = [partial(make_world, SHAPES["paper"].scaled(scale), seed) for seed in seeds]
    print("| step | " + " | ".join(f"N = {budget:g}" for budget in PAPER_BUDGETS) + " |\n|---|---|---|---|")
    jobs = Jobs(worlds, os.cpu_count() or 1)
    for label, policy, options, flags in STEPS:
        runs = [
            Job(number, Settings(policy, budget * scale, seed=seed, policy_options=options, **flags))
            for budget in PAPER_BUDGETS
            for number, seed in enumerate(seeds)
        ]
        shares = np.reshape([figures["share"] for figures in jobs.map(runs, figures_of)], (3, -1))
        cells = [f"{row.mean():.3f} ± {row.std():.3f}" for row in shares]
        print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
