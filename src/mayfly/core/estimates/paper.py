"""The paper's estimator (sections 4.2.1 and 4.2.2).

λ  links new to the crawler in the last T crawls, over the time they span; before two crawls the mean of all sources.
P, μ  Algorithm 2 on the cumulative histogram of clicks by age. Before any click of a source: P_default and 1/day.

Two things the paper leaves open. If all of the last T crawls found nothing, λ would be 0 and the source never crawled
again, so that one quiet night would end a newspaper: half a link is counted instead. And N, the pages a histogram is
divided by, are the pages whose clicks can be seen: the fetched ones, or all shown ones where the log has all clicks.
"""

from __future__ import annotations

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.estimates.fit import fit_decay
from mayfly.core.model import (
    DAY,
    WEEK,
    Beliefs,
    Credited,
    Evidence,
    FloatArray,
    Found,
    IntArray,
    Seconds,
    SourceId,
    beliefs,
)


class Paper:
    """Rings of the last T crawls, and one sparse histogram of click ages for all sources."""

    def __init__(
        self,
        feedback: str = "fetched",
        history: int = 7,  # T
        bin_width: Seconds = 1200.0,  # D
        default_profit: float = 0.01,
        fit: bool = True,  # False: P is clicks per page, as ECHO-greedy takes it
        quiet: float = 0.5,  # links counted where the last T crawls found none
        per_found: bool = False,  # another reading: clicks by all pages found, seen or not
        unclicked: bool = True,  # sources whose pages were seen but never clicked keep the default profit
    ) -> None:
        self._quiet = quiet
        self._per_found = per_found
        self._unclicked = unclicked
        self._feedback = feedback
        self._history = history
        self._bin_width = bin_width
        self._bins = int(np.ceil(WEEK / bin_width))
        self._default_profit = default_profit
        self._fit = fit
        self._source = Columns(
            gaps=(history,), found=(history,), crawls=0, pages=0.0, clicks=0.0, untimed=0.0, profit=0.0, decay=1 / DAY
        )
        self._histogram: dict[SourceId, dict[int, float]] = {}
        self._oldest: dict[SourceId, Seconds] = {}  # when the first page of a source that can be seen appeared

    def added(self, host: IntArray) -> None:
        self._source.grow(self._source.size + len(host))

    def crawled(self, source: SourceId, at: Seconds, since: Seconds | None, found: Found) -> None:
        row = self._source
        if self._per_found:
            row.pages[source] += found.new
        if since is None or at <= since:
            return
        place = row.crawls[source] % self._history
        row.gaps[source, place] = at - since
        row.found[source, place] = found.new
        row.crawls[source] += 1

    def rejected(self, source: SourceId) -> None:
        row = self._source
        if self._per_found:
            row.pages[source] = max(row.pages[source] - 1, 0)
        place = (row.crawls[source] - 1) % self._history
        row.found[source, place] = max(row.found[source, place] - 1, 0)

    def exposed(
        self, source: SourceId, place: int, share: float, age: Seconds, at: Seconds, first: bool, merit: float = 1.0
    ) -> None:
        if not self._per_found:
            self._source.pages[source] += 1
        self._oldest[source] = min(at - age, self._oldest.get(source, at))

    def counted(self, at: Seconds, clicks: Credited) -> None:
        source, age, count = clicks.source, clicks.age, clicks.number
        row = self._source
        row.clicks[:] += np.bincount(source, count, row.size)
        if not self._fit:
            return
        if clicks.timed is not None:
            row.untimed[:] += np.bincount(source[~clicks.timed], count[~clicks.timed], row.size)
            source, age, count = source[clicks.timed], age[clicks.timed], count[clicks.timed]
        place = np.minimum(age // self._bin_width, self._bins - 1).astype(int)
        touched: dict[SourceId, dict[int, float]] = {}
        for number, bin_, more in zip(source.tolist(), place.tolist(), count.tolist(), strict=True):
            histogram = self._histogram.setdefault(number, {})
            histogram[bin_] = histogram.get(bin_, 0.0) + more
            touched[number] = histogram
        if touched:
            self._refit(at, touched)

    def beliefs(self, now: Seconds) -> Beliefs:
        row = self._source
        span = row.gaps.sum(axis=1, dtype=float)
        known = span > 0
        rate = np.zeros(row.size)
        rate[known] = np.maximum(row.found[known].sum(axis=1, dtype=float), self._quiet) / span[known]
        rate[~known] = rate[known].mean() if known.any() else 1 / DAY
        seen = (row.clicks > 0) & (row.pages > 0)
        mean_clicks = row.clicks / np.maximum(row.pages, 1.0)
        profit = np.where(seen, self._fitted(mean_clicks) if self._fit else mean_clicks, self._default_profit)
        if not self._unclicked:
            profit[(row.clicks == 0) & (row.pages > 0)] = 0.0
        return beliefs(rate, profit, row.decay.copy())

    def evidence(self) -> Evidence:
        return Evidence()

    def lean_on(self, others: Evidence) -> None:
        """The paper knows of one crawler only."""

    def _fitted(self, mean_clicks: FloatArray) -> FloatArray:
        """P of the histograms, more by the clicks that are in none, for of them only the day is known."""
        row = self._source
        timed = row.clicks - row.untimed
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.where(timed > 1e-9 * row.clicks, row.profit * (row.clicks / timed), mean_clicks)
        return np.where(row.untimed > 0, more, row.profit)

    def _refit(self, now: Seconds, touched: dict[SourceId, dict[int, float]]) -> None:
        """Algorithm 2 for the sources with new clicks, each from its last fit."""
        row = self._source
        numbers = np.array(sorted(touched))
        counts = np.zeros((len(numbers), self._bins))
        for line, number in enumerate(numbers.tolist()):
            histogram = touched[number]
            counts[line, list(histogram)] = list(histogram.values())
        watched = np.array([now - self._oldest.get(number, now) for number in numbers.tolist()])
        bins = np.clip(np.ceil(watched / self._bin_width), 1, self._bins).astype(int)
        pages = np.maximum(row.pages[numbers], 1.0)
        row.profit[numbers], row.decay[numbers] = fit_decay(
            np.cumsum(counts, axis=1) / pages[:, None], bins, self._bin_width, row.decay[numbers]
        )
