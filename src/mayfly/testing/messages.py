"""A request, the replies to it, and when a reply may be 304: plain values, without a socket."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from email.utils import formatdate, parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Literal, Protocol, TypeAlias

from mayfly.core.model import Seconds

HTML = "text/html; charset=utf-8"
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked for. Header names are in small letters; the last of equal ones counts."""

    method: str
    host: str  # without port, in small letters
    target: str  # path and query, as sent
    headers: dict[str, str]
    local: tuple[str, int] = ("127.0.0.1", 80)  # where it came in
    client: tuple[str, int] = ("127.0.0.1", 0)
    secure: bool = False
    body: bytes = b""  # of a POST

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer by the book. With `etag` or `modified` the server answers conditional requests rightly."""

    body: bytes = b""
    status: int = 200
    type: str = HTML
    headers: tuple[tuple[str, str], ...] = ()
    etag: str = ""  # with its quotes
    modified: Seconds | None = None

    def head(self, keep: bool = True) -> bytes:
        """Status line and headers, as they are sent."""
        lines = [f"HTTP/1.1 {self.status} {_PHRASES.get(self.status, 'Unknown')}", f"Date: {http_date(time.time())}"]
        if self.status != 304:
            lines += [f"Content-Type: {self.type}"] if self.type else []
            lines.append(f"Content-Length: {len(self.body)}")
        if self.etag:
            lines.append(f"ETag: {self.etag}")
        if self.modified is not None:
            lines.append(f"Last-Modified: {http_date(self.modified)}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += [] if keep else ["Connection: close"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Line(Protocol):
    """A client's connection in the hands of a play. Writing raises ConnectionError once the client has left."""

    async def write(self, data: bytes) -> None: ...


Play: TypeAlias = Callable[[Line], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer byte by byte: `play` writes what it likes, when it likes; `then` is what becomes of the connection."""

    play: Play
    then: Literal["close", "keep", "reset"] = "close"
    status: int = 0  # for the journal; 0: there is none to speak of


Answer: TypeAlias = Reply | Raw
Site: TypeAlias = Callable[[Request], Answer]


def late(request: Request, reply: Reply, seconds: Seconds) -> Raw:
    """The same reply after a while, as if its host were far away."""
    keep = request.headers.get("connection", "").lower() != "close"
    data = reply.head(keep) + (b"" if request.method == "HEAD" else reply.body)

    async def play(line: Line) -> None:
        await asyncio.sleep(seconds)
        await line.write(data)

    return Raw(play, "keep" if keep else "close", reply.status)


def settled(request: Request, reply: Reply) -> Reply:
    """`reply`, or 304 where the client holds just that (RFC 9110 §13): the ETag decides, else the date.

    >>> asked = Request("GET", "a.test", "/", {"if-none-match": 'W/"1", "2"'})
    >>> settled(asked, Reply(b"two", etag='"2"')).status, settled(asked, Reply(b"three", etag='"3"')).status
    (304, 200)
    """
    if reply.status != 200 or not (_holds_tag(request, reply) or _holds_date(request, reply)):
        return reply
    return replace(reply, status=304, body=b"")


def _holds_tag(request: Request, reply: Reply) -> bool:
    asked = request.headers.get("if-none-match")
    if not asked or not reply.etag:
        return False
    return asked.strip() == "*" or _strong(reply.etag) in [_strong(tag) for tag in asked.split(",")]


def _holds_date(request: Request, reply: Reply) -> bool:
    asked = request.headers.get("if-modified-since")
    if not asked or reply.modified is None or "if-none-match" in request.headers:
        return False
    try:
        return int(reply.modified) <= parsedate_to_datetime(asked).timestamp()
    except ValueError:
        return False


def _strong(tag: str) -> str:
    return tag.strip().removeprefix("W/")


def http_date(at: Seconds) -> str:
    """An instant as HTTP writes it, to the second.

    >>> http_date(0.9)
    'Thu, 01 Jan 1970 00:00:00 GMT'
    """
    return _http_date(int(at))


@lru_cache(maxsize=4096)
def _http_date(at: int) -> str:
    return formatdate(at, usegmt=True)
