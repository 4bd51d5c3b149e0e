"""How a trial is asked for and run: by name, in a folder that is removed unless it is to be kept."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from live_judge import Table

Trial = Callable[[Path, argparse.Namespace, Table], None]


def parser_of(name: str, about: str | None, trials: Mapping[str, Trial]) -> argparse.ArgumentParser:
    """With what all trials may be told."""
    parser = argparse.ArgumentParser(name, description=about, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("trial", choices=trials)
    parser.add_argument("--seconds", type=float, help="how long to crawl, or to storm")
    parser.add_argument("--hosts", type=int, help="newspapers of the test web")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, help="fetches per second")
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it; else in a temporary one")
    return parser


def judged(trial: Trial, asked: argparse.Namespace) -> int:
    """Run it; the exit status: 0 if every limit was kept."""
    table = Table(" ".join([Path(sys.argv[0]).name, *sys.argv[1:]]))
    if asked.keep:
        shutil.rmtree(asked.keep, ignore_errors=True)
        asked.keep.mkdir(parents=True)
        trial(asked.keep, asked, table)
    else:
        with tempfile.TemporaryDirectory() as folder:
            trial(Path(folder), asked, table)
    return 0 if table.ok else 1
