"""A small real HTTP/1.1 server whose every byte a test can choose.

A site is a function from a request to an answer, found by the Host header. A `Reply` goes out by the book: keep-alive,
HEAD, conditional GET. A `Raw` answer is a play that is handed the connection and writes what it likes. Everything is
bounded (`Bounds`): connections, bytes of a request's head, seconds a connection may idle, seconds a play may last.

`async with Server(sites) as server` runs it in this event loop, `with in_thread(Server(sites)) as server` beside any
program. It binds loopback addresses, or those of a network of the test's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

from mayfly.core.model import Seconds
from mayfly.errors import UsageError
from mayfly.testing.connection import Bounds, Connection, Desk
from mayfly.testing.journal import Journal
from mayfly.testing.messages import Answer, Reply, Request, Site, late, settled

_ROUNDS = 10  # of the loop, to let in who knocked
_PATIENCE = 10.0  # seconds for the thread to start or to stop


class Server:
    """Hosts by name on one port of some 127.x addresses, and on a second port with TLS if given a context."""

    def __init__(
        self,
        sites: Mapping[str, Site],
        *,
        addresses: tuple[str, ...] = ("127.0.0.1",),
        within: str = "",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        tls_port: int = 0,
        bounds: Bounds | None = None,
        quiet: tuple[str, ...] = (),
        journal: Journal | None = None,
        latency: Seconds = 0.0,
    ) -> None:
        """`quiet`: hosts whose visits are not written down. `within`: a network of the test's own, else loopback.
        `latency`: from a request to its reply.
        """
        own = [ip_network(within)] if within else []
        ours = [one.is_loopback or any(one in network for network in own) for one in map(ip_address, addresses)]
        if not addresses or not all(ours):
            only = f"addresses of {within}" if within else "loopback addresses"
            raise UsageError(f"the test server binds {only} only, not {', '.join(addresses) or 'none'}")
        self.sites = dict(sites)
        self.addresses = addresses
        self.port, self.tls_port = port, tls_port
        self.journal = journal or Journal()
        self._desk = Desk(self._answer, self.journal, bounds or Bounds(), quiet)
        self._tls, self._latency = tls, latency
        self._listeners: dict[tuple[str, bool], asyncio.Server] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Server:
        self._loop = asyncio.get_running_loop()
        try:
            for address in self.addresses:
                await self.reappear(address)
        except OSError:
            await self._close()
            raise
        self._sweeper = asyncio.create_task(self._sweep())
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._close()

    @property
    def url(self) -> str:
        """The address of the server itself, for clients that set the Host header on their own."""
        return f"http://{self.addresses[0]}:{self.port}"

    @property
    def connect_to(self) -> list[str]:
        """Values for a `--connect-to` option as curl has it: any host name leads here."""
        address = self.addresses[0]
        if self._tls is None:
            return [f"::{address}:{self.port}"]
        return [f":80:{address}:{self.port}", f":443:{address}:{self.tls_port}"]

    @property
    def connect_to_names(self) -> list[str]:
        """The same for the hosts that are here alone, so that addresses in URLs mean what they say."""
        ports = [("80", self.port), *([("443", self.tls_port)] if self._tls is not None else [])]
        return [f"{host}:{port}:{self.addresses[0]}:{own}" for host in self.sites for port, own in ports]

    @property
    def connections(self) -> int:
        """Connections accepted so far, whether anything was asked on them or not."""
        return self._desk.accepted

    @property
    def present(self) -> int:
        """Connections open now."""
        return len(self._desk.present)

    async def disappear(self, address: str) -> None:
        """Stop listening there: connections are cut, new ones refused."""
        await self._shut([key for key in self._listeners if key[0] == address])
        for connection in list(self._desk.present):
            if connection.address == address:
                connection.abort()

    async def reappear(self, address: str) -> None:
        """Listen there (again), on the same port as on the other addresses."""
        self.port = await self._listen(address, self.port, None)
        if self._tls is not None:
            self.tls_port = await self._listen(address, self.tls_port, self._tls)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it in the server's loop, from another thread: `server.run(server.disappear("127.0.0.2"))`."""
        assert self._loop is not None, "the server does not run"
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)

    def _answer(self, request: Request) -> Answer:
        site = self.sites.get(request.host)
        if site is None:
            return Reply(b"no such host here\n", 421, "text/plain")
        answer = site(request)
        if not isinstance(answer, Reply):
            return answer
        reply = settled(request, answer)
        return late(request, reply, self._latency) if self._latency else reply

    async def _listen(self, address: str, port: int, tls: ssl.SSLContext | None) -> int:
        listener = await asyncio.get_running_loop().create_server(
            lambda: Connection(self._desk, secure=tls is not None), address, port, backlog=1024, ssl=tls
        )
        self._listeners[address, tls is not None] = listener
        return int(listener.sockets[0].getsockname()[1])

    async def _sweep(self) -> None:
        """Cut those who keep us waiting."""
        while True:
            await asyncio.sleep(min(1.0, self._desk.bounds.idle_seconds / 2))
            now = time.monotonic()
            for connection in list(self._desk.present):
                if connection.deadline < now:
                    connection.abort()

    async def _close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        shut = await self._shut(list(self._listeners))
        plays = [connection.play for connection in self._desk.present if connection.play is not None]
        for connection in list(self._desk.present):
            connection.abort()
        await asyncio.gather(*plays, return_exceptions=True)
        await asyncio.gather(*(listener.wait_closed() for listener in shut))
        while self._desk.present:  # the loop tells each of its end
            await asyncio.sleep(0)

    async def _shut(self, keys: list[tuple[str, bool]]) -> list[asyncio.Server]:
        """Close listeners. Whoever knocked just now is let in first: asyncio loses a socket it is still letting in."""
        shut = [self._listeners.pop(key) for key in keys]
        for listener in shut:
            for bound in listener.sockets:
                with contextlib.suppress(RuntimeError):  # other loops than asyncio's own do not give it away
                    asyncio.get_running_loop().remove_reader(bound.fileno())
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
        for listener in shut:
            listener.close()
        return shut


@contextlib.contextmanager
def in_thread(server: Server) -> Iterator[Server]:
    """Run the server in a thread with an event loop of its own."""
    ready, errors = threading.Event(), list[BaseException]()
    stop: asyncio.Event | None = None
    loop: asyncio.AbstractEventLoop | None = None

    async def serve() -> None:
        nonlocal stop, loop
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        async with server:
            ready.set()
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            errors.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=work, name="loopback web", daemon=True)
    thread.start()
    ready.wait(_PATIENCE)
    if errors:
        raise errors[0]
    try:
        yield server
    finally:
        if loop is not None and stop is not None:
            loop.call_soon_threadsafe(stop.set)
        thread.join(_PATIENCE)
    if errors:
        raise errors[0]
