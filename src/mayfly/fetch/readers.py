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
from typing import BinaryIO, NamedTuple, Self

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
        self._idle: asyncio.LifoQueue[asyncio.subprocess.Process | None] = asyncio.LifoQueue()
        self._alive: set[asyncio.subprocess.Process] = set()

    async def __aenter__(self) -> Self:
        for _ in range(self._processes):
            self._idle.put_nowait(None)  # started when first needed
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(self._end(process) for process in list(self._alive)))

    async def read(
        self, body: bytes, url: str, *, content_type: str = "", now: Seconds, with_text: bool = False
    ) -> Document:
        """What a body says; a document with an error if reading it ended its reader."""
        process = await self._idle.get()
        try:
            if process is None:
                process = await self._start()
            async with asyncio.timeout(self._seconds):
                document = await _ask(process, _Question(body, url, content_type, now, with_text))
        except (TimeoutError, EOFError, OSError, msgspec.DecodeError) as error:
            await self._replace(process)
            why = f"not within {self._seconds:g} s" if isinstance(error, TimeoutError) else "it ended"
            return Document(kind="other", url=url, error=f"{Reason.READER_DIED}: {why}")
        except BaseException:
            await self._replace(process)  # cancelled half-way: its answer would be taken for that to the next body
            raise
        self._idle.put_nowait(process)
        return document

    async def _start(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "mayfly.fetch.readers", str(self._memory_bytes),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20,
        )  # fmt: skip
        self._alive.add(process)
        return process

    async def _replace(self, process: asyncio.subprocess.Process | None) -> None:
        self._idle.put_nowait(None)
        if process is not None:
            await self._end(process)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        self._alive.discard(process)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


async def _ask(process: asyncio.subprocess.Process, question: _Question) -> Document:
    assert process.stdin is not None and process.stdout is not None
    message = _encode(question)
    process.stdin.write(_LENGTH.pack(len(message)))
    process.stdin.write(message)
    await process.stdin.drain()
    length = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))[0]
    if length > _MOST_BYTES:
        raise EOFError
    return _document(await process.stdout.readexactly(length))


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
