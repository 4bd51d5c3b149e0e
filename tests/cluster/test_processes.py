"""Processes are known again, ended with all they started, and never mistaken for others."""

import os
import subprocess
import sys
import time

import pytest

from mayfly.cluster.processes import Process

if sys.platform != "linux":
    pytest.skip("processes are told apart by /proc", allow_module_level=True)

CHILD = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {inner!r}]); time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


@pytest.fixture
def family():
    """A leader with a child that does not hear SIGTERM."""
    leader = subprocess.Popen([sys.executable, "-c", CHILD.format(inner=DEAF)], start_new_session=True)
    known = Process.of(leader.pid)
    until = time.monotonic() + 20
    while len(known.family()) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    yield known
    known.end(1.0)
    leader.poll()


def test_the_end_of_a_process_is_that_of_its_family(family) -> None:
    members = family.family()
    assert family.lives and len(members) == 2
    family.end(0.3)
    assert not family.lives and family.family() == []


def test_a_family_is_found_when_its_leader_is_gone(family) -> None:
    os.kill(family.pid, 9)
    until = time.monotonic() + 10
    while family.lives and time.monotonic() < until:
        time.sleep(0.02)
    assert not family.lives and len(family.family()) == 1
    family.end(0.3)
    assert family.family() == []


def test_another_process_of_that_number_is_left_alone(family) -> None:
    other = Process(family.pid, family.started - 1)
    assert not other.lives and other.family() == []
    other.end(0.1)
    assert family.lives and len(family.family()) == 2
