"""Processes we started, known again later by their number and when they began, with all they started in turn.

Each is the leader of a session of its own. A number is not given to another process while a session of that number
lives, so: if the leader is there, its start must be ours; if it is not, the session is still ours or empty.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from mayfly.core.model import Seconds

_LOOK_EVERY: Seconds = 0.05
_SESSION, _STARTED, _STATE = 3, 19, 0  # fields of /proc/PID/stat behind the name


@dataclass(frozen=True, slots=True)
class Process:
    """The leader of a session, and when it began, in ticks since the machine did."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Process:
        """A process that is there."""
        found = _fields(pid)
        if found is None:
            raise ProcessLookupError(pid)
        return cls(pid, int(found[_STARTED]))

    @property
    def lives(self) -> bool:
        """Whether it is there, and not another of that number."""
        found = _fields(self.pid)
        return found is not None and int(found[_STARTED]) == self.started and found[_STATE] != "Z"

    def family(self) -> list[int]:
        """Its own number, if it lives, and those of all that is left in its session."""
        leader = _fields(self.pid)
        if leader is not None and int(leader[_STARTED]) != self.started:
            return []  # the number is another's now
        every = ((int(entry.name), _fields(int(entry.name))) for entry in Path("/proc").glob("[0-9]*"))
        return [
            pid
            for pid, found in every
            if found is not None and int(found[_SESSION]) == self.pid and found[_STATE] != "Z"
        ]

    def end(self, patience: Seconds) -> None:
        """Ask the leader to end with its family, and after a while end what is left."""
        if self.lives:
            _signal(self.pid, signal.SIGTERM)
        self._wait(patience)
        for pid in self.family():
            _signal(pid, signal.SIGKILL)
        self._wait(patience)

    def _wait(self, patience: Seconds) -> None:
        until = time.monotonic() + patience
        while self.family() and time.monotonic() < until:
            _reap(self.pid)
            time.sleep(_LOOK_EVERY)
        _reap(self.pid)


def _fields(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # it was quicker
        os.kill(pid, number)


def _reap(pid: int) -> None:
    """Let go of a child of ours that has ended; others have parents of their own."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
