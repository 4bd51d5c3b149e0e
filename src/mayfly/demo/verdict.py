"""What a crawl kept of what people wanted, and what other policies would have kept with as many fetches.

Both are judged by the web's own script, every link and click, seen or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mayfly.core.model import FloatArray, PerSecond, Seconds
from mayfly.core.quality import judge, profits
from mayfly.demo.scene import BIN, HOST_DELAY, LOG_PUSH, REPLAN
from mayfly.lab.replay import Settings, replay
from mayfly.lab.trace import Trace
from mayfly.testing.witness import Pages, Visit

POLICIES = {
    "bfs": "every source in turn, then all it shows",
    "fixed-interval": "every source at the same interval",
    "echo-newpages": "the paper's best, after two rounds of all sources",
    "index": "Mayfly's own",
}
LEARNING = 1 / 3  # of the time: pages published in it are not counted, for nobody knows anything yet


@dataclass(frozen=True)
class Kept:
    """What one way to crawl did."""

    name: str
    share: float  # of the clicks of pages published after the learning
    delay: Seconds | None  # from publication to fetch, median
    crawls: int
    pages: int
    fetched: FloatArray  # by page of the scene; inf: never


def live(scene: Trace, visits: list[Visit]) -> Kept:
    """What the requests the web noted amount to."""
    pages = Pages(scene, visits)
    fetched = pages.fetched_at()
    crawls = sum(map(len, pages.crawls.values()))
    return _kept("live", scene, fetched, fetched, crawls, int(np.isfinite(fetched).sum()))


def replayed(
    scene: Trace, budget: PerSecond, seed: int, done: Callable[[str], None] = lambda policy: None
) -> list[Kept]:
    """What each policy would have kept, by the lab."""
    rows = []
    for policy in POLICIES:
        settings = Settings(
            policy, budget, log_push=LOG_PUSH, replan=REPLAN, bin=BIN, host_delay=HOST_DELAY, seed=seed,
            policy_options=_options(policy, scene, budget),
        )  # fmt: skip
        run = replay(scene, settings)
        rows.append(_kept(policy, scene, run.shown, run.fetched, int((~run.is_page).sum()), int(run.is_page.sum())))
        done(policy)
    return rows


def _options(policy: str, scene: Trace, budget: PerSecond) -> dict[str, Any]:
    """Polling takes half of the budget and leaves the rest for pages."""
    return {"interval": 2 * len(scene.source_ids) / budget} if policy == "fixed-interval" else {}


def window(scene: Trace) -> tuple[Seconds, Seconds]:
    """When the pages that count were published."""
    return scene.start + LEARNING * (scene.end - scene.start), scene.end


def _kept(name: str, scene: Trace, shown: FloatArray, fetched: FloatArray, crawls: int, pages: int) -> Kept:
    quality = judge(scene.published, shown, fetched, scene.clicks, window(scene))
    return Kept(name, quality.share or 0.0, quality.delay_median, crawls, pages, fetched)


def over_time(scene: Trace, fetched: FloatArray, steps: int = 60) -> tuple[FloatArray, FloatArray]:
    """(seconds since the start, clicks kept on pages published until then), from the end of the learning on."""
    times = np.linspace(*window(scene), steps + 1)
    order = np.argsort(scene.published)
    sums = np.concatenate([[0.0], np.cumsum(profits(fetched, scene.clicks)[order])])
    kept = sums[np.searchsorted(scene.published[order], times)]
    return times - scene.start, kept - kept[0]
