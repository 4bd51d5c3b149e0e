"""Many replays at once: each in a process of its own, each kept when done, so that work cut short goes on later."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeAlias

from mayfly.lab.replay import Run, Settings, replay
from mayfly.lab.results import Results
from mayfly.lab.trace import Trace

World: TypeAlias = Trace | Callable[[], Trace]  # a trace, or how to make one: cheaper to send to a worker
View: TypeAlias = Callable[[Run], Any]  # what is wanted of a run; must pickle


class Job(NamedTuple):
    """One replay: the number of its world, and how."""

    world: int
    settings: Settings


class Jobs:
    """Where replays run: so many processes, one folder of results."""

    def __init__(self, worlds: Sequence[World], processes: int = 2, cache: Path | None = None) -> None:
        self._worlds = list(worlds)
        self._processes = processes
        self._cache = cache

    def map(self, jobs: Sequence[Job], view: View, done: Callable[[Job], None] = lambda job: None) -> list[Any]:
        """`view` of every run, in the order of the jobs; `done` is called after each."""
        found: list[Any] = [None] * len(jobs)
        for number, value in self._in_any_order(jobs, view):
            found[number] = value
            done(jobs[number])
        return found

    def _in_any_order(self, jobs: Sequence[Job], view: View) -> Iterable[tuple[int, Any]]:
        # World by world, as a worker holds one at a time; in each the longest first, so that none is left for the end.
        order = sorted(range(len(jobs)), key=lambda number: (jobs[number].world, -jobs[number].settings.budget))
        if self._processes <= 1 or len(jobs) <= 1:
            _start_worker(self._worlds, self._cache)
            for number in order:
                yield number, _work(jobs[number], view)
            return
        # Spawned, not forked: the same on Linux and macOS, and numpy's threads do not survive a fork.
        with ProcessPoolExecutor(
            self._processes, get_context("spawn"), initializer=_start_worker, initargs=(self._worlds, self._cache)
        ) as pool:
            futures = {pool.submit(_work, jobs[number], view): number for number in order}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


_worker: tuple[list[World], Results] = [], Results(None)


def _start_worker(worlds: list[World], cache: Path | None) -> None:
    global _worker
    _worker = worlds, Results(cache)
    _trace.cache_clear()
    if parent_process() is not None:
        Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for its next job for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(job: Job, view: View) -> Any:
    trace, results = _trace(job.world), _worker[1]
    run = results.load(trace, job.settings)
    if run is None:
        run = replay(trace, job.settings)
        results.save(run)
    return view(run)


@lru_cache(maxsize=1)
def _trace(number: int) -> Trace:
    world = _worker[0][number]
    return world if isinstance(world, Trace) else world()
