"""One crawl per home: a lock that says who holds it, and is free again however its holder ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from mayfly.core.model import Seconds
from mayfly.errors import BeingCrawled, RunError

FILE = "crawl.lock"
BEAT = "crawl.beat"
_TRIES = 5


@contextlib.contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold the home, or raise `BeingCrawled`."""
    path = home / FILE
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RunError(f"cannot write in {home}: {error.strerror}; give --home a folder you may write to") from None
    try:
        if not _taken(file):
            raise BeingCrawled(
                f"{home} is being crawled by {holder(home) or 'another process'}; stop that one first"
            ) from None
        os.ftruncate(file, 0)
        os.write(file, f"process {os.getpid()} on {socket.gethostname()}".encode())
        yield
    finally:
        os.close(file)  # which frees it; the file stays, for a new one could be locked by two


def _taken(file: int) -> bool:
    """Take the lock; whoever only looks at it holds it for a moment."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False


def beat(home: Path) -> None:
    """Say that someone crawls, for whoever comes next."""
    with contextlib.suppress(OSError):  # a full disk is noticed elsewhere
        (home / BEAT).touch()


def last_beat(home: Path) -> Seconds | None:
    """When someone crawled last, by the clock of the disk."""
    try:
        return (home / BEAT).stat().st_mtime
    except OSError:
        return None


def holder(home: Path) -> str:
    """Who crawls this home now; empty: nobody."""
    path = home / FILE
    try:
        with path.open("rb+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return file.read().decode("utf-8", "replace")
    except OSError:
        pass
    return ""
