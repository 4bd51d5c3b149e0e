"""Misbehaviour on the wire: too slow, too long, too short, broken. All of it ends, by bytes or by the clock."""

from __future__ import annotations

import asyncio

from mayfly.core.model import Seconds
from mayfly.testing.messages import Line, Play, Raw, Request

ENDLESS_BYTES = 200_000_000
HEAD_BYTES = 10_000_000
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
_PAGE = b"<!doctype html><title>Trouble</title><p>So far so good.</p>\n"
_REST = b"Content-Length: %d\r\n\r\n%s" % (len(_PAGE), _PAGE)
_BLOCK = b"<p>And so on, and so on, without an end in sight.</p>\n" * 1200  # 64 KB


def _drip(first: bytes, rest: bytes, every: Seconds) -> Play:
    """`first` at once, then a byte of `rest` at a time, over and over until the server's time is up."""

    async def play(line: Line) -> None:
        await line.write(first)
        while True:
            for at in range(len(rest)):
                await asyncio.sleep(every)
                await line.write(rest[at : at + 1])

    return play


def _flood(first: bytes, block: bytes, most: int = ENDLESS_BYTES, last: bytes = b"") -> Play:
    """`first`, then `block` again and again until `most` bytes are sent, then `last`."""

    async def play(line: Line) -> None:
        await line.write(first)
        for _ in range(most // len(block)):
            await line.write(block)
            await asyncio.sleep(0)  # a client that reads fast must not keep the others waiting
        if last:
            await line.write(last)

    return play


def _say(data: bytes) -> Play:
    async def play(line: Line) -> None:
        if data:
            await line.write(data)

    return play


def silence(request: Request, visit: int) -> Raw:
    async def play(line: Line) -> None:
        await asyncio.Event().wait()

    return Raw(play)


def slow_headers(request: Request, visit: int) -> Raw:
    return Raw(_drip(_OK, b"X-Patience: please\r\n", 0.2), status=200)


def dripping_body(request: Request, visit: int) -> Raw:
    return Raw(_drip(_OK + b"Content-Length: 100000\r\n\r\n", _PAGE, 0.1), status=200)


def endless_body(request: Request, visit: int) -> Raw:
    return Raw(_flood(_OK + b"Connection: close\r\n\r\n", _BLOCK), status=200)


def endless_chunks(request: Request, visit: int) -> Raw:
    chunk = b"%x\r\n%s\r\n" % (len(_BLOCK), _BLOCK)
    return Raw(_flood(_OK + b"Transfer-Encoding: chunked\r\n\r\n", chunk), status=200)


def endless_continue(request: Request, visit: int) -> Raw:
    return Raw(_flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, 20_000_000), status=100)


def giant_header(request: Request, visit: int) -> Raw:
    return Raw(_flood(_OK + b"X-Giant: ", b"x" * 50_000, HEAD_BYTES, b"\r\n" + _REST), status=200)


def many_headers(request: Request, visit: int) -> Raw:
    return Raw(_flood(_OK, b"X-Small: 1234567\r\n" * 2000, HEAD_BYTES, _REST), status=200)


def long_status_line(request: Request, visit: int) -> Raw:
    return Raw(_flood(b"HTTP/1.1 200 ", b"OK " * 20_000, HEAD_BYTES, b"\r\n" + _REST), status=200)


def length_too_short(request: Request, visit: int) -> Raw:
    # The rest of the body is there when the client sends its next request on the same connection.
    body = _PAGE + b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"
    return Raw(_say(_OK + b"Content-Length: %d\r\n\r\n" % len(_PAGE) + body), then="keep", status=200)


def length_too_long(request: Request, visit: int) -> Raw:
    return Raw(_say(_OK + b"Content-Length: %d\r\n\r\n" % (10 * len(_PAGE)) + _PAGE), status=200)


def length_twice(request: Request, visit: int) -> Raw:
    return Raw(_say(_OK + b"Content-Length: 5\r\nContent-Length: %d\r\n\r\n" % len(_PAGE) + _PAGE), status=200)


def length_negative(request: Request, visit: int) -> Raw:
    return Raw(_say(_OK + b"Content-Length: -5\r\n\r\n" + _PAGE), status=200)


def length_and_chunks(request: Request, visit: int) -> Raw:
    head = _OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    return Raw(_say(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(_PAGE), _PAGE)), status=200)


def bad_chunks(request: Request, visit: int) -> Raw:
    return Raw(_say(_OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + _PAGE), status=200)


def cut_chunks(request: Request, visit: int) -> Raw:
    chunk = b"%x\r\n%s\r\n" % (len(_PAGE), _PAGE)
    return Raw(_say(_OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunk), status=200)


def odd_headers(request: Request, visit: int) -> Raw:
    odd = b"X-Bare: line feed\nX-Space : before colon\r\nno colon at all\r\n folded\r\n"
    odd += b"X-Latin: \xe9\xff\r\nX-Nul: a\x00b\r\n"
    return Raw(_say(_OK + odd + b"Content-Length: %d\r\n\r\n" % len(_PAGE) + _PAGE), status=200)


def header_injection(request: Request, visit: int) -> Raw:
    # What a server does that puts a URL's %0d%0a into a header as it is.
    odd = b"X-Name: visitor\rSet-Cookie: admin=1\r\nX-Echo: \r\nRefresh: 0; url=http://10.0.0.1/\r\n"
    return Raw(_say(_OK + odd + b"Content-Length: %d\r\n\r\n" % len(_PAGE) + _PAGE), status=200)


def garbage(request: Request, visit: int) -> Raw:
    return Raw(_say(bytes((7 * at * at + 13 * at) % 256 for at in range(4000))))


def empty_reply(request: Request, visit: int) -> Raw:
    return Raw(_say(b""))


def reset_before_headers(request: Request, visit: int) -> Raw:
    return Raw(_say(b""), then="reset")


def reset_in_body(request: Request, visit: int) -> Raw:
    async def play(line: Line) -> None:
        await line.write(_OK + b"Content-Length: 100000\r\n\r\n" + _PAGE)
        await asyncio.sleep(0.1)  # else the reset overtakes the bytes

    return Raw(play, then="reset", status=200)
