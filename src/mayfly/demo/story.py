"""What the demo says, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mayfly.core.model import DAY, HOUR, MINUTE, Seconds
from mayfly.demo import scene
from mayfly.demo.readers import Readers
from mayfly.demo.verdict import POLICIES, Kept, window
from mayfly.lab.trace import Trace
from mayfly.testing.witness import Pages, Visit


def opening(newspapers: Sequence[str]) -> str:
    """What world this is."""
    loved = sum(host.startswith("loved") for host in newspapers)
    wrong = len(scene.WRONG_HOSTS) + len(scene.WRONG_SOURCES)
    return (
        f"A web of {len(newspapers) + wrong} hosts lives on this machine: {loved} newspapers everybody reads, "
        f"{len(newspapers) - loved} that publish more and hardly anyone reads, {wrong} hosts that do things wrong. "
        "A day there takes a minute."
    )


def what_happened(played: Trace, visits: list[Visit], kept: Kept, sources: int, readers: Readers) -> list[str]:
    """The crawl, and what came of it."""
    seconds = played.end - played.start
    needed = scene.everything(played) * seconds
    delay = 0.0 if kept.delay is None else kept.delay
    loved, dull = (_interval(played, visits, kind) for kind in ("loved", "dull"))
    return [
        f"In {seconds:.0f} seconds, which were {seconds * scene.FACTOR / DAY:.1f} days there, "
        f"{len(played.page_ids):,} pages appeared. To miss none, by looking at every source once an hour and fetching "
        f"every page, would take {needed:,.0f} fetches. Mayfly had {len(visits):,}.",
        f"It fetched {kept.pages:,} new pages, half of them within {delay:.1f} seconds of their appearance "
        f"({_in_the_world(delay)} there), and spent the other fetches on looking at its {sources} sources again.",
        f"Readers came {readers.came:,} times for a page and found it {readers.found:,} times. What they clicked "
        f"taught the crawler where to look: at the sources of loved newspapers every {loved:.0f} seconds, at those of "
        f"dull ones every {dull:.0f}. Nobody told it which is which.",
    ]


def _interval(played: Trace, visits: list[Visit], kind: str) -> Seconds:
    """How often sources of such hosts were looked at, once it had learned something."""
    begin, end = window(played)
    crawls = Pages(played, [visit for visit in visits if begin <= visit.at < end]).crawls
    mine = [source for source, host in enumerate(played.hosts) if host.startswith(kind)]
    return (end - begin) * len(mine) / max(1, sum(len(crawls.get(source, ())) for source in mine))


def _in_the_world(seconds: Seconds) -> str:
    there = seconds * scene.FACTOR
    return f"{there / HOUR:.1f} hours" if there >= HOUR else f"{there / MINUTE:.0f} minutes"


def headings() -> tuple[str, ...]:
    """Of `table`."""
    return "", "clicks kept", "pages fetched", "looks at sources", "median delay", ""


def table(played: Trace, rows: Sequence[Kept]) -> list[tuple[str, ...]]:
    """A line a way to crawl, the crawl itself first."""
    about = {"live": "this crawl", **POLICIES}
    lines = [
        (
            row.name, f"{row.share:.0%}", f"{row.pages:,}", f"{row.crawls:,}",
            "–" if row.delay is None else f"{row.delay:.1f} s", about[row.name],
        )
        for row in rows
    ]  # fmt: skip
    return [*lines, ("upper bound", "100%", f"{len(played.page_ids):,}", "", "0.0 s", "every page as it appears")]


def gains(shares: dict[str, np.ndarray]) -> str:
    """How much more `index` keeps; shares by policy, one for each seed."""
    spread = {
        other: f"{ratio.mean():.2f}" + (f" ± {ratio.std():.2f}" if len(ratio) > 1 else "")
        for other in ("bfs", "fixed-interval")
        for ratio in [shares["index"] / np.maximum(shares[other], 1e-9)]
    }
    return (
        f"index keeps {spread['bfs']} times as much as bfs, {spread['fixed-interval']} times as much as fixed-interval."
    )
