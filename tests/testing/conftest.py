"""The loopback web in a thread, and the plainest of clients: a socket."""

import socket
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import pytest

from mayfly.testing.bench import HOST, bench_site
from mayfly.testing.connection import Bounds
from mayfly.testing.messages import Reply, Request
from mayfly.testing.misbehaviour import trouble_sites
from mayfly.testing.server import Server, in_thread


class Got(NamedTuple):
    """What came back; `head` and `body` as they were sent."""

    status: int
    headers: dict[str, str]
    body: bytes
    raw: bytes


def hello(request: Request) -> Reply:
    return Reply(f"hello from {request.host}{request.target}".encode(), etag='"1"', modified=1e9 + 0.5)


def _ask(
    server: Server,
    host: str,
    target: str = "/",
    *,
    most: int = 2**20,
    seconds: float = 5.0,
    end: bool = True,
    **headers,
) -> Got:
    """One request on a connection of its own; reads until the end, `most` bytes, or `seconds` without a byte."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += ["Connection: close"] if end else []
    head = "\r\n".join([f"GET {target} HTTP/1.1", f"Host: {host}", *lines, "", ""])
    with closing(socket.create_connection((server.addresses[0], server.port), timeout=seconds)) as client:
        client.sendall(head.encode())
        raw = _read(client, most)
    return _parsed(raw)


def _read(client: socket.socket, most: int) -> bytes:
    parts, length = [], 0
    while length < most:
        try:
            data = client.recv(65536)
        except TimeoutError:
            break
        if not data:
            break
        parts.append(data)
        length += len(data)
    return b"".join(parts)


def _parsed(raw: bytes) -> Got:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    status = int(words[1]) if len(words) > 1 and words[0].startswith("HTTP/") else 0
    headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines}
    return Got(status, headers, body, raw)


@pytest.fixture(scope="session")
def ask():
    return _ask


@pytest.fixture(scope="session")
def read():
    return _read


@pytest.fixture(scope="session")
def parsed():
    return _parsed


@pytest.fixture
def server() -> Iterator[Server]:
    sites = {"hello.test": hello, HOST: bench_site, **trouble_sites()}
    with in_thread(Server(sites, bounds=Bounds(play_seconds=2.0, idle_seconds=5.0))) as server:
        yield server
