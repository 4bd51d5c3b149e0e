"""A server of everything that goes wrong, for all tests of fetching."""

import socket
from collections.abc import Iterator

import pytest

from mayfly.testing.certificates import make_certificates, openssl_missing
from mayfly.testing.misbehaviour import trouble_sites
from mayfly.testing.server import Server, in_thread


def other_loopback() -> str:
    """An address apart from 127.0.0.1, where there is one: macOS has only that."""
    try:
        with socket.create_server(("127.0.0.2", 0)):
            return "127.0.0.2"
    except OSError:
        return "127.0.0.1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    sites = trouble_sites()
    tls = None
    if openssl_missing() is None:
        tls = make_certificates(tmp_path_factory.mktemp("certificates"), [*sites]).context
    with in_thread(Server(sites, addresses=(other_loopback(),), tls=tls)) as made:
        yield made
