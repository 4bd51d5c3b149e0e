"""Readers in processes of their own: what kills one does not stop the others."""

import asyncio
import os
import signal
import time

from mayfly.fetch.document import Document
from mayfly.fetch.readers import Readers

PAGE = b"<!doctype html><title>Hello</title><a href=/a>first</a><a href=/b>second</a>"


async def read(readers: Readers, body: bytes = PAGE) -> Document:
    return await readers.read(body, "https://example.com/", now=time.time())


def test_a_document_comes_back_as_it_was_read() -> None:
    async def run() -> Document:
        async with Readers() as readers:
            return await read(readers)

    document = asyncio.run(run())
    assert (document.kind, document.title) == ("html", "Hello")
    assert [(link.url, link.anchor, link.rank) for link in document.links] == [
        ("https://example.com/a", "first", 1),
        ("https://example.com/b", "second", 2),
    ]


def test_many_bodies_share_few_readers() -> None:
    async def run() -> list[Document]:
        async with Readers(2) as readers:
            bodies = [f"<title>{number}</title>".encode() for number in range(50)]
            documents = await asyncio.gather(*(read(readers, body) for body in bodies))
            assert len(readers._alive) <= 2
            return documents

    assert [document.title for document in asyncio.run(run())] == [str(number) for number in range(50)]


def test_a_reader_that_takes_too_long_is_replaced() -> None:
    async def run() -> tuple[Document, Document]:
        async with Readers() as readers:
            await read(readers)  # so that it has started
            readers._seconds = 0.02
            slow = await read(readers, b"<p>a <b>b</b>" * 500_000)
            readers._seconds = 20.0
            return slow, await read(readers)

    slow, next_one = asyncio.run(run())
    assert slow.error == "reader-died: not within 0.02 s"
    assert next_one.title == "Hello"


def test_a_reader_that_dies_is_replaced() -> None:
    async def run() -> tuple[Document, Document]:
        async with Readers() as readers:
            await read(readers)
            (process,) = readers._alive
            os.kill(process.pid, signal.SIGSEGV)
            return await read(readers), await read(readers)

    dead, next_one = asyncio.run(run())
    assert dead.error == "reader-died: it ended"
    assert next_one.title == "Hello"


def test_no_reader_outlives_the_others() -> None:
    async def run() -> int:
        async with Readers() as readers:
            await read(readers)
            (process,) = readers._alive
            return process.pid

    pid = asyncio.run(run())
    try:
        os.kill(pid, 0)
        alive = True
    except ProcessLookupError:
        alive = False
    assert not alive


def test_one_who_is_told_to_stop_leaves_no_answer_behind() -> None:
    async def run() -> Document:
        async with Readers() as readers:
            await read(readers)
            waiting = asyncio.ensure_future(read(readers, b"<title>old</title>" + b"<p>a" * 300_000))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            return await read(readers)

    assert asyncio.run(run()).title == "Hello"
