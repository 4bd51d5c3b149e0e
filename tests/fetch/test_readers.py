"""Readers in processes of their own: what kills one does not stop the others."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import msgspec
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


def test_a_header_that_is_no_text_stops_nobody(run) -> None:
    async def work() -> list[Document]:
        async with Readers(seconds=5.0) as readers:
            odd = readers.read(PAGE, "https://example.com/", content_type="text/html; charset=\udcff", now=time.time())
            return await asyncio.wait_for(asyncio.gather(odd, read(readers)), 20.0)

    assert [document.title for document in run(work())] == ["Hello", "Hello"]


def test_ctrl_c_is_not_for_readers(run) -> None:
    async def work() -> int:
        async with Readers() as readers:
            await read(readers)
            return os.getpgid(readers.pids[0])

    assert run(work()) != os.getpgid(0)  # the terminal tells the group of the crawler


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
            reading = asyncio.ensure_future(read(readers, b"<p>a <b>b</b>" * 500_000))
            await asyncio.sleep(0.1)
            os.kill(pid, signal.SIGSEGV)
            return await reading, await read(readers)

    dead, next_one = run(work())
    assert dead.error == "reader-died: it ended"
    assert next_one.title == "Hello"


def test_a_reader_that_dies_idle_is_not_the_fault_of_the_next_body(run) -> None:
    async def work() -> Document:
        async with Readers() as readers:
            await read(readers)
            (pid,) = readers.pids
            os.kill(pid, signal.SIGSEGV)
            while pid in readers.pids:
                await asyncio.sleep(0.01)
            return await read(readers)

    assert run(work()).title == "Hello"


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


def test_a_reader_whose_crawler_was_killed_ends_without_a_word() -> None:
    command = [sys.executable, "-m", "mayfly.fetch.readers", str(1 << 30)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1) as reader:
        reader.stdout.close()
        questions = msgspec.msgpack.encode([(len(PAGE), "https://example.com/", "", 0.0, False)])
        reader.stdin.write(len(questions).to_bytes(4, "big") + questions + PAGE)
        reader.stdin.close()
        assert reader.stderr.read() == b""


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


KILLING = b"<title>kill</title>"
LYING = b"<title>lie</title>"
SILENT = b"<title>silent</title>"
CHILD = f"""
import os, sys, time
import mayfly.fetch.reader, mayfly.fetch.readers as readers
real = mayfly.fetch.reader.read
def read(body, url, **more):
    if body == {KILLING!r}:
        os.abort()
    if body == {SILENT!r}:
        time.sleep(60)
    document = real(body, url, **more)
    if body == {LYING!r}:
        object.__setattr__(document, "links", [["https://example.com/a", "https://example.com/b"], ["A"]])
    return document
mayfly.fetch.reader.read = read
readers._serve(sys.stdin.buffer, sys.stdout.buffer)
"""


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (KILLING, "reader-died: it ended"),
        (LYING, "reader-died: it ended"),
        (SILENT, "reader-died: not within 3 s"),
    ],
)
def test_only_the_body_that_is_to_blame_fails(run, bad: bytes, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    real = subprocess.Popen

    def start(command: list[str], **more: object) -> subprocess.Popen:
        started.append(command)
        return real([command[0], "-c", CHILD], **more)

    monkeypatch.setattr(subprocess, "Popen", start)

    async def work() -> list[Document]:
        async with Readers(seconds=3.0) as readers:
            bodies = [f"<title>{number}</title>".encode() for number in range(6)]
            return await asyncio.gather(*(read(readers, body) for body in [*bodies[:3], bad, *bodies[3:]]))

    documents = run(work())
    assert [document.error for document in documents] == [None] * 3 + [error] + [None] * 3
    assert [document.title for document in documents if not document.error] == [str(number) for number in range(6)]
    assert 2 <= len(started) <= 3


def test_a_body_larger_than_a_pipe_is_read(run) -> None:
    async def work() -> list[Document]:
        async with Readers() as readers:
            large = b"<title>large</title>" + b"<p>a" * 1_000_000
            return await asyncio.gather(read(readers, large), read(readers), read(readers, large))

    assert [document.title for document in run(work())] == ["large", "Hello", "large"]
