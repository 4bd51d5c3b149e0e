"""How well the worth of pages is foreseen when they are found, on weeks the model has not seen; and how fast.

A replay of `index` learns as it goes. Of every page found in the last third it is noted what was foreseen then, by the
mean of its sources, by its place too, and by the model too, and held against the clicks that came from then on.

usage: python bench/pagevalue.py TRACE [MULTIPLE] [PNG]     (MULTIPLE of the page rate, 0.87 by default)
"""

import sys
import time
from pathlib import Path

import numpy as np

import mayfly.lab.replay as lab
from mayfly.core.estimates.pagevalue import PageValue
from mayfly.core.features import TABLE, WIDTH
from mayfly.core.merits import Merits
from mayfly.lab.trace import Trace, read_trace

ARMS = ("mean of its sources", "and its place", "and the model")
noted: list[tuple[int, float, float, float, float]] = []  # page, found at, and what each arm foresaw


class Watched(Merits):
    """Merits that note what they foresee."""

    def refine(self, beliefs):
        self.plan = super().refine(beliefs)
        return self.plan

    def found(self, new, pages, source, at):
        super().found(new, pages, source, at)
        plan = getattr(self, "plan", None)
        if plan is None or source >= len(plan.page_profit):
            return
        for one, page in zip(new, pages, strict=True):
            mean = plan.page_profit[source] * np.exp(-plan.profit_decay[source] * (at - page.published))
            place = plan.place_worth[page.place]
            noted.append((one.page, at, mean, mean * place, mean * place * page.merit))


def deviance(clicks: np.ndarray, foreseen: np.ndarray) -> float:
    """Poisson's, by page."""
    some = clicks > 0
    parts = foreseen - clicks
    parts[some] += clicks[some] * np.log(clicks[some] / foreseen[some])
    return 2 * float(parts.mean())


def came_since(trace: Trace, page: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Clicks of these pages from these moments on."""
    since = np.full(len(trace.page_ids), np.inf)
    since[page] = at
    seen = trace.clicks.at >= since[trace.clicks.page]
    return np.bincount(trace.clicks.page[seen], trace.clicks.number[seen], len(trace.page_ids))[page]


def plot(path: Path, foreseen: np.ndarray, clicks: np.ndarray, name: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 5))
    for arm, label in enumerate(ARMS):
        parts = np.array_split(np.argsort(foreseen[:, arm]), 12)
        axes.loglog(
            [foreseen[part, arm].mean() for part in parts], [clicks[part].mean() for part in parts], "o-", label=label
        )
    ends = [foreseen.min() + 1e-3, foreseen.max()]
    axes.loglog(ends, ends, "k:", lw=0.8)
    axes.set(xlabel="clicks foreseen when the page was found", ylabel="clicks that came", title=name)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def speed() -> None:
    rng, pages = np.random.default_rng(0), 100_000
    slots = np.where(rng.random((pages, WIDTH)) < 0.7, rng.integers(1, TABLE, (pages, WIDTH)), 0).astype(np.int32)
    clicks, expected = rng.poisson(1.0, pages).astype(float), np.full(pages, 1.0)
    value = PageValue()
    began = time.process_time()
    for low in range(0, pages, 200):
        value.learn(slots[low : low + 200], expected[low : low + 200], clicks[low : low + 200])
    learned = time.process_time()
    value.merits(slots)
    asked = time.process_time()
    print(f"learned {pages / (learned - began):,.0f} and valued {pages / (asked - learned):,.0f} pages per CPU-second")
    merits = Merits()
    merits.added(np.zeros(1, np.int64), ["front"])
    urls = [f"https://a.test/news/{n % 50}x/some-words-of-a-title-{n}-and-more-{n % 997}.html" for n in range(pages)]
    new = [[lab.NewPage(n + k, rank=float(k + 1), url=urls[n + k]) for k in range(4)] for n in range(0, pages, 4)]
    known = [[lab_page() for _ in some] for some in new]
    began = time.process_time()
    for some, those in zip(new, known, strict=True):
        merits.found(some, those, 0, 0.0)
    print(f"read and valued {pages / (time.process_time() - began):,.0f} new pages per CPU-second, four a crawl")


def lab_page():
    from mayfly.core.knowledge import KnownPage

    return KnownPage(0.0, 0.0, (0,), 0)


def main() -> None:
    trace = read_trace(Path(sys.argv[1]))
    multiple = float(sys.argv[2]) if len(sys.argv) > 2 else 0.87
    lab.Merits = Watched
    lab.replay(trace, lab.Settings("index", multiple * trace.page_rate))
    page, at, *arms = (np.array(column) for column in zip(*noted, strict=True))
    inside = at >= lab.default_window(trace)[0]
    clicks, foreseen = came_since(trace, page, at)[inside], np.stack(arms, 1)[inside]
    print(
        f"{trace.name}, {multiple}x: {inside.sum():,} pages found in the last third, {clicks.mean():.2f} clicks each\n"
    )
    print("| foreseen by | deviance a page | against the mean | all foreseen, by what came | top tenth has | fifth |")
    print("|---|---|---|---|---|---|")
    for arm, label in enumerate(ARMS):
        values = foreseen[:, arm]
        scaled = values * clicks.sum() / values.sum()
        if arm == 0:
            first = deviance(clicks, scaled)
        found = np.cumsum(clicks[np.argsort(-values)]) / clicks.sum()
        print(
            f"| {label} | {deviance(clicks, scaled):.2f} | {deviance(clicks, scaled) / first:.3f} | "
            f"{values.sum() / clicks.sum():.2f} | {found[len(found) // 10]:.3f} | {found[len(found) // 5]:.3f} |"
        )
    if len(sys.argv) > 3:
        plot(Path(sys.argv[3]), foreseen, clicks, trace.name)
    print()
    speed()


if __name__ == "__main__":
    main()
