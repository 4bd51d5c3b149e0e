"""Processes that read bodies, so that no page can stop the crawler.

HTML is parsed by C code, and there is always one more page that makes some parser crash, spin or eat all memory. So
bodies are read in other processes: each has a limit of memory, each body a limit of time, and a reader that dies or is
too slow is replaced. Questions and answers are messages with their length in front, decoded to their types and nothing
else: a reader that a page has taken over can only tell lies.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
import struct
import sys
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self, cast

import msgspec

from mayfly.core.model import Seconds
from mayfly.fetch.document import Document
from mayfly.fetch.reasons import Reason

_LENGTH = struct.Struct(">I")
_MOST_BYTES = 100_000_000  # of an answer


class _Question(NamedTuple):
    body: bytes
    url: str
    content_type: str
    now: Seconds
    with_text: bool


_encode = msgspec.msgpack.Encoder().encode
_question = msgspec.msgpack.Decoder(_Question).decode
_document = msgspec.msgpack.Decoder(Document).decode


class Readers:
    """So many reading processes. An async context manager; `read` waits while all are busy."""

    def __init__(self, processes: int = 1, seconds: Seconds = 10.0, memory_bytes: int = 1 << 30) -> None:
        self._processes = processes
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._idle: asyncio.LifoQueue[_Reader | None] = asyncio.LifoQueue()
        self._alive: set[_Reader] = set()

    async def __aenter__(self) -> Self:
        for _ in range(self._processes):
            self._idle.put_nowait(None)  # started when first needed
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(self._end(reader) for reader in list(self._alive)))

    @property
    def pids(self) -> list[int]:
        """Of the processes that are alive."""
        return [reader.pid for reader in self._alive]

    async def read(
        self, body: bytes, url: str, *, content_type: str = "", now: Seconds, with_text: bool = False
    ) -> Document:
        """What a body says; a document with an error if reading it ended its reader."""
        reader = await self._idle.get()
        try:
            if reader is None:
                reader = await self._start()
            async with asyncio.timeout(self._seconds):
                answer = await reader.ask(_encode(_Question(body, url, content_type, now, with_text)))
            document = _document(answer)
        except (TimeoutError, EOFError, OSError, msgspec.DecodeError) as error:
            await self._replace(reader)
            why = f"not within {self._seconds:g} s" if isinstance(error, TimeoutError) else "it ended"
            return Document(kind="other", url=url, error=f"{Reason.READER_DIED}: {why}")
        except BaseException:
            await self._replace(reader)  # cancelled half-way: its answer would be taken for that to the next body
            raise
        self._idle.put_nowait(reader)
        return document

    async def _start(self) -> _Reader:
        command = [sys.executable, "-m", "mayfly.fetch.readers", str(self._memory_bytes)]
        _, reader = await asyncio.get_running_loop().subprocess_exec(_Reader, *command, stderr=None)
        self._alive.add(reader)
        return reader

    async def _replace(self, reader: _Reader | None) -> None:
        self._idle.put_nowait(None)
        if reader is not None:
            await self._end(reader)

    async def _end(self, reader: _Reader) -> None:
        self._alive.discard(reader)
        await reader.end()


class _Reader(asyncio.SubprocessProtocol):
    """Our end of one process: a message goes in, a message comes out."""

    def __init__(self) -> None:
        self._got = bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        self._ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.pid = self._transport.get_pid() or 0

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        got = self._got
        got += data
        if len(got) < _LENGTH.size:
            return
        end = _LENGTH.size + _LENGTH.unpack_from(got)[0]
        if end > _MOST_BYTES:
            self._fail()
        elif len(got) >= end and self._answer is not None and not self._answer.done():
            self._answer.set_result(bytes(got[_LENGTH.size : end]))
            del got[:end]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._fail()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail()
        if not self._ended.done():
            self._ended.set_result(None)

    async def ask(self, message: bytes) -> bytes:
        """The answer to a message; EOFError if the process ends before."""
        self._answer = asyncio.get_running_loop().create_future()
        if self._transport.is_closing() or self._ended.done():
            raise EOFError
        pipe = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        pipe.write(_LENGTH.pack(len(message)) + message)
        return await self._answer

    async def end(self) -> None:
        """End the process, whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            self._transport.kill()
        self._transport.close()
        await self._ended

    def _fail(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(EOFError())


def _serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """The other end: read bodies until there are no more."""
    from mayfly.fetch.reader import read

    while head := questions.read(_LENGTH.size):
        asked = _question(questions.read(_LENGTH.unpack(head)[0]))
        document = read(
            asked.body, asked.url, content_type=asked.content_type, now=asked.now, with_text=asked.with_text
        )
        message = _encode(document)
        answers.write(_LENGTH.pack(len(message)) + message)
        answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the crawler, which ends us
    with contextlib.suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
    _serve(sys.stdin.buffer, sys.stdout.buffer)
