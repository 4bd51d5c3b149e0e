"""The units are what systemd takes, and what they run is there."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer.main

from mayfly.cli import layers
from mayfly.cli.app import app
from mayfly.cluster import nodes
from mayfly.cluster.settings import ClusterSettings

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
BIN = "/opt/mayfly/bin/"


def commands(unit: Path) -> list[list[str]]:
    found = re.findall(r"^Exec\w+=-?(.*)$", unit.read_text(), re.MULTILINE)
    return [words(line) for line in found]


def words(line: str) -> list[str]:
    """As systemd.service(5) has it: quotes are around a whole word, and a backslash within double ones escapes."""
    word = r'"(?:[^"\\]|\\["\\])*"|\'[^\'\\]*\'|[^\s"\'\\]+'
    assert re.fullmatch(rf"(?:{word})(?: (?:{word}))*", line), f"not as systemd splits words: {line}"
    bare = [found[1:-1] if found[0] in "\"'" else found for found in re.findall(word, line)]
    return [re.sub(r"\\(.)", r"\1", found) for found in bare]


def variables() -> dict[str, str]:
    lines = (FOLDER / "cluster.env").read_text().splitlines()
    pairs = [shlex.split(line) for line in lines if line and not line.startswith("#")]  # shells read it, too
    return dict(pair.split("=", 1) for (pair,) in pairs)


def test_systemd_takes_them(tmp_path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here (Debian package systemd)")
    for unit in UNITS:  # what they run is not installed where tests are
        (tmp_path / unit.name).write_text(re.sub(rf"{BIN}\w+", shutil.which("true"), unit.read_text()))
    names = [str(tmp_path / unit.name) for unit in UNITS]
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *names], capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "mayfly-" in line]
    assert done.returncode == 0 and not said, done.stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_what_they_run_is_there(unit) -> None:
    for program, *words in commands(unit):
        assert program.startswith(BIN)
        if program == f"{BIN}mayfly":
            command = typer.main.get_command(app)
            while hasattr(command, "commands"):
                command = command.commands[words.pop(0)]
            known = {name for option in command.params for name in option.opts}
            assert {word for word in words if word.startswith("--")} <= known


def test_a_quote_within_a_word_is_none_to_systemd() -> None:
    assert words(r'run "--as={\"a\": 1}" plain') == ["run", '--as={"a": 1}', "plain"]
    with pytest.raises(AssertionError):
        words("run --as='{\"a\": 1}'")


def test_nodes_take_shards_and_the_head_does_not() -> None:
    head, node = (commands(FOLDER / f"mayfly-{which}.service")[0] for which in ("head", "node"))
    assert "--num-cpus=0" in head and not any(word.startswith("--resources") for word in head)
    assert f'--resources={{"{nodes.RESOURCE}": 10000}}' in node and "--address=${HEAD}" in node


def test_a_node_has_time_to_empty_itself() -> None:
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", (FOLDER / "mayfly-node.service").read_text(), re.MULTILINE)
    assert int(seconds) >= int(variables()["MAYFLY_CLUSTER_SHARDS"]) * ClusterSettings().fetch_seconds


def test_settings_are_those_there_are(tmp_path, monkeypatch) -> None:
    told = variables()
    with monkeypatch.context() as patch:
        for name, value in told.items():
            patch.setenv(name, value)
        assert layers.resolve(tmp_path, {})[0].store.startswith("postgresql://")
        cluster, _ = layers.resolve_cluster(tmp_path, {})
    assert (cluster.address, cluster.shards) == (told["HEAD"], 64)
    wanted = nodes.environment(tmp_path) | {"RAY_AUTH_TOKEN_PATH": told["RAY_AUTH_TOKEN_PATH"]}
    assert {name: value for name, value in told.items() if name.startswith("RAY_")} == wanted
