"""The trial as the machine around it sees it: it must listen on nothing here, and leave no process behind."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from faults_stage import begun_in_namespaces
from live_judge import Table

from mayfly.cluster.processes import Process

LOG = "FAULTS_LOG"  # in the environment: where the trial writes what is not of its table
_LOOK_EVERY = 1.0
_GONE_WITHIN = 5.0
_LISTENS = "0A"
_PARENT, _STARTED = 1, 19  # fields of /proc/PID/stat behind the name
_LAST_WORDS = 20  # lines of the log that are shown where the trial broke off


def watched(words: list[str], within: float | None) -> int:
    """Run this program in namespaces and judge it from here; its exit status. `within`: seconds it may take."""
    handle, name = tempfile.mkstemp(prefix="faults-", suffix=".log")
    os.close(handle)
    log, begun, before = Path(name), time.monotonic(), listeners()
    trial = begun_in_namespaces(words, **{LOG: name})
    family, ours = set[Process](), set[str]()
    try:
        while trial.poll() is None:
            family |= descendants(trial.pid)
            new = {inode: where for inode, where in listeners().items() if inode not in before}
            ours |= {new[inode] for inode in new.keys() & sockets(family)} if new else set()
            time.sleep(_LOOK_EVERY)
    finally:
        if trial.poll() is None:
            trial.kill()
            trial.wait()
    table = Table("seen from outside its namespaces")
    table.most("new listeners there", len(ours), 0)
    table.most("processes left", len(left(family)), 0)
    seconds = time.monotonic() - begun
    table.say("seconds in all", seconds) if within is None else table.most("seconds in all", seconds, within)
    if ours:
        table.note(f"listened at {', '.join(sorted(ours))}")
    if table.ok and trial.returncode == 0:
        log.unlink()
        return 0
    if trial.returncode not in (0, 1) or "Traceback" in log.read_text(errors="replace"):
        table.note("\n".join(log.read_text(errors="replace").splitlines()[-_LAST_WORDS:]))
    table.note(f"what Ray and the trial said is in {log}")
    return trial.returncode or 1


def listeners() -> dict[str, str]:
    """Sockets of this network namespace that listen, by their inodes."""
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS:
                found[fields[9]] = f"{table} {fields[1]}"
    return found


def sockets(processes: set[Process]) -> set[str]:
    """Inodes of all sockets they hold."""
    found = set()
    for process in processes:
        try:
            held = [os.readlink(entry) for entry in Path(f"/proc/{process.pid}/fd").iterdir()]
        except OSError:
            continue  # it has ended
        found |= {name.removeprefix("socket:[").rstrip("]") for name in held if name.startswith("socket:[")}
    return found


def descendants(pid: int) -> set[Process]:
    """All processes below one, and itself."""
    parents, started = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)], started[int(entry.name)] = int(fields[_PARENT]), int(fields[_STARTED])
    found, before = {pid} & started.keys(), set[int]()
    while found != before:
        before = set(found)
        found |= {child for child, parent in parents.items() if parent in before}
    return {Process(one, started[one]) for one in found}


def left(family: set[Process]) -> list[Process]:
    """Those that live on; the last ones are given a moment."""
    until = time.monotonic() + _GONE_WITHIN
    while (living := [one for one in family if one.lives]) and time.monotonic() < until:
        time.sleep(0.1)
    return living
