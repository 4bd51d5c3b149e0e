"""The processes of the demo: the web, and the commands anyone would type. They end with it, however it ends."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from mayfly.core.model import Seconds
from mayfly.demo import scene
from mayfly.errors import RunError, UsageError
from mayfly.lab.trace import Trace, read_trace
from mayfly.testing.misbehaviour import MISBEHAVIOURS
from mayfly.testing.witness import Visit, read_journal

_MARK = ".mayfly-demo"  # a folder with this file in it is ours to empty
_PATIENCE: Seconds = 60.0  # for a process to start
_GRACE: Seconds = 5.0  # and to end when asked
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SET_DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG


class Stage:
    """A folder, a web in it, and a home for the crawl of that web."""

    def __init__(self, folder: Path, seed: int, seconds: Seconds) -> None:
        """The web has enough to show for so many seconds."""
        self.folder, self.home = folder, folder / "home"
        self._seed, self._seconds = seed, seconds
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Stage:
        _empty(self.folder)
        self.home.mkdir()
        try:
            self._open_web()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _open_web(self) -> None:
        """The test web, with the demo's newspapers; and what a home must know to crawl it."""
        asked = {
            "shape": scene.SHAPE_FILE, "seed": self._seed, "factor": scene.FACTOR, "head-start": scene.HEAD_START,
            "days": scene.days_of(self._seconds), "trace": self.folder / "trace", "journal": self._journal,
        }  # fmt: skip
        words = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
        self._start("web", [sys.executable, "-m", "mayfly.testing", *words])
        about = json.loads(self._line("web", re.compile(r"^\{.*\}$", re.MULTILINE)))
        self.newspapers: list[str] = about["hosts"]
        settings = {
            "contact": "https://example.org/the-demo-of-mayfly", "allow-private-addresses": ["127.0.0.0/8"],
            "connect-to": [f":80:{about['address']}:{about['port']}"], "budget": scene.BUDGET,
            "host-delay": scene.HOST_DELAY, "address-delay": 0, "log-push": scene.LOG_PUSH,
            "replan": scene.REPLAN, "bin": scene.BIN,
        }  # fmt: skip
        lines = (f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
        (self.home / "mayfly.toml").write_text(
            "# The demo's: an hour of its world takes 2.5 seconds.\n" + "".join(lines)
        )

    @property
    def _journal(self) -> Path:
        return self.folder / "requests.jsonl"

    def find(self) -> int:
        """Look for the sources of all hosts; how many there are."""
        hosts = [*self.newspapers, *(f"{name}.test" for name in scene.WRONG_HOSTS)]
        (self.folder / "hosts.txt").write_text("".join(f"{host}\n" for host in hosts))
        self._run("find", "--file", str(self.folder / "hosts.txt"), "--budget", "200")
        self._run("sources add", *(MISBEHAVIOURS[name].apart for name in scene.WRONG_SOURCES))
        return len(self._run("sources", "--json").splitlines())

    def crawl(self) -> None:
        """Start it; it goes on until the end."""
        self._start("crawl", _command("crawl", "--home", str(self.home)))

    def serve(self) -> str:
        """Start the reader and the dashboard; their address."""
        self._start("serve", _command("serve", "--home", str(self.home), "--bind", "127.0.0.1:0"))
        return self._line("serve", re.compile(r"http://[\d.:]+(?=/)"))

    def stop(self, name: str) -> None:
        """Ask a process to finish what it does and end; wait for it."""
        process = self._processes.pop(name)
        for _ in range(2):  # the second time at once, for some of its hosts never answer
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
                return
        process.kill()
        process.wait()

    def check(self) -> None:
        """That all that was started still runs."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise RunError(
                    f"the demo's {name} ended by itself, with status {process.returncode}:\n{self._said(name)}"
                )

    def visits(self, since: Seconds = 0.0) -> list[Visit]:
        """The requests the web has noted."""
        return read_journal(self._journal, since)

    def trace(self) -> Trace:
        """The web's own script."""
        return read_trace(self.folder / "trace")

    def health(self) -> list[dict[str, Any]]:
        """What `mayfly health` finds wrong."""
        found: list[dict[str, Any]] = json.loads(self._run("health", "--json", may_complain=True))["findings"]
        return found

    def _run(self, name: str, *words: str, may_complain: bool = False) -> str:
        """A command to its end; what it printed. One that `may_complain` ends with 1 when it found something."""
        done = subprocess.run(
            _command(*name.split(), "--home", str(self.home), *words),
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=_tied(),
        )
        if done.returncode and not (may_complain and done.returncode == 1):
            raise RunError(f"mayfly {name} ended with status {done.returncode}:\n{done.stderr.strip()[-2000:]}")
        return done.stdout

    def _start(self, name: str, command: list[str]) -> None:
        with self._log(name).open("wb") as log, _undisturbed():
            self._processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us: we end them in order
                preexec_fn=_tied(),
            )

    def _line(self, name: str, wanted: re.Pattern[str]) -> str:
        """What a process says once it is ready."""
        until = time.monotonic() + _PATIENCE
        while not (found := wanted.search(self._said(name))):
            self.check()
            if time.monotonic() > until:
                raise RunError(f"the demo's {name} is not ready after {_PATIENCE:.0f} s; it said:\n{self._said(name)}")
            time.sleep(0.05)
        return found[0]

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _said(self, name: str) -> str:
        return self._log(name).read_text(errors="replace")[-20_000:]

    def _end(self) -> None:
        for name in reversed(list(self._processes)):
            with contextlib.suppress(ProcessLookupError):
                self.stop(name)


def _command(*words: str) -> list[str]:
    """`mayfly`, by the interpreter we run in: the command itself may not be on the PATH."""
    return [sys.executable, "-m", "mayfly", *words]


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Who ends us waits until a process is started and known: what a signal raises within a fork is lost."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _tied() -> Callable[[], None]:
    """What a new process does first, so that even if we are killed nothing of ours runs on, where the system can."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    parent = os.getpid()

    def tie() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
        if libc is not None:
            libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # it was killed before we asked to be told
            os._exit(1)

    return tie


def _empty(folder: Path) -> None:
    """Make room for a demo where there is nothing, or only an earlier demo."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is no folder; --out names another")
    if folder.exists() and any(folder.iterdir()):
        if not (folder / _MARK).exists():
            raise UsageError(f"{folder} has something in it that is not of a demo; --out names another folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).write_text("Made by `mayfly demo`, and emptied by the next one.\n")
