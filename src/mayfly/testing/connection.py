"""One client of the server: requests in, answers out, one after the other.

A `Reply` is written at once. A `Raw` answer runs as a task that writes as the client reads; what the client sends
meanwhile waits. When the client does not read, nothing more is answered until it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from mayfly.core.model import Seconds
from mayfly.testing.journal import Journal, Visit
from mayfly.testing.messages import Answer, Raw, Reply, Request

_METHODS = ("GET", "HEAD", "POST")
_HANDSHAKE = 0x16  # the first byte of a client that wants TLS, where there is none


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the server gives a client at most."""

    connections: int = 2000
    head_bytes: int = 65536
    body_bytes: int = 65536  # that a POST may bring
    idle_seconds: Seconds = 60.0  # between requests, and to take an answer
    play_seconds: Seconds = 60.0


@dataclass(slots=True)
class Desk:
    """What all connections share: who answers, where it is written down, who is here."""

    answer: Callable[[Request], Answer]
    journal: Journal
    bounds: Bounds
    quiet: tuple[str, ...] = ()  # hosts whose visits are not written down
    present: set[Connection] = field(default_factory=set)
    accepted: int = 0  # connections so far; the refused ones too


class Connection(asyncio.Protocol):
    """The server's end of a connection; for a play, its `Line`."""

    def __init__(self, desk: Desk, secure: bool) -> None:
        self._desk, self._secure = desk, secure
        self._buffer = b""
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._gone = False
        self._visit: Visit | None = None
        self.play: asyncio.Task[None] | None = None
        self.deadline = time.monotonic() + desk.bounds.idle_seconds

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._local = transport.get_extra_info("sockname")[:2]
        self._client = transport.get_extra_info("peername")[:2]
        desk = self._desk
        desk.accepted += 1
        self._number = desk.accepted
        desk.present.add(self)
        if len(desk.present) > desk.bounds.connections:
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._gone = True
        self._desk.present.discard(self)
        if self.play is not None:
            self.play.cancel()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()
        self._serve()

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        self._serve()

    # Called by the server and by plays.

    @property
    def address(self) -> str:
        return str(self._local[0])

    def abort(self) -> None:
        """Cut the connection, whatever is still to be written."""
        if self.play is not None:
            self.play.cancel()
        self._transport.abort()

    async def write(self, data: bytes) -> None:
        """Send it, and wait while the client does not read."""
        if self._gone or self._transport.is_closing():
            raise ConnectionAbortedError("the client has left")
        self._transport.write(data)
        if self._visit is not None:
            self._visit.bytes += len(data)
        await self._may_write.wait()

    # One request after the other.

    def _serve(self) -> None:
        """Answer what has come in, as long as the client takes the answers."""
        while self._buffer and self.play is None and self._may_write.is_set() and not self._transport.is_closing():
            if self._buffer[0] == _HANDSHAKE:
                return self._refuse(400)
            head, found, rest = self._buffer.partition(b"\r\n\r\n")
            if len(head) > self._desk.bounds.head_bytes:
                return self._refuse(431)
            if not found:
                return
            request = self._read(head)
            if request is None:
                return self._refuse(400)
            size = self._size_of(request)
            if size is None:
                return self._refuse(405)
            if len(rest) < size:
                return
            self._buffer = rest[size:]
            self._answer(replace(request, body=rest[:size]) if size else request)
        if len(self._buffer) > 4 * self._desk.bounds.head_bytes:
            self.abort()

    def _size_of(self, request: Request) -> int | None:
        """Bytes of its body; None: it is not for us."""
        said = request.headers.get("content-length", "0")
        most = self._desk.bounds.body_bytes if request.method == "POST" else 0
        return int(said) if request.method in _METHODS and said.isdecimal() and int(said) <= most else None

    def _read(self, head: bytes) -> Request | None:
        """The request in these bytes; None if there is none."""
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return None
        headers = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon:
                return None
            headers[name.lower()] = value.strip()
        if words[2] == "HTTP/1.0":
            headers.setdefault("connection", "close")
        method, target, host = words[0], words[1], headers.get("host", "")
        if not target.startswith("/"):  # as to a proxy: http://host/path
            _, _, rest = target.partition("://")
            host, slash, path = rest.partition("/")
            target = slash + path
            if not host or not slash:
                return None
        name = host.lower() if host.startswith("[") else host.lower().partition(":")[0]
        return Request(method, name.rstrip("."), target, headers, self._local, self._client, self._secure)

    def _answer(self, request: Request) -> None:
        headers = request.headers
        self._visit = visit = Visit(
            at=time.time(),
            host=request.host,
            target=request.target,
            method=request.method,
            address=self.address,
            connection=self._number,
            user_agent=headers.get("user-agent", ""),
            client=str(self._client[0]),
            if_none_match=headers.get("if-none-match", ""),
            if_modified_since=headers.get("if-modified-since", ""),
        )
        if request.host not in self._desk.quiet:
            self._desk.journal.add(visit)
        answer = self._desk.answer(request)
        visit.status = answer.status
        keep = headers.get("connection", "").lower() != "close"
        if isinstance(answer, Reply):
            self._send(answer, request.method, keep)
        else:
            self.deadline = float("inf")  # a play has its own
            self.play = asyncio.get_running_loop().create_task(self._perform(answer))

    def _send(self, reply: Reply, method: str, keep: bool) -> None:
        head = reply.head(keep)
        data = head + reply.body if method != "HEAD" and reply.body else head
        if self._visit is not None:  # before it is written: the client may have it before we look at the clock again
            self._visit.bytes = len(data)
            self._over(self._visit)
        self._transport.write(data)
        self.deadline = time.monotonic() + self._desk.bounds.idle_seconds
        if not keep:
            self._transport.close()

    def _over(self, visit: Visit) -> None:
        visit.ended = time.time()
        if visit.host not in self._desk.quiet:
            self._desk.journal.over(visit)

    def _refuse(self, status: int) -> None:
        self._visit = None
        self._send(Reply(status=status), "GET", keep=False)

    async def _perform(self, answer: Raw) -> None:
        """Run a play to its end: its own, the client's, or that of our patience."""
        visit = self._visit
        try:
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(self._desk.bounds.play_seconds):
                    await answer.play(self)
        finally:
            if visit is not None:
                self._over(visit)
        self.play = None
        self.deadline = time.monotonic() + self._desk.bounds.idle_seconds
        if answer.then == "reset":
            self._reset()
        elif answer.then == "close":
            self._transport.close()
        else:
            self._serve()

    def _reset(self) -> None:
        """Leave with RST instead of FIN: what a crash or a firewall looks like."""
        connected = self._transport.get_extra_info("socket")
        if connected is not None and not self._gone:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()
