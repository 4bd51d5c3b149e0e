"""The one thread that talks to a database, and how the event loop talks to it.

Reads run one by one, each on a snapshot. Writes that come together share a transaction, for a commit costs more than
what it holds, and to wake another thread costs nearly as much; so they wait for each other for some milliseconds. If
one fails, all are undone and done again, each in a savepoint of its own, so that none takes another with it. Nobody
hears of a write that is not safe yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from mayfly.core.model import Seconds
from mayfly.errors import RunError

_T = TypeVar("_T")
_D = TypeVar("_D")
_Opened = TypeVar("_Opened", covariant=True)
_MOST_TOGETHER = 256
_LONGEST: Seconds = 0.02  # of a transaction, before what waits is left to the next one
_GATHERING: Seconds = 0.02  # a write waits for others: at 500 writes a second that saves a tenth of all a fetch costs
_PATIENCE: Seconds = 60.0  # with other processes that write
_RACES = 10  # one may lose, one after the other
_Mode: TypeAlias = Literal["read", "write", "alone"]


class Engine(Protocol[_Opened]):
    """A kind of database: how it is opened, and what a transaction is there. All of it happens in the thread."""

    name: str  # for people
    read_only: bool

    @property
    def fatal(self) -> tuple[type[BaseException], ...]:
        """Errors after which the whole transaction is undone, whatever part of it failed."""

    @property
    def busy(self) -> tuple[type[BaseException], ...]:
        """Errors that may be over soon."""

    @property
    def raced(self) -> tuple[type[BaseException], ...]:
        """Errors of one whom another writer forestalled; he sees so if he tries again."""

    def open(self) -> _Opened: ...
    def close(self) -> None: ...
    def begin(self, write: bool) -> None: ...
    def commit(self) -> None: ...
    def roll_back(self) -> None:
        """Undo what is not committed, if there is anything."""

    def mark(self) -> None:
        """Begin a part that may be undone alone."""

    def forget_mark(self) -> None: ...
    def back_to_mark(self) -> None: ...
    def explained(self, error: BaseException) -> RunError:
        """One sentence: what went wrong where, and what to do."""


class Fence(Protocol):
    """Who may write for a shard, and who may not any more."""

    shard: int

    def check(self, database: Any) -> None:
        """Within a transaction: raise an error if the shard is another's now, else keep it ours until it is over."""


class _Job(NamedTuple):
    mode: _Mode
    work: Callable[[Any], Any]
    future: asyncio.Future[Any]


class _Done(NamedTuple):
    future: asyncio.Future[Any]
    result: Any
    error: BaseException | None = None


class StoreThread(Generic[_D]):
    """A database that is read and written from an event loop without stopping it."""

    def __init__(self, engine: Engine[_D]) -> None:
        self._engine = engine
        self._queue: queue.SimpleQueue[list[_Job | None]] = queue.SimpleQueue()
        self._gathered: list[_Job | None] = []  # not handed over yet
        self._ahead: deque[_Job | None] = deque()  # taken from the queue, and not begun
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._closed: asyncio.Future[None]
        self._database: _D

    async def start(self) -> None:
        """Open the database; a `RunError` says why that cannot be."""
        self._loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = self._loop.create_future()
        # A daemon: a program that dies without closing the store must not wait for it.
        self._thread = threading.Thread(target=self._run, args=(opened,), name="mayfly-store", daemon=True)
        self._thread.start()
        try:
            await opened
        except BaseException:
            self._thread = None
            raise

    async def stop(self) -> None:
        """Finish what was asked for, and close the database."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._closed = self._loop.create_future()
            self._gathered.append(None)
            self._hand_over()
            await self._closed
            thread.join()

    async def read(self, work: Callable[[_D], _T]) -> _T:
        """What `work` finds."""
        return await self._ask("read", work)

    async def write(self, work: Callable[[_D], _T]) -> _T:
        """What `work` returns, once what it wrote is safe. It may run twice: it must change the database only."""
        if self._engine.read_only:
            raise RunError(f"{self._engine.name} is open for reading only")
        return await self._ask("write", work)

    async def alone(self, work: Callable[[_D], _T]) -> _T:
        """What `work` returns, which is run outside any transaction."""
        return await self._ask("alone", work)

    def _ask(self, mode: _Mode, work: Callable[[_D], _T]) -> asyncio.Future[_T]:
        if self._thread is None:
            raise RuntimeError(f"{self._engine.name} is not open")
        future: asyncio.Future[_T] = self._loop.create_future()
        self._gathered.append(_Job(mode, work, future))
        if mode != "write" or len(self._gathered) >= _MOST_TOGETHER:
            self._hand_over()
        elif len(self._gathered) == 1:
            self._loop.call_later(_GATHERING, self._hand_over)
        return future

    def _hand_over(self) -> None:
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self._queue.put(gathered)

    # In the thread

    def _run(self, opened: asyncio.Future[None]) -> None:
        try:
            self._database = self._engine.open()
        except BaseException as error:
            return self._deliver([_Done(opened, None, error)])
        self._deliver([_Done(opened, None)])
        while (job := self._next()) is not None:
            self._deliver(self._write(self._together(job)) if job.mode == "write" else [self._read(job)])
        try:
            self._engine.close()
        except Exception as error:
            return self._deliver([_Done(self._closed, None, self._told(error))])
        self._deliver([_Done(self._closed, None)])

    def _next(self) -> _Job | None:
        if not self._ahead:
            self._ahead.extend(self._queue.get())
        return self._ahead.popleft()

    def _together(self, first: _Job) -> list[_Job]:
        """The writes that wait, up to the next read."""
        jobs = [first]
        while len(jobs) < _MOST_TOGETHER:
            if not self._ahead:
                try:
                    self._ahead.extend(self._queue.get_nowait())
                except queue.Empty:
                    break
            job = self._ahead[0]
            if job is None or job.mode != "write":
                break
            jobs.append(job)
            self._ahead.popleft()
        return jobs

    def _read(self, job: _Job) -> _Done:
        try:
            return _Done(job.future, self._patiently(lambda: self._looked(job)))
        except self._engine.fatal as error:
            return _Done(job.future, None, self._told(error))
        except BaseException as error:
            return _Done(job.future, None, error)

    def _looked(self, job: _Job) -> Any:
        if job.mode == "alone":
            return job.work(self._database)
        self._engine.roll_back()
        self._engine.begin(write=False)
        try:
            return job.work(self._database)
        finally:
            self._engine.roll_back()  # there is nothing to keep

    def _write(self, jobs: list[_Job]) -> list[_Done]:
        try:
            try:
                done = self._patiently(lambda: self._transaction(jobs, self._plainly))
            except self._engine.fatal:
                raise
            except Exception:
                done = self._patiently(lambda: self._transaction(jobs, self._in_savepoint))
        except self._engine.fatal as error:
            return [_Done(job.future, None, self._told(error)) for job in jobs]
        except BaseException as error:
            return [_Done(job.future, None, error) for job in jobs]
        self._ahead.extendleft(reversed(jobs[len(done) :]))
        return done

    def _transaction(self, jobs: list[_Job], run: Callable[[_Job], _Done]) -> list[_Done]:
        """Run as many of the jobs as there is time for."""
        engine, done = self._engine, []
        engine.roll_back()
        engine.begin(write=True)
        try:
            end = time.monotonic() + _LONGEST
            for job in jobs:
                done.append(run(job))
                if time.monotonic() > end:
                    break
            engine.commit()
        except BaseException:
            engine.roll_back()
            raise
        return done

    def _plainly(self, job: _Job) -> _Done:
        return _Done(job.future, job.work(self._database))

    def _in_savepoint(self, job: _Job, races: int = _RACES) -> _Done:
        self._engine.mark()
        try:
            result = job.work(self._database)
        except self._engine.fatal:
            raise
        except Exception as error:
            self._engine.back_to_mark()
            if races and isinstance(error, self._engine.raced):
                return self._in_savepoint(job, races - 1)
            return _Done(job.future, None, error)
        self._engine.forget_mark()
        return _Done(job.future, result)

    def _patiently(self, work: Callable[[], _T]) -> _T:
        """Try again while other processes are in the way."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                return work()
            except self._engine.busy:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def _told(self, error: BaseException) -> RunError:
        told = self._engine.explained(error)
        told.__cause__ = error
        return told

    def _deliver(self, done: list[_Done]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(_resolve, done)


def _resolve(done: list[_Done]) -> None:
    for future, result, error in done:
        if future.done():  # cancelled
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
