"""The test web and the commands of a crawl as processes of their own, for the trials of `live.py`."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

NETWORK = "127.0.0.0/8"
MAYFLY = str(Path(sys.executable).with_name("mayfly"))


class TestWeb:
    """`python -m mayfly.testing` in a process of its own; its journal and its trace lie in `folder`."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.journal, self.trace = folder / "journal.jsonl", folder / "trace"
        files = ["--journal", str(self.journal), "--trace", str(self.trace)]
        self._command = [sys.executable, "-m", "mayfly.testing", *files, *words]

    def __enter__(self) -> TestWeb:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        said = self._process.stdout.readline()
        if not said:
            sys.exit("the test web did not start")
        about = json.loads(said)
        self.pid = self._process.pid
        self.hosts, self.others = about["hosts"], about["others"]
        self.address, self.port, self.tls_port = about["address"], about["port"], about["tls_port"]
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.terminate()
        self._process.wait()

    def routes(self, everything: bool = False) -> list[str]:
        """Rules for `--connect-to`: the hosts that are here, so that addresses in URLs mean what they say."""
        ports = [(80, self.port)] + ([(443, self.tls_port)] if self.tls_port else [])
        hosts = [*self.hosts, *self.others] if everything else self.hosts
        return [f"{host}:{port}:{self.address}:{own}" for host in hosts for port, own in ports]

    def clicks(self, since: float) -> str:
        """Rows of the readers' clicks from then until now."""
        asked = urllib.request.Request(
            f"http://{self.address}:{self.port}/clicks?since={since!r}", headers={"Host": "control.test"}
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.read().decode()


class Home:
    """A home in a folder, and the commands that work on it."""

    def __init__(self, folder: Path, routes: list[str], network: str = NETWORK, **settings: object) -> None:
        self.path = folder
        self.store = settings.get("store") or None  # elsewhere than in the folder
        folder.mkdir(parents=True, exist_ok=True)
        kept = {"connect-to": routes, "allow-private-addresses": [network], **settings}
        lines = [f"{name.replace('_', '-')} = {json.dumps(value)}" for name, value in kept.items()]
        (folder / "mayfly.toml").write_text("\n".join(lines) + "\n")

    def command(self, *words: object) -> list[str]:
        name, *rest = (str(word) for word in words)
        group = name.split()
        return [MAYFLY, *group, "--home", str(self.path), *rest]

    def run(self, *words: object, **more: object) -> subprocess.CompletedProcess[str]:
        """A command to its end."""
        return subprocess.run(self.command(*words), capture_output=True, text=True, **more)

    def must(self, *words: object) -> str:
        """The same, of a command that may not fail; what it printed."""
        done = self.run(*words)
        if done.returncode:
            sys.exit(
                f"{' '.join(done.args)} ended with {done.returncode}:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
            )
        return done.stdout

    def must_take(self, name: str, text: str) -> str:
        """A command that reads standard input, and may not fail."""
        done = self.run(name, "-", input=text)
        if done.returncode:
            sys.exit(f"mayfly {name} ended with {done.returncode}: {done.stderr[-3000:]}")
        return done.stdout

    def outside(self, *words: object) -> str:
        """A command that needs no home."""
        name, *rest = (str(word) for word in words)
        done = subprocess.run([MAYFLY, *name.split(), *rest], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"mayfly {name} ended with {done.returncode}: {done.stderr[-3000:]}")
        return done.stdout

    def start(self, *words: object, log: Path | None = None) -> subprocess.Popen[str]:
        """A command that runs on."""
        with (log or self.path.parent / "crawl.log").open("a") as file:
            process = subprocess.Popen(self.command(*words), stdout=file, stderr=file, text=True)
        atexit.register(process.kill)  # does nothing to one that has ended
        return process

    def find(self, hosts: list[str], *words: object) -> None:
        """Look for the sources of these hosts."""
        listed = self.path.parent / "hosts.txt"
        listed.write_text("\n".join(hosts) + "\n")
        self.must("find", "--file", listed, *words)

    def rows(self, *words: object) -> list[dict[str, object]]:
        """What a command prints as JSON, a row a line or all in one."""
        text = self.must(*words, "--json")
        if text.lstrip().startswith("["):
            return json.loads(text)
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def resident_megabytes(process: int, but: int = 0) -> float:
    """Memory of a process and of its children (`but` one), as far as they are there."""
    total, left = 0, [process]
    while left:
        one = left.pop()
        if one == but:
            continue
        try:
            status = Path(f"/proc/{one}/status").read_text()
            left += [int(child) for child in Path(f"/proc/{one}/task/{one}/children").read_text().split()]
        except (OSError, ValueError):
            continue
        total += next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")), 0)
    return total / 1000


def wait_for(process: subprocess.Popen[str], seconds: float, every: float, look) -> int | None:
    """Wait for the end of a process and look every so often; its status, or None if the time is up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            return process.wait(min(every, max(end - time.monotonic(), 0.01)))
        except subprocess.TimeoutExpired:
            look()
    return None


def finish(process: subprocess.Popen[str], seconds: float = 60.0) -> int:
    """Let a crawl end by itself; kill it if it does not."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, 9)
        process.wait()
        return -9
