"""A local cluster as the home keeps it, and how its nodes are started; Ray itself runs in `test_ray.py`."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from mayfly.cluster import nodes
from mayfly.cluster.nodes import Local, Node
from mayfly.cluster.processes import Process
from mayfly.errors import RunError

RUNNING = Local(7001, "/tmp/x", (Node("head", "127.77.0.1"), Node("node-2", "127.77.0.3")))


def test_every_node_gets_a_name_and_an_address_that_are_free() -> None:
    added = nodes.more(RUNNING, 4)
    assert [node.name for node in added] == ["node-1", "node-3", "node-4"]
    assert len({node.ip for node in (*RUNNING.nodes, *added)}) == 5
    assert nodes.more(RUNNING, 1) == [] == nodes.more(RUNNING, 0)


def test_a_head_has_no_room_and_a_node_is_told_where_it_is() -> None:
    head, node = (nodes.command(RUNNING, one) for one in RUNNING.nodes)
    assert "--head" in head and "--num-cpus=0" in head and "--port=7001" in head
    assert "--address=127.77.0.1:7001" in node and '--resources={"mayfly": 10000}' in node
    assert {"--temp-dir=/tmp/x/head"} <= set(head) and {"--temp-dir=/tmp/x/node-2"} <= set(node)


def test_a_node_may_live_in_a_network_of_its_own() -> None:
    alone = Node("node-2", "10.77.0.12", netns="far")
    assert nodes.command(RUNNING, alone)[:4] == ["ip", "netns", "exec", "far"]
    assert "--node-ip-address=10.77.0.12" in nodes.command(RUNNING, alone)


def test_the_token_is_made_once_and_only_for_us(tmp_path) -> None:
    nodes._make_token(tmp_path)
    first = (tmp_path / nodes.TOKEN).read_text()
    nodes._make_token(tmp_path)
    assert (tmp_path / nodes.TOKEN).read_text() == first and len(first) == 64
    assert (tmp_path / nodes.TOKEN).stat().st_mode & 0o777 == 0o600
    told = nodes.environment(tmp_path)
    assert told["RAY_AUTH_MODE"] == "token" and told["RAY_AUTH_TOKEN_PATH"] == str(tmp_path / nodes.TOKEN)
    assert "RAY_AUTH_TOKEN_PATH" not in nodes.environment(tmp_path, "disabled")


def test_sockets_have_room_in_their_folder(monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/tmp/" + "x" * 80)
    folder = nodes._short_folder()
    os.rmdir(folder)
    assert len(folder) <= 40


def test_what_lives_is_known_again_and_what_does_not_is_forgotten(tmp_path) -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    mine = Process.of(sleeper.pid)
    gone = replace(RUNNING.nodes[1], process=Process(mine.pid, mine.started - 1))
    kept = Local(7001, str(tmp_path / "sockets"), (replace(RUNNING.nodes[0], process=mine), gone))
    nodes._keep(tmp_path, kept)
    found = nodes.local(tmp_path)
    assert found is not None and found.nodes == kept.nodes[:1] and found.address == "127.77.0.1:7001"
    nodes.end(tmp_path, found)
    sleeper.wait(5)
    assert not mine.lives and nodes.local(tmp_path) is None and not (tmp_path / nodes.FILE).exists()


def test_a_file_that_cannot_be_read_is_said(tmp_path) -> None:
    assert nodes.local(tmp_path) is None
    (tmp_path / nodes.FILE).write_text("{")
    with pytest.raises(RunError, match=r"cluster\.json cannot be read"):
        nodes.local(tmp_path)


def test_a_node_that_ends_at_once_is_said_with_its_last_words(tmp_path, monkeypatch) -> None:
    words = [sys.executable, "-c", "print('no room'); raise SystemExit(1)"]
    monkeypatch.setattr(nodes, "command", lambda running, node: words)
    with pytest.raises(RunError, match="Ray's head ended at once; it said last: no room"):
        nodes.start(tmp_path)
    assert nodes.local(tmp_path) is None and not (tmp_path / nodes.FILE).exists()


def test_nodes_that_do_not_come_up_leave_the_others_alone(tmp_path, monkeypatch) -> None:
    stays = [sys.executable, "-c", f"print({nodes._STARTED!r}, flush=True); import time; time.sleep(60)"]
    ends = [sys.executable, "-c", "print('no room'); raise SystemExit(1)"]
    monkeypatch.setattr(nodes, "command", lambda running, node: stays if node.name == "head" else ends)
    running = nodes.start(tmp_path)
    assert nodes.start(tmp_path) == running
    with pytest.raises(RunError, match="Ray's node-1 ended at once"):
        nodes.add(tmp_path, running, nodes.more(running, 2))
    assert nodes.local(tmp_path) == running
    nodes.end(tmp_path, running)
    assert running.nodes[0].process.family() == [] and not os.path.exists(running.folder)
