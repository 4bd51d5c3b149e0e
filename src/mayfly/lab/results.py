"""Finished runs on disk, by world, settings and code: what was run once is not run again.

A run is kept as the numbers of its slots, so that it comes back exactly. Anything that cannot be read counts as
missing; files are written beside their place and moved into it, so that a run cut short leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np

import mayfly
from mayfly.core.model import FloatArray, IntArray, PerSecond, Seconds
from mayfly.lab.replay import Run, Settings
from mayfly.lab.trace import Trace


class Results:
    """A folder of runs; `None` keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def load(self, trace: Trace, settings: Settings) -> Run | None:
        """The run, if the same code has already run these settings on this trace."""
        path = self._path(trace, settings)
        if path is None or not path.exists():
            return None
        try:
            with path.open("rb") as file, np.load(file) as kept:
                at = _times(kept["slot"], trace.start, settings.budget)
                fetched = np.full(len(trace.page_ids), np.inf)
                fetched[kept["id"][kept["is_page"]]] = at[kept["is_page"]]
                return Run(
                    settings=settings,
                    trace=trace,
                    at=at,
                    is_page=kept["is_page"],
                    id=kept["id"].astype(np.int64),
                    shown=_times(kept["shown"], trace.start, settings.budget),
                    fetched=fetched,
                    dropped=kept["dropped"],
                    prices=[(float(when), float(price)) for when, price in kept["prices"]],
                    wall_seconds=float(kept["wall_seconds"]),
                )
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def save(self, run: Run) -> None:
        """Keep a run. A disk that is full or locked only costs the next one its time."""
        path = self._path(run.trace, run.settings)
        if path is None:
            return
        start, budget = run.trace.start, run.settings.budget
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as file:
                np.savez_compressed(
                    file,
                    slot=_slots(run.at, start, budget),
                    is_page=run.is_page,
                    id=run.id.astype(np.int32),
                    shown=_slots(run.shown, start, budget),
                    dropped=run.dropped,
                    prices=np.array(run.prices, float).reshape(-1, 2),
                    wall_seconds=run.wall_seconds,
                )
            beside.replace(path)
        except OSError:
            beside.unlink(missing_ok=True)

    def _path(self, trace: Trace, settings: Settings) -> Path | None:
        if self._folder is None:
            return None
        told = json.dumps([fingerprint(trace), asdict(settings), code_version()], sort_keys=True)
        return self._folder / f"{settings.policy}-{hashlib.sha256(told.encode()).hexdigest()[:24]}.npz"


_fingerprints: dict[int, tuple[Trace, str]] = {}


def fingerprint(trace: Trace) -> str:
    """What a trace holds, in 24 letters; its name and notes do not count."""
    if id(trace) not in _fingerprints:
        digest = hashlib.sha256(repr((trace.start, trace.end)).encode())
        for names in (trace.source_urls, trace.hosts, trace.kinds, trace.page_ids, trace.page_urls):
            digest.update("\n".join(names).encode())
        columns = [trace.published, trace.link_source, trace.link_page, trace.added, trace.removed, *trace.clicks]
        columns += [] if trace.rank is None else [trace.rank]
        columns += [] if trace.shows is None else list(trace.shows)
        for column in columns:
            digest.update(np.ascontiguousarray(column).tobytes())
        _fingerprints.clear()  # one is enough, and it keeps its trace alive
        _fingerprints[id(trace)] = trace, digest.hexdigest()[:24]
    return _fingerprints[id(trace)][1]


@cache
def code_version() -> str:
    """All code that decides what a replay does: another core, another result."""
    root = Path(mayfly.__file__).parent
    files = [*sorted((root / "core").rglob("*.py")), root / "lab" / "replay.py"]
    digest = hashlib.sha256(np.__version__.encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


def _slots(at: FloatArray, start: Seconds, budget: PerSecond) -> IntArray:
    """Numbers of the slots at which things happened; -1: never."""
    never = ~np.isfinite(at)
    return np.where(never, -1, np.rint((np.where(never, start, at) - start) * budget)).astype(np.int32)


def _times(slot: IntArray, start: Seconds, budget: PerSecond) -> FloatArray:
    return np.where(slot < 0, np.inf, start + slot.astype(float) / budget)
