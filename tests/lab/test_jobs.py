"""Finished runs come back exactly, are never mistaken for others, and are not run again."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from mayfly.lab import jobs as jobs_module
from mayfly.lab.compare import figures_of
from mayfly.lab.jobs import Job, Jobs
from mayfly.lab.replay import Settings, replay, report
from mayfly.lab.results import Results, fingerprint
from mayfly.lab.synthetic import make_world


@pytest.fixture
def settings(world) -> Settings:
    return Settings("index", 0.5 * world.page_rate, seed=2)


def test_a_run_comes_back_exactly(world, settings, tmp_path) -> None:
    run = replay(world, settings)
    results = Results(tmp_path)
    assert results.load(world, settings) is None
    results.save(run)
    back = results.load(world, settings)
    for column in ("at", "is_page", "id", "shown", "fetched", "dropped"):
        np.testing.assert_array_equal(getattr(back, column), getattr(run, column), err_msg=column)
    assert (back.prices, back.wall_seconds) == (run.prices, run.wall_seconds)
    assert report(back)[0] == report(run)[0]


def test_another_world_or_setting_is_another_run(world, settings, tmp_path) -> None:
    results = Results(tmp_path)
    results.save(replay(world, settings))
    assert results.load(world, replace(settings, seed=3)) is None
    assert results.load(world, replace(settings, estimator_options={"hope": 0.0})) is None
    later = replace(world, clicks=world.clicks._replace(at=world.clicks.at + 1))
    assert fingerprint(later) != fingerprint(world)
    assert results.load(later, settings) is None
    assert fingerprint(replace(world, name="renamed")) == fingerprint(world)


def test_a_broken_file_is_a_missing_one(world, settings, tmp_path) -> None:
    results = Results(tmp_path)
    results.save(replay(world, settings))
    (file,) = tmp_path.iterdir()
    for broken in (b"", b"nonsense", file.read_bytes()[:100]):
        file.write_bytes(broken)
        assert results.load(world, settings) is None


def test_what_is_kept_is_not_run_again(world, settings, tmp_path, monkeypatch) -> None:
    wanted = [Job(0, replace(settings, seed=seed)) for seed in (0, 1)]
    first = Jobs([world], 1, tmp_path).map(wanted, figures_of)
    monkeypatch.setattr(jobs_module, "replay", lambda *_: pytest.fail("it was run again"))
    ticks = []
    assert Jobs([world], 1, tmp_path).map(wanted, figures_of, ticks.append) == first
    assert ticks == wanted


def test_work_cut_short_goes_on_where_it_was(world, settings, tmp_path, monkeypatch) -> None:
    wanted = [Job(0, replace(settings, seed=seed)) for seed in range(4)]
    done = []

    def stop_after_two(job: Job) -> None:
        done.append(job)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Jobs([world], 1, tmp_path).map(wanted, figures_of, stop_after_two)
    kept = len(list(tmp_path.iterdir()))
    assert 2 <= kept < 4
    ran = []
    monkeypatch.setattr(jobs_module, "replay", lambda *words: ran.append(words) or replay(*words))
    Jobs([world], 1, tmp_path).map(wanted, figures_of)
    assert len(ran) == 4 - kept


def test_worlds_are_made_where_they_are_needed(tmp_path) -> None:
    from tests.conftest import TINY

    worlds = [partial(make_world, TINY, seed) for seed in (1, 2)]
    wanted = [Job(number, Settings("bfs", 0.001, seed=7)) for number in (0, 1)]
    shares = [figures["share"] for figures in Jobs(worlds, 2).map(wanted, figures_of)]
    alone = [report(replay(make_world(TINY, seed), Settings("bfs", 0.001, seed=7)))[0]["share"] for seed in (1, 2)]
    assert shares == alone


def test_workers_end_when_their_parent_is_killed(tmp_path) -> None:
    """They would wait for their next job for ever, and nobody would know of them."""
    (tmp_path / "work.py").write_text(
        "import os, time\n"
        "from mayfly.lab import jobs\n"
        "from mayfly.lab.replay import Settings\n"
        "def world():\n"
        "    open(f'{os.getpid()}.pid', 'w').close()\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    jobs.Jobs([world], 2).map([jobs.Job(0, Settings('bfs', 1.0))] * 2, len)\n"
    )
    parent = subprocess.Popen([sys.executable, "work.py"], cwd=tmp_path)
    try:
        workers = [int(file.stem) for file in eventually(lambda: list(tmp_path.glob("*.pid")), 2)]
    finally:
        parent.kill()
        parent.wait()
    gone = eventually(lambda: [pid for pid in workers if not is_alive(pid)], 2)
    assert sorted(gone) == sorted(workers)


def eventually(look, number: int) -> list:
    """What `look` sees once there are so many, or after twenty seconds."""
    until = time.monotonic() + 20
    while len(seen := look()) < number and time.monotonic() < until:
        time.sleep(0.05)
    return seen


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
