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
_TRUST = 20.0  # links' worth of belief in the profile of all hosts: κ
_MOST_WAITING = 100_000  # counts; while the past is told again nobody reads them for long
_LEAST = 0.05  # no hour is ever held to be quite silent


class Rhythm:
    """Profiles of hosts: how many links the hours brought, against what a flat week would have brought."""

    def __init__(self) -> None:
        self._row: dict[int, int] = {}  # host → row of the tables; only hosts seen to publish have one
        self._links = np.zeros((1, BINS), np.float32)  # row 0: all hosts
        self._flat = np.zeros((1, BINS), np.float32)
        self._profile: FloatArray = np.ones((1, BINS))
        self._total = _running_total(self._profile).data
        self._counts: list[tuple[int, int, float]] = []  # cell, links and flat links that wait to be added

    def count(self, host: int, since: Seconds, at: Seconds, links: int, expected: float) -> None:
        """A crawl of `host` after a short gap found `links` where a flat week would have brought `expected`."""
        if at - since > _LONGEST_GAP:
            return
        if len(self._counts) >= _MOST_WAITING:
            self._add_counts()
        hour = _hour((since + at) / 2)
        self._counts.append((hour, links, expected))
        row = self._row.get(host)
        if row is None:
            if not links:
                return
            row = self._row[host] = self._new_row()
        self._counts.append((row * BINS + hour, links, expected))

    def span(self, host: int, since: Seconds, at: Seconds) -> float:
        """Seconds from `since` to `at`, each weighted by how busy its hour is."""
        row, total = self._row.get(host, 0), self._total
        if row >= len(total):
            row = 0
        return _until(total, row, at) - _until(total, row, since)

    def refit(self) -> None:
        """Read the counts into profiles. Cheap, but not per event."""
        if not self._counts:
            return
        self._add_counts()
        common = _shape(self._links[:1], self._flat[:1], np.ones((1, BINS)))
        profile = _shape(self._links, self._flat, common)
        profile[0] = common[0]
        few = self._links.sum(axis=1) < _LINKS_NEEDED
        profile[few] = 1.0 if few[0] else common[0]
        self._profile = profile
        self._total = _running_total(profile).data

    def ahead(self, host: IntArray, now: Seconds) -> FloatArray:
        """Multiple of the mean rate expected in the hour from `now`, by host number."""
        hour, part = _hour(now), (now % HOUR) / HOUR
        level = self._profile[:, hour] * (1 - part) + self._profile[:, (hour + 1) % BINS] * part
        rows = np.zeros(int(host.max()) + 1 if len(host) else 0, np.intp)
        for number, row in self._row.items():
            if row < len(level) and number < len(rows):
                rows[number] = row
        return np.asarray(level[rows[host]])

    def _add_counts(self) -> None:
        cell, links, expected = (np.array(column) for column in zip(*self._counts, strict=True))
        self._counts.clear()
        np.add.at(self._links.ravel(), cell, links.astype(np.float32))
        np.add.at(self._flat.ravel(), cell, expected.astype(np.float32))

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


def _until(total: memoryview, row: int, at: Seconds) -> float:
    """Weighted seconds from the epoch to `at`, by the totals of a row."""
    hours, rest = divmod(at, HOUR)
    weeks, hour = divmod(int(hours), BINS)
    before: float = total[row, hour]
    return weeks * total[row, BINS] + before + (total[row, hour + 1] - before) * (rest / HOUR)
