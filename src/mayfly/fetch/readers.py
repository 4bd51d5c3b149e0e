"""Processes that read bodies, so that no page can stop the crawler.

HTML is parsed by C code, and there is always one more page that makes some parser crash, spin or eat all memory. So
bodies are read in other processes: each has a limit of memory, each body a limit of time, and a reader that dies or is
too slow is replaced. Questions and answers are messages with their length in front, decoded to their types and nothing
else: a reader that a page has taken over can only tell lies.

To wake a process costs as much as to read a small page, so bodies that come within a few milliseconds go together. If
a reader ends over several, each of them is asked again alone, and only the one that is to blame fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import os
import resource
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self

import msgspec

from mayfly.core.model import Seconds
from mayfly.fetch.document import Document
from mayfly.fetch.reasons import Reason

_LENGTH = struct.Struct(">I")
_MOST_BYTES = 100_000_000  # of an answer
_TOGETHER = 16  # bodies
_TOGETHER_BYTES = 1_000_000
_LINGER: Seconds = 0.004  # a body waits so long for others to go with it
_PIPE_BYTES = 1 << 20  # as much as Linux gives without asking
_PIECE = 1 << 18
_OBJECTS_BETWEEN_COLLECTIONS = 50_000  # a page makes few cycles, if any


class _Question(NamedTuple):
    """About a body of so many bytes, which follows behind the questions."""

    size: int
    url: str
    content_type: str
    now: Seconds
    with_text: bool
    outward: bool


class _Asked(NamedTuple):
    """A body that waits for its reader."""

    body: bytes
    question: _Question
    answer: asyncio.Future[Document]
    alone: bool = False  # it may have ended a reader

    def fail(self, why: str) -> None:
        document = Document(kind="other", url=self.question.url, error=f"{Reason.READER_DIED}: {why}")
        if not self.answer.done():
            self.answer.set_result(document)


_encode = msgspec.msgpack.Encoder().encode
_questions = msgspec.msgpack.Decoder(list[_Question]).decode
_documents = msgspec.msgpack.Decoder(list[Document]).decode


class Readers:
    """So many reading processes. An async context manager; `read` waits while all are busy."""

    def __init__(self, processes: int = 1, seconds: Seconds = 10.0, memory_bytes: int = 1 << 30) -> None:
        self._processes = processes
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._waiting: deque[_Asked] = deque()
        self._idle: list[_Reader] = []
        self._alive: set[_Reader] = set()
        self._ends: set[asyncio.Task[int]] = set()
        self._linger: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._linger is not None:
            self._linger.cancel()
        for asked in (*self._waiting, *(one for reader in self._alive for one in reader.asked)):
            asked.answer.cancel()
        self._waiting.clear()
        for reader in list(self._alive):
            self._end(reader)
        await asyncio.gather(*self._ends)

    @property
    def pids(self) -> list[int]:
        """Of the processes that are alive."""
        return [reader.pid for reader in self._alive]

    async def read(
        self,
        body: bytes,
        url: str,
        *,
        content_type: str = "",
        now: Seconds,
        with_text: bool = False,
        outward: bool = False,
    ) -> Document:
        """What a body says; a document with an error if reading it ended its reader. For the rest see `read`."""
        loop = asyncio.get_running_loop()
        kind = content_type.encode("utf-8", "replace").decode()  # a header may hold bytes that are no letters
        asked = _Asked(body, _Question(len(body), url, kind, now, with_text, outward), loop.create_future())
        self._waiting.append(asked)
        if len(self._waiting) >= _TOGETHER:
            self._give()
        elif self._linger is None:
            self._linger = loop.call_later(_LINGER, self._give)
        return await asked.answer

    def _give(self) -> None:
        """Give what waits to those who are idle."""
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        while self._waiting and (self._idle or len(self._alive) < self._processes):
            batch = self._next_batch()
            if batch:
                reader = self._idle.pop() if self._idle else self._start()
                reader.ask(batch, self._seconds)

    def _next_batch(self) -> list[_Asked]:
        """What goes together, bounded, and a fair share if there are several readers."""
        most = min(_TOGETHER, -(-len(self._waiting) // self._processes))
        batch: list[_Asked] = []
        size = 0
        while self._waiting and len(batch) < most:
            asked = self._waiting[0]
            size += len(asked.body)
            if batch and (asked.alone or size > _TOGETHER_BYTES):
                break
            self._waiting.popleft()
            if not asked.answer.done():  # else who asked was told to stop
                batch.append(asked)
            if asked.alone:
                break
        return batch

    def _start(self) -> _Reader:
        reader = _Reader(self._memory_bytes, self._answered, self._failed)
        self._alive.add(reader)
        return reader

    def _answered(self, reader: _Reader) -> None:
        self._idle.append(reader)
        if self._waiting and self._linger is None:
            self._give()

    def _failed(self, reader: _Reader, asked: list[_Asked], why: str) -> None:
        """A reader has to go. If it had one body, we know why; if several, each is asked alone."""
        self._end(reader)
        if len(asked) == 1:
            asked[0].fail(why)
        else:
            self._waiting.extendleft(one._replace(alone=True) for one in reversed(asked))
        self._give()

    def _end(self, reader: _Reader) -> None:
        self._alive.discard(reader)
        if reader in self._idle:
            self._idle.remove(reader)
        task = asyncio.ensure_future(asyncio.to_thread(reader.end()))
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)


class _Reader:
    """Our end of one process: bodies go in, documents come out."""

    def __init__(
        self,
        memory_bytes: int,
        answered: Callable[[_Reader], None],
        failed: Callable[[_Reader, list[_Asked], str], None],
    ) -> None:
        command = [sys.executable, "-m", "mayfly.fetch.readers", str(memory_bytes)]
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # threads nobody needs count against the limit of memory
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=alone, process_group=0
        )  # a group of its own: Ctrl-C is for the crawler, which ends it
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        for pipe in (self._in, self._out):
            os.set_blocking(pipe, False)
            _widen(pipe)
        self.pid = self._process.pid
        self.asked: list[_Asked] = []
        self._answered, self._failed = answered, failed
        self._unsent: list[bytes | memoryview] = []
        self._got = bytearray()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._out, self._receive)
        self._deadline: asyncio.TimerHandle | None = None

    def ask(self, batch: list[_Asked], seconds: Seconds) -> None:
        """Have these bodies read, within so many seconds."""
        self.asked = batch
        self._deadline = self._loop.call_later(seconds, self._fail, f"not within {seconds:g} s")
        questions = _encode([one.question for one in batch])
        self._unsent = [_LENGTH.pack(len(questions)) + questions, *(one.body for one in batch)]
        self._send()

    def end(self) -> Callable[[], int]:
        """End the process, whatever it does. To be called: waits until it has ended."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._loop.remove_reader(self._out)
        self._loop.remove_writer(self._in)
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return self._process.wait

    def _send(self) -> None:
        """As much as the pipe takes; the rest when there is room."""
        try:
            sent = os.writev(self._in, self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._loop.call_soon(self._fail, "it ended")
            return
        while self._unsent and sent >= len(self._unsent[0]):
            sent -= len(self._unsent.pop(0))
        if self._unsent:
            self._unsent[0] = memoryview(self._unsent[0])[sent:]
            self._loop.add_writer(self._in, self._send)
        else:
            self._loop.remove_writer(self._in)

    def _receive(self) -> None:
        try:
            piece = os.read(self._out, _PIECE)
        except BlockingIOError:
            return
        self._got += piece
        if len(self._got) < _LENGTH.size:
            if not piece:
                self._fail("it ended")
            return
        end = _LENGTH.size + _LENGTH.unpack_from(self._got)[0]
        if not piece or end > _MOST_BYTES or len(self._got) > end:
            self._fail("it ended")
        elif len(self._got) == end:
            self._take(self._got)

    def _take(self, message: bytearray) -> None:
        """An answer is whole: to whom it belongs."""
        self._got = bytearray()
        try:
            documents = _documents(memoryview(message)[_LENGTH.size :])
        except msgspec.DecodeError:
            documents = []
        if not self.asked or len(documents) != len(self.asked):
            self._fail("it ended")
            return
        if self._deadline is not None:
            self._deadline.cancel()
        for asked, document in zip(self.asked, documents, strict=True):
            if not asked.answer.done():
                asked.answer.set_result(document)
        self.asked = []
        self._answered(self)

    def _fail(self, why: str) -> None:
        asked, self.asked = self.asked, []
        self._failed(self, asked, why)


def _widen(pipe: int) -> None:
    """Make room for a large body or many small ones, so that they are not handed over in pieces."""
    with contextlib.suppress(AttributeError, OSError):  # Linux only, and only so many of them
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """The other end: read bodies until there are no more."""
    from mayfly.fetch.reader import read

    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    while head := questions.read(_LENGTH.size):
        documents = [
            read(questions.read(size), url, content_type=kind, now=now, with_text=with_text, outward=outward)
            for size, url, kind, now, with_text, outward in _questions(questions.read(_LENGTH.unpack(head)[0]))
        ]
        message = _encode(documents)
        answers.write(_LENGTH.pack(len(message)) + message)
        answers.flush()


if __name__ == "__main__":
    with contextlib.suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
    try:
        _serve(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, struct.error, msgspec.DecodeError):
        os._exit(1)  # the crawler was killed: nobody reads what we would say of it
