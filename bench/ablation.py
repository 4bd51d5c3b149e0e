"""What each part of `index` and `bayes` brings: share of the bound without it, for docs/explanation/results.md.

usage: python bench/ablation.py TRACE UNTIL_DAYS [SEEDS] [ARMS]     (UNTIL_DAYS 0: all; ARMS: the first so many)
       python bench/ablation.py paper:0.1 0 5                       (made-up worlds like the paper's, a tenth as large)

On a trace the seeds are those of the policy; made-up worlds are of so many seeds. Each cell is the mean ± the standard
deviation over them, and how it differs from the first row, seed by seed: worlds differ more than arms do.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from mayfly.core.model import DAY
from mayfly.core.samples import Samples
from mayfly.lab.replay import Settings, replay, report
from mayfly.lab.shapes import SHAPES
from mayfly.lab.synthetic import make_world
from mayfly.lab.trace import Trace, read_trace

MULTIPLES = (0.22, 0.44)
CHOOSE = Samples.choose
ARMS = [
    ("index, bayes", {}, {}, {}),
    ("without page values", {}, {}, {"page_values": False}),
    ("crawls valued by the mean page", {"selective": False}, {}, {}),
    ("without words", {}, {}, {"value_options": {"word_trust": 1e9}}),
    ("without the cap P/r", {"cap": False}, {}, {}),
    ("links held to stay for ever", {"loss": False}, {}, {}),
    ("without the rhythm of the week", {}, {"rhythm": False}, {}),
    ("without the worth of places", {}, {"places": False}, {}),
    ("crawls valued by all pages of a source", {}, {"firsts": False}, {}),
    ("without hope", {}, {"hope": 0.0}, {}),
    ("links shown by twins count nothing", {}, {"twin_share": 0.0}, {}),
    ("links shown by twins count fully", {}, {"twin_share": 1.0}, {}),
    ("without samples of untried hosts", {}, {}, {"samples": False}),
    ("without probes and samples", {}, {}, {"probe": 0.0}),
    ("estimator paper", {}, {}, {"estimator": "paper"}),
    ("all clicks told", {}, {}, {"feedback": "all"}),
]


def world_of(name: str, days: float, seed: int) -> Trace:
    if ":" in name:
        shape, scale = name.split(":")
        return make_world(SHAPES[shape].scaled(float(scale)), seed + 1)
    trace = read_trace(Path(name))
    return trace.until(trace.start + days * DAY) if days else trace


def run(job: tuple) -> float:
    name, days, multiple, seed, policy_options, estimator_options, flags = job
    trace = world_of(name, days, seed)
    flags = dict(flags)
    Samples.choose = CHOOSE if flags.pop("samples", True) else lambda *_: []  # type: ignore[method-assign]
    settings = Settings(
        "index", multiple * trace.page_rate, seed=seed, policy_options=policy_options,
        estimator_options=estimator_options, **flags,
    )  # fmt: skip
    return report(replay(trace, settings))[0]["share"]


def main() -> None:
    folder, days = sys.argv[1], float(sys.argv[2])
    seeds = range(int(sys.argv[3]) if len(sys.argv) > 3 else 3)
    print("| arm | " + " | ".join(f"{multiple}x" for multiple in MULTIPLES) + " |\n|---|" + "---|" * len(MULTIPLES))
    whole = None
    with ProcessPoolExecutor() as pool:
        for label, *options in ARMS[: int(sys.argv[4]) if len(sys.argv) > 4 else None]:
            jobs = [(folder, days, multiple, seed, *options) for multiple in MULTIPLES for seed in seeds]
            shares = np.reshape(list(pool.map(run, jobs)), (len(MULTIPLES), len(seeds)))
            whole = shares if whole is None else whole
            cells = [
                f"{row.mean():.3f} ± {row.std():.3f} ({change.mean():+.3f} ± {change.std():.3f})"
                for row, change in zip(shares, shares - whole, strict=True)
            ]
            print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
