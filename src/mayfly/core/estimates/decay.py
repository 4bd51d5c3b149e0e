"""How fast interest fades (μ), pooled by host.

A page fetched at age d and now of age A has shown the share e^-μd - e^-μA of its clicks: what came before the fetch and
what is still to come are both unseen. For each of a row of candidate decays this exposure is kept, summed over a
host's pages; with the number of clicks n and their ages a the log-likelihood of a candidate is then exact:
n·ln μ - μ·Σa + n·ln(n/E(μ)). Clicks come in crowds, so it is divided by `_CROWD`; hosts lean on the decay of all hosts.
"""

from __future__ import annotations

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.model import DAY, FloatArray, IntArray, PerSecond, Seconds

# From interest that lasts two weeks to interest that is gone in seconds, as in worlds whose time runs fast.
CANDIDATES = np.exp(np.linspace(np.log(1 / (14 * DAY)), np.log(1 / (10.0)), 36))
_STEP = float(np.log(CANDIDATES[1] / CANDIDATES[0]))
FIRST_GUESS: PerSecond = 1 / DAY
_CROWD = 20.0
_LEAST = 1e-30  # exposure: with less than this no clicks could have been seen
_SOME = 1e-6  # pages: with less than this nothing is restated
_OUT = -1e9  # in place of -inf, with which a parabola could not be drawn
_SPREAD = 0.4  # standard deviation of ln μ between hosts


class Decay:
    """Exposure of each host's pages under each candidate decay."""

    def __init__(self) -> None:
        wide = (len(CANDIDATES),)
        self._host = Columns(clicks=0.0, ages=0.0, live=wide, exposure=wide)
        self._elsewhere: FloatArray = np.zeros(2 + len(CANDIDATES))  # what others saw, as `told` says it

    def grow(self, hosts: int) -> None:
        """Make room for hosts 0 … hosts-1."""
        self._host.grow(hosts)

    def advance(self, seconds: Seconds, forget: float) -> None:
        """Let time pass: what pages still have to give is given, and old evidence counts `forget` as much."""
        host = self._host
        left = np.exp(-CANDIDATES * seconds).astype(np.float32)
        host.exposure[:] = host.exposure * forget + host.live * (1 - left)
        host.live[:] *= left
        host.clicks[:] *= forget
        host.ages[:] *= forget

    def expose(self, host: IntArray, seen_from: FloatArray, age: FloatArray) -> None:
        """Pages now of `age` whose clicks have been seen since they were `seen_from` old."""
        now, then = (np.exp(-np.maximum(one, 0.0)[:, None] * CANDIDATES) for one in (age, seen_from))
        np.add.at(self._host.live, host, now.astype(np.float32))
        np.add.at(self._host.exposure, host, (then - now).astype(np.float32))

    def count(self, host: IntArray, age: FloatArray, count: FloatArray) -> None:
        """Clicks by host and age of the page."""
        self._host.clicks[:] += np.bincount(host, count, self._host.size)
        self._host.ages[:] += np.bincount(host, count * age, self._host.size)

    def fit(self) -> FloatArray:
        """μ of each host: the likeliest candidate, between its neighbours, leaning on all hosts."""
        host = self._host
        seen = self._seen() + self._elsewhere
        common = _best(_likelihood(seen[0], seen[1], seen[2:]))
        lean = ((np.log(CANDIDATES) - np.log(common)) / _SPREAD) ** 2 / 2
        return _best(_likelihood(host.clicks[:, None], host.ages[:, None], host.exposure) - lean)

    def told(self) -> tuple[float, ...]:
        """What is seen here of the decay of all hosts: clicks, the sum of their ages, exposure under each candidate.

        Numbers of several who each see a part of the hosts add up to what one would have seen, who sees all: a few
        clicks of each may say nothing, and all of them together all there is to know.
        """
        return tuple(self._seen().tolist())

    def lean_on(self, others: tuple[float, ...]) -> None:
        """The decay of all hosts is of what others saw, too; of who counts by other candidates nothing is taken."""
        if len(others) == len(self._elsewhere):
            self._elsewhere = np.array(others)

    def restated(self, before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the pages of each host have shown, and have still to show, if interest fades as `after` says:
        multiples of what they have if it fades as `before` says.
        """
        host = self._host
        shown, left = (
            (_at(table, after) + _SOME) / (_at(table, before) + _SOME) for table in (host.exposure, host.live)
        )
        return shown, left

    def _seen(self) -> FloatArray:
        """Of all hosts together."""
        host = self._host
        return np.concatenate([[host.clicks.sum(), host.ages.sum()], host.exposure.sum(axis=0)])


def _at(table: FloatArray, decay: FloatArray) -> FloatArray:
    """A row of the table a host, at a decay between two candidates."""
    place = np.clip(np.log(decay / CANDIDATES[0]) / _STEP, 0.0, len(CANDIDATES) - 1.0)
    low = np.minimum(place.astype(np.intp), len(CANDIDATES) - 2)
    rows = np.arange(len(decay))
    return np.asarray(table[rows, low] + (table[rows, low + 1] - table[rows, low]) * (place - low), dtype=float)


def _likelihood(clicks: FloatArray, ages: FloatArray, exposure: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        like = clicks * np.log(CANDIDATES * clicks / exposure) - CANDIDATES * ages
    like = np.where(exposure > _LEAST, like, _OUT)  # interest that had faded before anyone looked left no clicks
    return np.where(clicks > 0, like, -((np.log(CANDIDATES / FIRST_GUESS)) ** 2)) / _CROWD


def _best(like: FloatArray) -> FloatArray:
    """The peak of a row of log-likelihoods over ln μ, by the parabola through its three highest neighbours."""
    rows = np.atleast_2d(like)
    peak = np.clip(rows.argmax(axis=1), 1, len(CANDIDATES) - 2)
    at = np.arange(len(rows))
    left, top, right = rows[at, peak - 1], rows[at, peak], rows[at, peak + 1]
    bend = left - 2 * top + right
    shift = np.where(bend < 0, (left - right) / (2 * np.where(bend < 0, bend, -1.0)), 0.0)
    best = CANDIDATES[peak] * np.exp(np.clip(shift, -1, 1) * _STEP)
    return np.asarray(best if like.ndim == 2 else best[0])
