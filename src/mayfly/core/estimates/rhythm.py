"""The hour-of-week rhythm of new links, pooled by host.

A profile is 168 hourly multiples of the mean rate. A host's own profile is shrunk to that of all hosts, and a host with
fewer than 200 links has none: it follows all hosts, and all hosts follow a flat week until 200 links are counted. Only
crawls after short gaps say anything about the hour, so only those are counted.
"""

from __future__ import annotations

import numpy as np

from mayfly.core.model import HOUR, FloatArray, IntArray, Seconds

BINS = 168
_LONGEST_GAP = 3 * HOUR
_LINKS_NEEDED = 200
_TRUST = 20.0  # links' worth of belief in the profile of all hosts (MATH §4.1: κ)
_LEAST = 0.05  # no hour is ever held to be quite silent


class Rhythm:
    """Profiles of hosts: how many links the hours brought, against what a flat week would have brought."""

    def __init__(self) -> None:
        self._row: dict[int, int] = {}  # host → row of the tables; only hosts seen to publish have one
        self._links = np.zeros((1, BINS), np.float32)  # row 0: all hosts
        self._flat = np.zeros((1, BINS), np.float32)
        self._profile: FloatArray = np.ones((1, BINS))
        self._total: FloatArray = _running_total(self._profile)
        self._lists: dict[int, list[float]] = {}  # rows of it that were asked for
        self._counted = False  # anything since the profiles were read

    def count(self, host: int, since: Seconds, at: Seconds, links: int, expected: float) -> None:
        """A crawl of `host` after a short gap found `links` where a flat week would have brought `expected`."""
        if at - since > _LONGEST_GAP:
            return
        self._counted = True
        hour = _hour((since + at) / 2)
        self._links[0, hour] += links
        self._flat[0, hour] += expected
        row = self._row.get(host)
        if row is None:
            if not links:
                return
            row = self._row[host] = self._new_row()
        self._links[row, hour] += links
        self._flat[row, hour] += expected

    def span(self, host: int, since: Seconds, at: Seconds) -> float:
        """Seconds from `since` to `at`, each weighted by how busy its hour is."""
        row = self._row.get(host, 0)
        total = self._lists.get(row)
        if total is None:  # plain floats: three times as fast to pick from
            total = self._lists[row] = self._total[row if row < len(self._total) else 0].tolist()
        return _until(total, at) - _until(total, since)

    def refit(self) -> None:
        """Read the counts into profiles. Cheap, but not per event."""
        if not self._counted:
            return
        self._counted = False
        common = _shape(self._links[:1], self._flat[:1], np.ones((1, BINS)))
        profile = _shape(self._links, self._flat, common)
        profile[0] = common[0]
        few = self._links.sum(axis=1) < _LINKS_NEEDED
        profile[few] = 1.0 if few[0] else common[0]
        self._profile = profile
        self._total = _running_total(profile)
        self._lists.clear()

    def ahead(self, host: IntArray, now: Seconds) -> FloatArray:
        """Multiple of the mean rate expected in the hour from `now`, by host number."""
        hour, part = _hour(now), (now % HOUR) / HOUR
        level = self._profile[:, hour] * (1 - part) + self._profile[:, (hour + 1) % BINS] * part
        rows = np.zeros(int(host.max()) + 1 if len(host) else 0, np.intp)
        for number, row in self._row.items():
            if row < len(level) and number < len(rows):
                rows[number] = row
        return np.asarray(level[rows[host]])

    def _new_row(self) -> int:
        row = 1 + len(self._row)
        if row >= len(self._links):
            room = np.zeros((max(8, len(self._links) // 2), BINS), np.float32)
            self._links = np.concatenate([self._links, room])
            self._flat = np.concatenate([self._flat, room])
        return row


def _hour(at: Seconds) -> int:
    return int(at // HOUR) % BINS


def _shape(links: FloatArray, flat: FloatArray, towards: FloatArray) -> FloatArray:
    """Smoothed over neighbouring hours, shrunk, never silent, one on the average."""
    near = [np.roll(table, 1, axis=1) + table + np.roll(table, -1, axis=1) for table in (links, flat)]
    shape = np.maximum((near[0] + _TRUST * towards) / (near[1] + _TRUST), _LEAST)
    return np.asarray(shape / shape.mean(axis=1, keepdims=True), dtype=float)


def _running_total(profile: FloatArray) -> FloatArray:
    """Weighted seconds from the start of the week to the start of each hour."""
    return np.concatenate([np.zeros((len(profile), 1)), np.cumsum(profile, axis=1) * HOUR], axis=1)


def _until(total: list[float], at: Seconds) -> float:
    """Weighted seconds from the epoch to `at`."""
    hours, rest = divmod(at, HOUR)
    weeks, hour = divmod(int(hours), BINS)
    before = total[hour]
    return weeks * total[BINS] + before + (total[hour + 1] - before) * (rest / HOUR)
