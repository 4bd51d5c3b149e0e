"""A trap records every connection made to it, so that a test can prove there was none.

It answers nothing and asks nothing: whoever connects has already gone where nobody should.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from dataclasses import dataclass
from ipaddress import ip_address

from mayfly.core.model import Seconds
from mayfly.errors import UsageError

_MOST = 10_000  # connections remembered
_READ_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Caught:
    """A connection, and the first bytes sent on it (cut at 1,000)."""

    at: Seconds
    address: str
    client: tuple[str, int]
    data: bytes


class Trap:
    """Listens on one port of some loopback addresses, in a thread of its own.

    >>> with Trap() as trap:
    ...     socket.create_connection((trap.addresses[0], trap.port)).close()
    ...     len(trap.wait(1))
    1
    """

    def __init__(self, addresses: tuple[str, ...] = ("127.0.0.1",), port: int = 0) -> None:
        if not addresses or not all(ip_address(address).is_loopback for address in addresses):
            raise UsageError(f"a trap binds loopback addresses only, not {', '.join(addresses) or 'none'}")
        self.addresses, self.port = addresses, port
        self.caught: list[Caught] = []
        self._listeners: list[socket.socket] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="trap", daemon=True)

    def __enter__(self) -> Trap:
        try:
            for address in self.addresses:
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                listener = socket.create_server((address, self.port), family=family)
                self._listeners.append(listener)
                self.port = listener.getsockname()[1]
        except OSError:
            self._close()
            raise
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()
        self._close()

    def wait(self, number: int, seconds: Seconds = 5.0) -> list[Caught]:
        """What was caught, once there are so many or the time is up."""
        until = time.monotonic() + seconds
        while len(self.caught) < number and time.monotonic() < until:
            time.sleep(0.01)
        return list(self.caught)

    def _watch(self) -> None:
        with selectors.DefaultSelector() as selector:
            for listener in self._listeners:
                selector.register(listener, selectors.EVENT_READ)
            while not self._stop.is_set():
                for key, _ in selector.select(0.05):
                    assert isinstance(key.fileobj, socket.socket)
                    self._catch(key.fileobj)

    def _catch(self, listener: socket.socket) -> None:
        client, peer = listener.accept()
        at = time.time()
        with client:
            client.settimeout(_READ_SECONDS)
            try:
                data = client.recv(1000)
            except OSError:
                data = b""
        if len(self.caught) < _MOST:
            self.caught.append(Caught(at, listener.getsockname()[0], peer[:2], data))

    def _close(self) -> None:
        for listener in self._listeners:
            listener.close()
