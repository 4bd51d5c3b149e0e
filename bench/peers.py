"""Other readings of the rules of other crawlers: share of the bound, for docs/explanation/peers.md.

usage: python bench/peers.py TRACE [SEEDS] [BUDGETS]     (BUDGETS as 0.22,0.44,0.87, of the page rate)
"""

import sys
from pathlib import Path

import numpy as np

from mayfly.core.model import DAY, HOUR
from mayfly.core.policies import PEER_POLICIES
from mayfly.lab.replay import Settings, replay, report
from mayfly.lab.trace import read_trace

LITERATURE = ("lambda-crawl", "whittle", "sia-cho")
ARMS = [
    ("nutch", "begun at a day", {"first": DAY}),
    ("nutch", "begun at an hour", {"first": HOUR}),
    *((name, "a slot that is left goes to what is due next", {"early": True}) for name in PEER_POLICIES),
    *((name, "newest page first", {"page_order": "newest"}) for name in ("miniflux", "media-cloud", "whittle")),
    *((name, "sources first", {"sources_first": True}) for name in ("miniflux", "media-cloud")),
    *(
        (name, "sources first, newest page first", {"sources_first": True, "page_order": "newest"})
        for name in ("miniflux", "media-cloud")
    ),
    *((name, "sources first, a tenth for them", {"sources_first": True, "quota": 0.1}) for name in LITERATURE),
    ("lambda-crawl", "importance λP", {"by_source": True}),
    ("lambda-crawl", "rates of a tenth of the budget", {"quota": 0.1}),
    ("lambda-crawl", "rates of the whole budget", {"quota": 1.0}),
    ("whittle", "probes, two of a hundred fetches", {}),
]


def main() -> None:
    trace = read_trace(Path(sys.argv[1]))
    seeds = range(int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    multiples = [float(text) for text in (sys.argv[3] if len(sys.argv) > 3 else "0.22,0.44,0.87").split(",")]
    print("| rule | reading | " + " | ".join(f"{multiple:g}x" for multiple in multiples) + " |\n"
          "|---|---|" + "---|" * len(multiples))  # fmt: skip
    for policy, label, options in ARMS:
        cells = []
        for multiple in multiples:
            budget, probe = multiple * trace.page_rate, 0.02 if label.startswith("probes") else None
            wanted = [Settings(policy, budget, seed=seed, probe=probe, policy_options=options) for seed in seeds]
            shares = [report(replay(trace, settings))[0]["share"] for settings in wanted]
            cells.append(f"{np.mean(shares):.3f}" + (f" ± {np.std(shares):.3f}" if len(shares) > 1 else ""))
        print(f"| `{policy}` | {label} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
