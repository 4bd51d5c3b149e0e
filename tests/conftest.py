"""What tests share: small worlds on disk, the shared traces where they are, a way to run the command."""

import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from mayfly.cli import main
from mayfly.core.model import DAY
from mayfly.lab.shapes import Publishers, Shape
from mayfly.lab.synthetic import make_world
from mayfly.lab.trace import Trace, write_trace
from mayfly.testing.postgres import Postgres

settings.register_profile("usual", deadline=None)  # a busy machine is no error
settings.load_profile("usual")
settings.register_profile("thorough", max_examples=3000, deadline=None)  # for `make fuzz`
SHARED = Path(__file__).resolve().parents[2] / "shared"
TINY = Shape(
    {"news": Publishers(hosts=4, pages_per_day=37.5, sections=3, others=0)},
    days=6.0,
    clicks_per_second=2700 / (6 * DAY),
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Of `-n auto`. Two for each core, for many tests crawl, and crawls mostly wait."""
    return 2 * (os.cpu_count() or 1)


@pytest.fixture(scope="session", autouse=True)
def cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Finished runs are kept in the user's cache folder; tests neither read nor fill that of whoever runs them."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server of this test process."""
    server = Postgres()
    try:
        server.start()
        yield server
    finally:
        server.end()


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
def mayfly(capfd, monkeypatch):
    """Run a command: exit status, what it printed, what it complained of.

    In this process: another takes longer to start than most commands to do their work.
    """

    def run(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["mayfly", *map(str, words)])
        with contextlib.chdir(cwd or "."), pytest.raises(SystemExit) as end:
            main()
        return subprocess.CompletedProcess(sys.argv, end.value.code or 0, *capfd.readouterr())

    return run


def _load(path: Path):
    spec = importlib.util.spec_from_file_location(f"judge_{path.parent.name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
