"""How good a run was: quality, its bound, delays, and what was missed and why (paper, section 2; DESIGN §4).

All of it follows from when each page was published, first shown and fetched, and from the clicks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mayfly.core.model import WEEK, BoolArray, FloatArray, IntArray, Seconds


class Interest(NamedTuple):
    """Clicks (or shows), as columns."""

    page: IntArray
    at: FloatArray
    number: FloatArray


@dataclass(frozen=True, slots=True)
class Missed:
    """Pages of the window whose profit was lost, in whole or in part, and that profit as a share of the bound."""

    pages: int
    share: float


@dataclass(frozen=True, slots=True)
class Quality:
    """A run, judged over a window. `share` = quality / upper_bound."""

    quality: float
    upper_bound: float
    share: float | None
    dynamic_mean: float  # of the one-week dynamic quality, every two minutes of the window
    dynamic_std: float
    delay_median: Seconds | None
    delay_p90: Seconds | None
    never_shown: Missed  # no crawl of ours showed it while it was linked
    too_late: Missed  # fetched, but clicks came before
    dropped: Missed  # known, given up for want of worth
    left_waiting: Missed  # known, never its turn


def profits(fetched: FloatArray, interest: Interest) -> FloatArray:
    """Profit of each page: its clicks at or after its fetch (`inf`: never fetched)."""
    kept = interest.at >= fetched[interest.page]
    return np.bincount(interest.page[kept], interest.number[kept], len(fetched)).astype(float)


def dynamic_quality(profit: FloatArray, fetched: FloatArray, times: FloatArray, width: Seconds) -> FloatArray:
    """Q_T(t), eq. 1: profit per second of the pages fetched in [t - T, t], for each t."""
    order = np.argsort(fetched, kind="stable")
    when = fetched[order]
    total = np.concatenate([[0.0], np.cumsum(profit[order])])
    until = np.searchsorted(when, times, side="right")
    since = np.searchsorted(when, times - width, side="left")
    return (total[until] - total[since]) / width


def judge(
    published: FloatArray,
    shown: FloatArray,
    fetched: FloatArray,
    interest: Interest,
    window: tuple[Seconds, Seconds],
    dropped: IntArray | None = None,
) -> Quality:
    """Judge a run by when each page was published, first shown to us and fetched (`inf`: never)."""
    begin, end = window
    length = end - begin
    profit = profits(fetched, interest)
    bound = np.bincount(interest.page, interest.number, len(published)).astype(float)
    inside = (published >= begin) & (published < end)
    counted = inside & (fetched >= begin) & (fetched < end)
    whole = float(bound[inside].sum())
    kept = float(profit[counted].sum())
    weekly = dynamic_quality(profit, fetched, np.arange(begin, end, 120.0), WEEK)
    delays = fetched[counted] - published[counted]
    given_up = np.zeros(len(published), bool)
    if dropped is not None:
        given_up[dropped] = True

    def missed(pages: BoolArray, lost: FloatArray) -> Missed:
        some = pages & (lost > 0)
        return Missed(int(some.sum()), float(lost[some].sum()) / whole if whole else 0.0)

    waiting = inside & ~counted & np.isfinite(shown)
    return Quality(
        quality=kept / length,
        upper_bound=whole / length,
        share=kept / whole if whole else None,
        dynamic_mean=float(weekly.mean()) if len(weekly) else 0.0,
        dynamic_std=float(weekly.std()) if len(weekly) else 0.0,
        delay_median=float(np.median(delays)) if len(delays) else None,
        delay_p90=float(np.quantile(delays, 0.9)) if len(delays) else None,
        never_shown=missed(inside & ~counted & ~np.isfinite(shown), bound),
        too_late=missed(counted, bound - profit),
        dropped=missed(waiting & given_up, bound),
        left_waiting=missed(waiting & ~given_up, bound),
    )
