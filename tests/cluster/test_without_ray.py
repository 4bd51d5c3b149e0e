"""A cluster's parts can be imported where Ray is not installed, and its commands where PostgreSQL's driver is not."""

import subprocess
import sys
from pathlib import Path

import pytest

import mayfly.cluster

MODULES = sorted(f"mayfly.cluster.{path.stem}" for path in Path(mayfly.cluster.__path__[0]).glob("[a-z]*.py"))


@pytest.mark.parametrize(
    ("missing", "modules"),
    [(["ray"], MODULES), (["ray", "asyncpg"], ["mayfly.cli.cluster", "mayfly.cluster.settings", "mayfly.cli.app"])],
)
def test_nothing_is_asked_for_before_it_is_needed(missing: list[str], modules: list[str]) -> None:
    assert len(MODULES) > 5
    code = f"import sys; sys.modules |= dict.fromkeys({missing!r}); import {', '.join(modules)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
