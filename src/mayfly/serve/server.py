"""Runs what is served until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from mayfly.errors import RunError
from mayfly.serve.app import make_app
from mayfly.serve.parts import Serving
from mayfly.serve.webhook import sending

_CONNECTIONS = 512
_GRACE = 5  # seconds for what is under way, after that it is cut off


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def listen(serving: Serving, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Answer until SIGINT or SIGTERM; what is under way is finished. `ready` is told the address."""
    listening = _bound(host, port)
    config = uvicorn.Config(
        make_app(serving),
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nobody is let in for what a header says of his address
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Server(config)

    def stop() -> None:
        server.force_exit = server.should_exit  # the second time at once
        server.should_exit = True
        serving.stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    name = f"[{host}]" if ":" in host else host
    ready(f"http://{name}:{listening.getsockname()[1]}/")
    try:
        async with sending(serving):
            await server.serve(sockets=[listening])
    finally:
        await serving.ledger.close()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are ours: uvicorn would raise them again at the end, and a clean stop would look like a kill."""
        yield


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        raise RunError(f"cannot listen at {host}:{port}: {error.strerror or error}; --bind names another") from None
    listening.setblocking(False)
    return listening
