"""The default estimator: every number leans on its host, every host on all hosts (MATH §4).

λ  Gamma-Poisson with forgetting: (a + links found) / (a/host mean + time watched), time weighted by the hour-of-week
   rhythm, so that a long quiet night does not look like a dying source. Links new to the crawler are counted apart from
   links new to the source: the first are what a crawl brings, the second keep twins from starving each other.
P  clicks seen / exposure. A page fetched late or only just now has shown a part of its clicks; it counts as that part
   of a page, never as a whole one. Unknown sources are held to be like their host, unknown hosts like all.
μ  pooled by host (`decay.py`).
"""

from __future__ import annotations

import math

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.estimates.decay import FIRST_GUESS, Decay
from mayfly.core.estimates.rhythm import Rhythm
from mayfly.core.model import DAY, PLACES, Beliefs, Credited, FloatArray, Found, PerSecond, Seconds, SourceId

_FIRST_RATE: PerSecond = 1 / DAY  # before any source was crawled twice; all get the same, so it only sets a scale
_FIRST_PROFIT = 1.0
_FIRST_LIFE: Seconds = 7 * DAY  # of a link on a source never crawled twice


class Bayes:
    """Columns by source: what was found in how long, what was clicked in how much exposure."""

    def __init__(
        self,
        feedback: str = "fetched",
        rate_half_life: Seconds = 3 * DAY,
        profit_half_life: Seconds = 20 * DAY,
        rate_trust: float = 1.0,  # links' worth of belief in the host's mean rate
        profit_trust: float = 5.0,  # pages' worth of belief in the host's mean profit
        twin_share: float = 0.05,  # what a link counts that another source had shown before
        rhythm: bool = True,
        loss_share: float = 1.0,
        surprise: float = 0.1,
        places: bool = True,
        place_trust: float = 50.0,
        hope: float = 0.5,
        crowd: float = 10.0,
        host_trust: float = 5.0,
    ) -> None:
        self._feedback = feedback
        self._rate_half_life = rate_half_life
        self._profit_half_life = profit_half_life
        self._rate_trust = rate_trust
        self._profit_trust = profit_trust
        self._twin_share = twin_share
        self._use_rhythm = rhythm
        self._loss_share = loss_share
        self._surprise = surprise
        self._hope = hope
        self._use_places = places
        self._place_trust = place_trust
        self._crowd = crowd
        self._host_trust = host_trust
        self._hosts = 0
        self._source = Columns(host=0, gone=0.0, at_risk=0.0, found=0.0, listed=0.0, watched=0.0, clicks=0.0, exposure=0.0, live=0.0)
        self._decay_of: FloatArray = np.zeros(0)  # by host, as of the last push
        self._rhythm = Rhythm()
        self._decay = Decay()
        self._mean_rate = _FIRST_RATE
        self._counted_until: Seconds | None = None
        self._places = Columns(clicks=0.0, exposure=0.0, live=0.0, found=0.0)
        self._places.grow(PLACES)
        self._place_worth = np.ones(PLACES)
        self._profit: FloatArray = np.zeros(0)
        self._pending: list[tuple[SourceId, int, float, Seconds, Seconds]] = []  # pages exposed since the last push

    def added(self, source: SourceId, host: int) -> None:
        self._source.grow(source + 1)
        self._source.host[source] = host
        if host >= self._hosts:
            self._hosts = host + 1
            self._decay.grow(self._hosts)
            self._decay_of = np.append(self._decay_of, np.full(self._hosts - len(self._decay_of), FIRST_GUESS))

    def crawled(self, source: SourceId, at: Seconds, since: Seconds | None, found: Found) -> None:
        if since is None or at <= since:
            return
        row = self._source
        host = int(row.host[source])
        gap = at - since
        watched = float(row.watched[source])
        before = float(row.found[source])
        loss = self._count_loss(source, gap, found)
        seen = -math.expm1(-loss * gap) / (loss * gap)  # share of the gap's links that were still there
        span = self._rhythm.span(host, since, at) if self._use_rhythm else gap
        span *= seen
        rate = (before + 1.0) / (watched + 1.0 / self._mean_rate)
        if self._use_rhythm:
            self._rhythm.count(host, since, at, found.links, (float(row.listed[source]) + 1.0) / (watched + DAY) * gap * seen)
        keep = math.exp(-math.log(2) * gap / self._rate_half_life)
        if _awakes(found.new, rate * span, before):
            keep *= self._surprise  # something changed: what was true before says little now
        weight = (1 - keep) / -math.log(keep)  # what a link of unknown hour in this gap weighs on the average
        row.found[source] = before * keep + weight * found.new
        row.listed[source] = row.listed[source] * keep + weight * found.links
        row.watched[source] = watched * keep + weight * span
        for place in found.places:
            self._places.found[place] += 1

    def exposed(self, source: SourceId, place: int, share: float, age: Seconds, at: Seconds) -> None:
        if self._feedback != "none":
            self._pending.append((source, place, share, age, at))

    def counted(self, at: Seconds, clicks: Credited) -> None:
        source, place, share, age, count = clicks
        row = self._source
        host = row.host[source]
        if self._counted_until is not None:
            self._advance(at - self._counted_until)
        self._counted_until = at
        self._expose_pending(at)
        row.clicks += np.bincount(source, count, row.size)
        self._decay.count(host, age, count)
        self._places.clicks += np.bincount(place, count * share, PLACES)
        self._decay_of = self._decay.fit()
        self._fit_places()

    def beliefs(self, now: Seconds) -> Beliefs:
        row = self._source
        rhythm = np.ones(row.size)
        if self._use_rhythm:
            self._rhythm.refit()
            rhythm = self._rhythm.ahead(row.host, now)
        rate = self._lean(row.found + self._twin_share * (row.listed - row.found), row.watched, self._rate_trust)
        profit = self._profit = self._lean_profit()
        return Beliefs(rate, profit, self._decay_of[row.host], self._losses() * self._loss_share, rhythm, self._place_worth)

    def _count_loss(self, source: SourceId, gap: Seconds, found: Found) -> PerSecond:
        """Learn how fast links leave: those that went did so at the expected moment of the gap."""
        row = self._source
        loss = (float(row.gone[source]) + 1.0) / (float(row.at_risk[source]) + _FIRST_LIFE)
        until_gone = 1 / loss - gap / math.expm1(min(loss * gap, 700.0))
        keep = math.exp(-math.log(2) * gap / self._rate_half_life)
        row.gone[source] = row.gone[source] * keep + found.gone
        row.at_risk[source] = row.at_risk[source] * keep + found.stayed * gap + found.gone * until_gone
        return loss

    def _losses(self) -> FloatArray:
        row = self._source
        return np.asarray((row.gone + 1.0) / (row.at_risk + _FIRST_LIFE))

    def _fit_places(self) -> None:
        """What each place is worth: clicks seen by clicks expected of its sources, one for the mean page found."""
        if not self._use_places:
            return
        place, trust = self._places, self._place_trust
        worth = (place.clicks + trust) / (place.exposure + trust)
        found = float(place.found.sum())
        mean = float(place.found @ worth) / found if found else 1.0
        self._place_worth = worth / mean

    def _lean(self, events: FloatArray, exposure: FloatArray, trust: float) -> FloatArray:
        """Rates leaning on their host's mean, which leans on the mean of all."""
        host = self._source.host
        known = float(exposure.sum())
        if known > 0:
            self._mean_rate = (float(events.sum()) + 1.0) / (known + 1.0 / _FIRST_RATE)
        of_host = (np.bincount(host, events, self._hosts) + 1.0) / (
            np.bincount(host, exposure, self._hosts) + 1.0 / self._mean_rate
        )
        return np.asarray((events + trust) / (exposure + trust / of_host[host]))

    def _lean_profit(self) -> FloatArray:
        row, trust = self._source, self._profit_trust
        mean = (float(row.clicks.sum()) + _FIRST_PROFIT) / (float(row.exposure.sum()) + 1.0)
        htrust = self._host_trust
        of_host = (np.bincount(row.host, row.clicks, self._hosts) + htrust * mean) / (
            np.bincount(row.host, row.exposure, self._hosts) + htrust
        )
        P = np.asarray((row.clicks + trust * of_host[row.host]) / (row.exposure + trust))
        return P + self._hope * np.sqrt(self._crowd * P / (row.exposure + trust))

    def _advance(self, seconds: Seconds) -> None:
        """Let time pass up to a push: live pages give, old evidence fades."""
        row = self._source
        forget = 2.0 ** (-seconds / self._profit_half_life)
        left = np.exp(-self._decay_of * seconds)[row.host]
        row.exposure[:] = row.exposure * forget + row.live * (1 - left)
        row.live *= left
        row.clicks *= forget
        self._decay.advance(seconds, forget)
        place = self._places
        left = float(np.exp(-self._decay_of.mean() * seconds))
        place.exposure[:] = place.exposure * forget + place.live * (1 - left)
        place.live *= left
        place.clicks *= forget
        place.found *= forget

    def _expose_pending(self, until: Seconds) -> None:
        if not self._pending:
            return
        source, place, share, age, at = (np.array(column) for column in zip(*self._pending, strict=True))
        self._pending.clear()
        row = self._source
        host = row.host[source]
        seen_from = np.zeros_like(age) if self._feedback == "all" else age
        age = age + (until - at)
        decay = self._decay_of[host]
        left = np.exp(-decay * age)
        seen = np.exp(-decay * seen_from) - left
        worth = self._place_worth[place] if self._use_places else np.ones(len(place))
        row.live += np.bincount(source, worth * left, row.size)
        row.exposure += np.bincount(source, worth * seen, row.size)
        expected = share * (self._profit[source] if len(self._profit) == row.size else 1.0)
        self._places.live += np.bincount(place, expected * left, PLACES)
        self._places.exposure += np.bincount(place, expected * seen, PLACES)
        self._decay.expose(host, seen_from, age)


def _awakes(new: int, expected: float, evidence: float) -> bool:
    """A source held to be silent shows several links at once."""
    return evidence < 1.0 and expected < 1.0 and new > 3
