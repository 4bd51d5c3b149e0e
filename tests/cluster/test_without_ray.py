"""A cluster's parts can be imported, and its settings read, where Ray is not installed."""

import subprocess
import sys
from pathlib import Path

import mayfly.cluster

MODULES = sorted(f"mayfly.cluster.{path.stem}" for path in Path(mayfly.cluster.__path__[0]).glob("[a-z]*.py"))
CODE = "import sys; sys.modules |= {'ray': None, 'asyncpg': None}; import " + ", ".join(
    [*MODULES, "mayfly.cli.cluster"]
)


def test_nothing_asks_for_ray_before_it_is_needed() -> None:
    assert len(MODULES) > 5
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
