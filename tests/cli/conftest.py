"""What tests of the live commands share: the command run in this process, and a home of its own."""

import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from mayfly.cli import main


class Done(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("MAYFLY_"):
            monkeypatch.delenv(name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def command(capsys, monkeypatch, home):
    """Run a command on the home, in this process: much quicker than another one."""

    def run(*words: object) -> Done:
        monkeypatch.setenv("MAYFLY_HOME", str(home))
        monkeypatch.setattr(sys, "argv", ["mayfly", *map(str, words)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        return Done(status, *capsys.readouterr())

    return run
