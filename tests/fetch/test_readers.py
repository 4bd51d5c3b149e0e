"""Readers in processes of their own: what kills one does not stop the others."""

import asyncio
import os
import signal
import time

import pytest

from mayfly.fetch import loop
from mayfly.fetch.document import Document
from mayfly.fetch.readers import Readers

PAGE = b"<!doctype html><title>Hello</title><a href=/a>first</a><a href=/b>second</a>"


@pytest.fixture(params=[asyncio.run, loop.run], ids=["asyncio", "uvloop"])
def run(request):
    return request.param


async def read(readers: Readers, body: bytes = PAGE) -> Document:
    return await readers.read(body, "https://example.com/", now=time.time())


def test_a_document_comes_back_as_it_was_read(run) -> None:
    async def work() -> Document:
        async with Readers() as readers:
            return await read(readers)

    document = run(work())
    assert (document.kind, document.title) == ("html", "Hello")
    assert [(link.url, link.anchor, link.rank) for link in document.links] == [
        ("https://example.com/a", "first", 1),
        ("https://example.com/b", "second", 2),
    ]


def test_many_bodies_share_few_readers(run) -> None:
    async def work() -> list[Document]:
        async with Readers(2) as readers:
            bodies = [f"<title>{number}</title>".encode() for number in range(50)]
            documents = await asyncio.gather(*(read(readers, body) for body in bodies))
            assert len(readers.pids) <= 2
            return documents

    assert [document.title for document in run(work())] == [str(number) for number in range(50)]


def test_a_reader_that_takes_too_long_is_replaced(run) -> None:
    async def work() -> tuple[Document, Document]:
        async with Readers() as readers:
            await read(readers)  # so that it has started
            readers._seconds = 0.02
            slow = await read(readers, b"<p>a <b>b</b>" * 500_000)
            readers._seconds = 20.0
            return slow, await read(readers)

    slow, next_one = run(work())
    assert slow.error == "reader-died: not within 0.02 s"
    assert next_one.title == "Hello"


def test_a_reader_that_dies_is_replaced(run) -> None:
    async def work() -> tuple[Document, Document]:
        async with Readers() as readers:
            await read(readers)
            (pid,) = readers.pids
            os.kill(pid, signal.SIGSEGV)
            return await read(readers), await read(readers)

    dead, next_one = run(work())
    assert dead.error == "reader-died: it ended"
    assert next_one.title == "Hello"


def test_no_reader_outlives_the_others(run) -> None:
    async def work() -> int:
        async with Readers() as readers:
            await read(readers)
            (pid,) = readers.pids
            return pid

    pid = run(work())
    try:
        os.kill(pid, 0)
        alive = True
    except ProcessLookupError:
        alive = False
    assert not alive


def test_one_who_is_told_to_stop_leaves_no_answer_behind(run) -> None:
    async def work() -> Document:
        async with Readers() as readers:
            await read(readers)
            waiting = asyncio.ensure_future(read(readers, b"<title>old</title>" + b"<p>a" * 300_000))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            return await read(readers)

    assert run(work()).title == "Hello"
