"""Time limits for many tasks with one timer: to start and stop one for each costs a tenth of a fetch.

The timer waits for the earliest deadline there was when it was set. Most have ended well by then, so it is set anew for
the earliest of those under way. What a deadline does is what `asyncio.timeout` does.
"""

from __future__ import annotations

import asyncio
import math
from types import TracebackType
from typing import Self

from mayfly.core.model import Seconds


class Deadlines:
    """The deadlines of one loop."""

    def __init__(self) -> None:
        self._running: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._rings: Seconds = math.inf

    def within(self, seconds: Seconds) -> Deadline:
        """A context that its task leaves with TimeoutError if it takes longer."""
        return Deadline(self, seconds)

    def close(self) -> None:
        """No more of them are watched."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._rings = None, math.inf

    def add(self, deadline: Deadline, loop: asyncio.AbstractEventLoop) -> None:
        """Watch a deadline, for its `at` is known."""
        self._running.add(deadline)
        if deadline.at < self._rings:
            self._set(deadline.at, loop)

    def remove(self, deadline: Deadline) -> None:
        self._running.discard(deadline)

    def _set(self, at: Seconds, loop: asyncio.AbstractEventLoop) -> None:
        self.close()
        self._rings = at
        self._timer = loop.call_at(at, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer, self._rings = None, math.inf
        now = loop.time()
        for deadline in [one for one in self._running if one.at <= now]:
            self._running.discard(deadline)
            deadline.expire()
        if self._running:
            self._set(min(one.at for one in self._running), loop)


class Deadline:
    """A context manager for one task; its clock may be stopped."""

    __slots__ = ("_all", "_cancelling", "_expired", "_loop", "_task", "at", "left")

    def __init__(self, deadlines: Deadlines, seconds: Seconds) -> None:
        self._all = deadlines
        self.left = seconds
        self.at: Seconds = math.inf
        self._expired = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None, "a deadline is for a task"
        self._task, self._cancelling = task, task.cancelling()
        self._loop = asyncio.get_running_loop()
        self.resume()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._all.remove(self)
        if self._expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def pause(self) -> None:
        """Stop the clock."""
        self.left = self.at - self._loop.time()
        self._all.remove(self)

    def resume(self) -> None:
        """Let it run again."""
        self.at = self._loop.time() + self.left
        self._all.add(self, self._loop)

    def expire(self) -> None:
        self._expired = True
        self._task.cancel()
