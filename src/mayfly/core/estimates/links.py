"""How often links appear on a source (λ), and how fast they leave it again (δ).

λ is Gamma-Poisson with forgetting: (a + links found) / (a / host's mean + time watched). Time watched is the gap since
the last crawl, with two corrections. Hours count by how busy they are (`rhythm.py`), so that a long quiet night does
not look like a dying source. And links that came and left unseen within the gap are allowed for: of a long gap only
about 1/δ was watched. Without that, a source crawled too seldom looks slow, is crawled more seldom still, and starves.
"""

from __future__ import annotations

import math

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.estimates.rhythm import Rhythm
from mayfly.core.model import DAY, FloatArray, Found, IntArray, PerSecond, Seconds, SourceId

_FIRST_RATE: PerSecond = 1 / DAY  # before any source was crawled twice; all get the same, so it only sets a scale
_FIRST_LINKS = 0.001  # links' worth of belief in it: it is a guess, and in a world whose time runs fast far off
_FIRST_LIFE: Seconds = 7 * DAY  # of a link on a source never crawled twice
_LATELY: Seconds = DAY / 2  # half-life of what counts as of late
_ENOUGH = 3.0  # links of late before they are believed against the past
_FAR_MORE = 10.0
_LN2 = math.log(2)


class Links:
    """Columns by source: what was found in how long, what left in how long."""

    def __init__(self, half_life: Seconds, trust: float, twin_share: float, rhythm: bool) -> None:
        self._half_life = half_life
        self._trust = trust  # links' worth of belief in the host's mean, once its sources can be told apart
        self._twin_share = twin_share  # what a link counts that another source had shown before
        self._rhythm = Rhythm() if rhythm else None
        self._row = Columns(
            host=0,
            found=0.0,
            listed=0.0,
            watched=0.0,
            gone=0.0,
            at_risk=0.0,
            late_found=0.0,
            late_links=0.0,
            late_watched=0.0,
        )
        self._mean_rate = _FIRST_RATE
        self._mean_listed: PerSecond | None = None  # links of all sources that were not there before; None: not known
        self._others_links, self._others_watched = 0.0, 0.0

    @property
    def host(self) -> IntArray:
        """The host number of each source."""
        return self._row.host

    def grow(self, host: IntArray) -> None:
        """Make room for more sources, of these hosts."""
        first = self._row.size
        self._row.grow(first + len(host))
        self._row.host[first:] = host

    def crawled(self, source: SourceId, since: Seconds, at: Seconds, found: Found) -> None:
        """Learn from a crawl at `at`, the last one being at `since`."""
        row, gap = self._row, at - since
        loss = self._learn_loss(source, gap, found)
        watched_share = 1.0 if found.whole else -math.expm1(-loss * gap) / (loss * gap)
        before, watched = float(row.found[source]), float(row.watched[source])
        span = gap * watched_share
        if self._rhythm is not None:
            host = int(row.host[source])
            if self._mean_listed is not None:  # else no hour could be told from a busy source
                flat = (float(row.listed[source]) + 1.0) / (watched + 1.0 / self._mean_listed) * span
                self._rhythm.count(host, since, at, found.links, flat)
            span = self._rhythm.span(host, since, at) * watched_share
        keep = _kept(gap, self._half_life)
        weight = (1 - keep) / -math.log(keep)  # of a link of unknown moment in this gap, on the average
        row.found[source] = before * keep + weight * found.new
        row.listed[source] = row.listed[source] * keep + weight * found.links
        row.watched[source] = watched * keep + weight * span
        self._notice_awakening(source, gap, span, found, past=before / watched if watched else math.inf)

    def reject(self, source: SourceId) -> None:
        """One of the links found of late led to nothing new."""
        row = self._row
        for column in row.found, row.listed, row.late_found, row.late_links:
            column[source] = max(float(column[source]) - 1.0, 0.0)

    def rates(self) -> FloatArray:
        """λ of each source, leaning on its host's mean, which leans on the mean of all.

        Sources of a host share its links most unevenly, so one that brought none brings few. But while none has brought
        any there is nothing to tell them apart by: then each leans on the host with a whole link.
        """
        row = self._row
        links = self._counted()
        self.take_stock()
        hosts = int(row.host.max()) + 1 if row.size else 0
        of_host = np.bincount(row.host, links, hosts) + 1.0
        rate = of_host / (np.bincount(row.host, row.watched, hosts) + 1.0 / self._mean_rate)
        trust = self._trust + (1.0 - self._trust) / of_host
        return np.asarray((links + trust[row.host]) / (row.watched + (trust / rate)[row.host]))

    def take_stock(self) -> None:
        """Look again at the means of all sources, by which crawls of one are read, and at the hours.

        It is no work for every crawl; and not for plans alone, as nobody plans while the past is told again.
        """
        links, watched = self.totals()
        if watched:
            self._mean_listed = (float(self._row.listed.sum()) + 1.0) / watched
        links, watched = links + self._others_links, watched + self._others_watched
        if watched:
            self._mean_rate = (links + _FIRST_LINKS) / (watched + _FIRST_LINKS / _FIRST_RATE)
        if self._rhythm is not None:
            self._rhythm.refit()

    def totals(self) -> tuple[float, Seconds]:
        """Links of all sources, and how long they were watched."""
        return float(self._counted().sum()), float(self._row.watched.sum())

    def lean_on(self, links: float, watched: Seconds) -> None:
        """The mean of all is of these, too."""
        self._others_links, self._others_watched = links, watched

    def _counted(self) -> FloatArray:
        row = self._row
        return np.asarray(row.found + self._twin_share * (row.listed - row.found))

    def novelty(self) -> FloatArray:
        """The share of a source's new links that no other source had shown before."""
        return np.asarray((self._row.found + 1.0) / (self._row.listed + 1.0))

    def losses(self) -> FloatArray:
        """δ of each source."""
        return np.asarray((self._row.gone + 1.0) / (self._row.at_risk + _FIRST_LIFE))

    def rhythm(self, now: Seconds) -> FloatArray:
        """The rate in the hour ahead, as a multiple of λ."""
        if self._rhythm is None:
            return np.ones(self._row.size)
        return self._rhythm.ahead(self._row.host, now)

    def _notice_awakening(self, source: SourceId, gap: Seconds, span: Seconds, found: Found, past: PerSecond) -> None:
        """A source that shows far more of late than it used to has changed: the past says little of it now."""
        row = self._row
        keep = _kept(gap, _LATELY)
        weight = (1 - keep) / -math.log(keep)
        row.late_found[source] = late = float(row.late_found[source]) * keep + weight * found.new
        row.late_links[source] = row.late_links[source] * keep + weight * found.links
        row.late_watched[source] = watched = float(row.late_watched[source]) * keep + weight * span
        if late > _ENOUGH and late > _FAR_MORE * past * watched:
            row.found[source], row.listed[source], row.watched[source] = late, row.late_links[source], watched

    def _learn_loss(self, source: SourceId, gap: Seconds, found: Found) -> PerSecond:
        """Learn how fast links leave; those that went did so when they were expected to, within the gap."""
        row = self._row
        loss = (float(row.gone[source]) + 1.0) / (float(row.at_risk[source]) + _FIRST_LIFE)
        lived = 1 / loss - gap / math.expm1(min(loss * gap, 700.0))
        keep = _kept(gap, self._half_life)
        row.gone[source] = row.gone[source] * keep + found.gone
        row.at_risk[source] = row.at_risk[source] * keep + found.stayed * gap + found.gone * lived
        return loss


def _kept(gap: Seconds, half_life: Seconds) -> float:
    """What older evidence still counts after a gap; never quite nothing, for its logarithm is taken."""
    return math.exp(-_LN2 * min(gap / half_life, 500.0))
