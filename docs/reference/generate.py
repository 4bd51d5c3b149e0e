"""Writes commands.md from the commands' own help. A test fails when the two differ.

usage: python docs/reference/generate.py
"""

from pathlib import Path

import typer.main
from typer.testing import CliRunner

from mayfly.cli.app import app

HEAD = "# Commands\n\nWritten by `docs/reference/generate.py` from `--help`; do not edit.\n\n"
TAIL = """Exit status: 0; 1 if it failed; 2 if something wrong was asked, with one sentence that says what, and what
would be right.

Durations are written 90, 90s, 10m, 2h, 3d or 1w. Budgets are fetches per second, or a share of the trace's page rate
such as 0.22x. Moments (`--until`, `--window`) are seconds since 1970, or a duration from the start of the trace.
"""


def page() -> str:
    parts = [f"## mayfly {' '.join(words)}\n\n```\n{help_of(words)}\n```\n" for words in commands()]
    return HEAD + "\n".join(parts) + "\n" + TAIL


def commands(group=None, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The words of every command that does something."""
    found = []
    for name, inner in sorted((group or typer.main.get_command(app)).commands.items()):
        words = (*before, name)
        found += commands(inner, words) if hasattr(inner, "commands") else [words]
    return found


def help_of(words: tuple[str, ...]) -> str:
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name="mayfly", terminal_width=110).stdout
    return "\n".join(line.rstrip() for line in shown.strip().splitlines())


if __name__ == "__main__":
    Path(__file__).with_name("commands.md").write_text(page())
