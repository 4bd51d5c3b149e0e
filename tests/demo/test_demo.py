"""`mayfly demo`, whole: what it prints and leaves, and that nothing of it runs on. `-m "not trial"` leaves it out."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MAYFLY = [sys.executable, "-m", "mayfly"]


def running(folder: Path) -> list[int]:
    """Processes that were told this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in words and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def gone(folder: Path, seconds: float = 10.0) -> bool:
    """Whether all of them have ended, or do soon."""
    until = time.monotonic() + seconds
    while running(folder) and time.monotonic() < until:
        time.sleep(0.1)
    return not running(folder)


@pytest.mark.trial
def test_it_shows_the_whole_loop_and_leaves_nothing_running(tmp_path: Path) -> None:
    done = subprocess.run(
        [*MAYFLY, "demo", "--seconds", "25", "--out", "shown"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("A web of 40 hosts lives on this machine")
    assert re.search(r"Dashboard  http://127\.0\.0\.1:\d+/ops", done.stdout)
    for row in ("live", "bfs", "fixed-interval", "echo-newpages", "index", "upper bound"):
        assert re.search(rf"^{row} +\d+%", done.stdout, re.MULTILINE), row
    told = " ".join(done.stdout.split())
    asked = re.search(r"Readers came ([\d,]+) times for a page and found it ([\d,]+) times", told)
    came, found = (int(number.replace(",", "")) for number in asked.groups())
    assert 0 < found <= came
    assert (tmp_path / "shown" / "kept.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["shown"]
    assert gone(tmp_path)


@pytest.mark.trial
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends processes with their parent")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=lambda one: one.name)
def test_however_it_ends_nothing_runs_on(tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "shown"
    with (tmp_path / "said").open("w+") as said:
        demo = subprocess.Popen([*MAYFLY, "demo", "--out", str(folder)], stdout=said, stderr=said)
        until, seen = time.monotonic() + 60, 0
        while not (folder / "crawl.log").exists():
            assert demo.poll() is None and time.monotonic() < until, (tmp_path / "said").read_text()
            seen = seen if seen >= 3 else len(running(folder))
            time.sleep(0.001)  # to come while the crawl is being started
        assert seen >= 3
        demo.send_signal(how)
        demo.wait(60)
    assert demo.returncode != 0 and "Traceback" not in (tmp_path / "said").read_text()
    assert gone(folder)


def test_a_folder_that_is_not_of_a_demo_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("dear")
    done = subprocess.run([*MAYFLY, "demo", "--out", str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--out names another folder" in done.stderr
    assert (tmp_path / "mine.txt").read_text() == "dear"


def test_seeds_are_replayed_without_a_crawl(tmp_path: Path) -> None:
    words = ["demo", "--seeds", "2", "--seconds", "15", "--quiet"]
    done = subprocess.run([*MAYFLY, *words], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "seeds 1 to 2" in done.stdout.splitlines()[0]
    assert re.search(r"^index +0\.\d{3} ± 0\.\d{3} +0\.\d{3} 0\.\d{3}", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1].startswith("index keeps ")
    assert list(tmp_path.iterdir()) == []
