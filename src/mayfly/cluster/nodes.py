"""A Ray of our own on this machine, for trying: a head and some nodes, each a `ray start` with all it starts.

What runs is in `cluster.json` of the home, so that a later command can add nodes, take some away and end them all. Each
node has a loopback address of its own: Ray replaces 127.0.0.1 by the machine's outward one. Its servers listen on all
addresses none the less, which is why the token is on. Every node has a folder for its sockets, for two that start
at the same time would else take each other's names.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from mayfly.cluster.processes import Process
from mayfly.core.model import Seconds
from mayfly.errors import RunError

FILE, TOKEN, LOGS = "cluster.json", "ray-token", "ray-logs"
HEAD = "head"
RESOURCE = "mayfly"  # what a node must have to be given shards
_UNITS = 10_000  # of it, a shard one: more than a node ever holds
_SUBNET = "127.77.0."
_PORT = 6379  # in a network of its own; elsewhere any that is free
_STORE_BYTES = 80_000_000  # the least Ray takes is 75 MB; nothing of ours is kept there
_STARTED = "Ray runtime started"
_START_WITHIN: Seconds = 90.0
_END_WITHIN: Seconds = 10.0
_LONGEST_FOLDER = 30  # a socket's path may have 107 letters, of which Ray takes about 65
_HEALTH = {"period_ms": 1000, "timeout_ms": 1000, "failure_threshold": 3, "initial_delay_ms": 1000}


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the local cluster: what it is called, where it is, and its processes."""

    name: str
    ip: str
    netns: str = ""  # the network namespace it lives in; empty: ours
    process: Process | None = None


@dataclass(frozen=True, slots=True)
class Local:
    """The local cluster as the home knows it: the head's port, a folder for sockets, and the nodes, the head first."""

    port: int = 0
    folder: str = ""
    nodes: tuple[Node, ...] = field(default=())

    @property
    def address(self) -> str:
        """Where Ray is reached."""
        return f"{self.nodes[0].ip}:{self.port}"

    @property
    def workers(self) -> tuple[Node, ...]:
        """All but the head."""
        return self.nodes[1:]


def local(home: Path) -> Local | None:
    """The local cluster that this home has started, with the nodes that live; None if all of it has ended since."""
    try:
        told = json.loads((home / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        raise RunError(f"{home / FILE} cannot be read; end the `ray start` processes by hand and remove it") from None
    nodes = tuple(Node(**{**one, "process": Process(**one["process"])}) for one in told["nodes"])
    living = tuple(node for node in nodes if node.process and node.process.family())
    head = () if nodes[0] in living else nodes[:1]  # a head that is gone is still where the others look for it
    return Local(told["port"], told["folder"], head + living) if living else None


def start(home: Path, head: Node | None = None, auth: str = "token") -> Local:
    """Start a head, unless there is one. Nodes that have lost theirs are ended first."""
    if (running := local(home)) is not None:
        if running.nodes[0].process is not None and running.nodes[0].process.lives:
            return running
        end(home, running)
    head = head or Node(HEAD, _SUBNET + "1")
    _make_token(home)
    folder = _short_folder()
    empty = Local(_PORT if head.netns else _free_port(head.ip), folder, ())
    begun = replace(empty, nodes=(_started(home, empty, head, auth),))
    _keep(home, begun)
    try:
        _await_start(home, begun.nodes)
    except RunError:
        end(home, begun)
        raise
    return begun


def add(home: Path, running: Local, nodes: Sequence[Node], auth: str = "token") -> Local:
    """Start these nodes beside those that run, all at once."""
    begun = tuple(_started(home, running, node, auth) for node in nodes)
    grown = replace(running, nodes=running.nodes + begun)
    _keep(home, grown)
    try:
        _await_start(home, begun)
    except RunError:
        take(home, grown, [node.name for node in begun])
        raise
    return grown


def more(running: Local, count: int) -> list[Node]:
    """As many new nodes as are missing to `count`, with names and addresses that are free."""
    taken = {node.name for node in running.nodes}
    free = (number for number in range(1, 250) if f"node-{number}" not in taken)
    return [Node(f"node-{number}", f"{_SUBNET}{number + 1}") for number in _first(free, count - len(running.workers))]


def take(home: Path, running: Local, names: Sequence[str]) -> Local:
    """End these nodes; what ran there is Ray's to start elsewhere, so drain them first."""
    with ThreadPoolExecutor() as pool:
        going = [node.process for node in running.nodes if node.name in names and node.process is not None]
        list(pool.map(lambda process: process.end(_END_WITHIN), going))
    left = replace(running, nodes=tuple(node for node in running.nodes if node.name not in names))
    _keep(home, left)
    return left


def end(home: Path, running: Local) -> None:
    """End all of it, the head last, and forget it."""
    take(home, running, [node.name for node in running.workers])
    take(home, running, [HEAD])
    shutil.rmtree(running.folder, ignore_errors=True)
    (home / FILE).unlink(missing_ok=True)


def environment(home: Path, auth: str = "token") -> dict[str, str]:
    """What Ray is told by its environment, the same on every node and for whoever talks to them."""
    told = {f"RAY_health_check_{name}": str(value) for name, value in _HEALTH.items()}
    told |= {"RAY_AUTH_MODE": auth, "RAY_USAGE_STATS_ENABLED": "0"}
    return told | ({"RAY_AUTH_TOKEN_PATH": str((home / TOKEN).resolve())} if auth == "token" else {})


def command(running: Local, node: Node) -> list[str]:
    """How a node is started."""
    where = ["--head", f"--port={running.port}"] if node.name == HEAD else [f"--address={running.address}"]
    what = (
        ["--num-cpus=0", "--include-dashboard=false", "--disable-usage-stats"]
        if node.name == HEAD
        else ["--num-cpus=1", f"--resources={json.dumps({RESOURCE: _UNITS})}"]
    )
    return [
        *(["ip", "netns", "exec", node.netns] if node.netns else []),
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *where, *what),
        *(f"--node-ip-address={node.ip}", f"--node-name={node.name}", f"--object-store-memory={_STORE_BYTES}"),
        f"--temp-dir={running.folder}/{node.name}",
    ]


def _started(home: Path, running: Local, node: Node, auth: str) -> Node:
    (home / LOGS).mkdir(exist_ok=True)
    words, log = command(running, node), str(_log(home, node))
    into = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, log, into, 0o644)]
    pid = os.posix_spawnp(
        words[0], words, _outside() | environment(home, auth),
        file_actions=[*files, (os.POSIX_SPAWN_DUP2, 1, 2)], setsid=True,
    )  # fmt: skip
    return replace(node, process=Process.of(pid))


def _outside() -> dict[str, str]:
    """Our environment, without what says of another Ray."""
    return {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}


def _await_start(home: Path, nodes: Sequence[Node]) -> None:
    until = time.monotonic() + _START_WITHIN
    for node in nodes:
        while _STARTED not in (said := _log(home, node).read_text(errors="replace")):
            lives = node.process is not None and node.process.lives
            if not lives or time.monotonic() > until:
                last = ([line for line in said.splitlines() if line.strip()] or ["nothing"])[-1]
                how = "did not come up" if lives else "ended at once"
                raise RunError(f"Ray's {node.name} {how}; it said last: {last} (all of it: {_log(home, node)})")
            time.sleep(0.1)


def _log(home: Path, node: Node) -> Path:
    return home / LOGS / f"{node.name}.log"


def _make_token(home: Path) -> None:
    """A secret that only this user can read; the same for the life of the home."""
    with contextlib.suppress(FileExistsError):
        made = os.open(home / TOKEN, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w") as file:
            file.write(secrets.token_hex(32))


def _short_folder() -> str:
    root = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix="mayfly-", dir=root if len(root) <= _LONGEST_FOLDER else "/tmp")


def _free_port(ip: str) -> int:
    with socket.socket() as trial:
        trial.bind((ip, 0))
        return int(trial.getsockname()[1])


def _keep(home: Path, running: Local) -> None:
    draft = home / f".{FILE}"
    draft.write_text(json.dumps(asdict(running), indent=1) + "\n", encoding="utf-8")
    draft.replace(home / FILE)


def _first(numbers: Iterator[int], count: int) -> list[int]:
    return [number for number, _ in zip(numbers, range(max(0, count)), strict=False)]
