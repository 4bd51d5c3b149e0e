"""What tests share: small worlds on disk, the shared traces where they are, a way to run the command."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from mayfly.lab.synthetic import Shape, make_world
from mayfly.lab.trace import Trace, write_trace

SHARED = Path(__file__).resolve().parents[2] / "shared"
TINY = Shape(hosts=4, sources_per_host=5, pages=900, days=6.0)


@pytest.fixture(scope="session")
def world() -> Trace:
    return make_world(TINY, seed=3)


@pytest.fixture(scope="session")
def folder(world: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "tiny"
    write_trace(world, path)
    return path


@pytest.fixture(scope="session")
def judge():
    return _load(Path(__file__).parent / "judge.py").judge


@pytest.fixture(scope="session")
def shared_judge():
    path = SHARED / "tools" / "judge.py"
    if not path.exists():
        pytest.skip("the shared judge is not beside this checkout")
    return _load(path).audit


@pytest.fixture
def mayfly():
    """Run the command as people do: exit status, what it printed, what it complained of."""

    def run(*words: str, **options) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from mayfly.cli import main; main()", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)

    return run


def _load(path: Path):
    spec = importlib.util.spec_from_file_location(f"judge_{path.parent.name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
