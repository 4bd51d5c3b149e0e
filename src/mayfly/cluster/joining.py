"""A command's way into a running Ray: joined for a moment, from a machine that is part of it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from mayfly.cluster import nodes
from mayfly.cluster.settings import ClusterSettings
from mayfly.core.model import Seconds
from mayfly.errors import RunError, UsageError

_ANSWER_WITHIN: Seconds = 3.0


def require_ray() -> None:
    """Refuse to go on where Ray or the driver of PostgreSQL is not installed."""
    for module, what in (("ray", "Ray"), ("asyncpg", "asyncpg")):
        if importlib.util.find_spec(module) is None:
            raise UsageError(f"{what} is not installed, and a cluster runs on it: pip install mayfly[cluster]")


def address_of(home: Path, cluster: ClusterSettings) -> str:
    """Where Ray is, by the settings or, where they name none, on this machine; empty if it is nowhere."""
    running = None if cluster.address else nodes.local(home)
    return running.address if running else cluster.address


def answers(address: str) -> bool:
    """Whether someone listens there. Ray itself would try for a long time, and end the process."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_WITHIN):
            return True
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def joined(home: Path, cluster: ClusterSettings) -> Iterator[None]:
    """Be part of that Ray, with the token of the home or, for a Ray of others, of the environment."""
    address = address_of(home, cluster)
    if not address:
        raise UsageError("no cluster runs here; start one by mayfly cluster up, or name Ray by --address HOST:PORT")
    if not answers(address):
        raise RunError(f"Ray does not answer at {address}; see that its head runs and this machine may reach it")
    told = {"RAY_AUTH_MODE": cluster.auth} if cluster.address else nodes.environment(home, cluster.auth)
    os.environ.update({name: value for name, value in told.items() if cluster.address == "" or name not in os.environ})
    import ray

    from mayfly.cluster.actors import NAMESPACE

    own = {} if cluster.address else {"_node_ip_address": address.rpartition(":")[0]}
    try:
        ray.init(address, namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR", **own)
    except Exception as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise RunError(f"Ray at {address} does not let us in: {said[0]}") from None
    try:
        with contextlib.redirect_stdout(sys.stderr):  # Ray tells every driver of all troubles; programs read our output
            yield
    finally:
        ray.shutdown()
