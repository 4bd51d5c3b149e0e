"""Writes commands.md from the commands' own help, settings.md and reasons.md; a test holds them to the code.

usage: python docs/reference/generate.py
"""

from pathlib import Path

import typer.main
from typer.testing import CliRunner

from mayfly.cli.app import app
from mayfly.cli.home import GROUPS
from mayfly.cli.layers import CLUSTER, SETTINGS, shown
from mayfly.fetch.reasons import Reason

HEAD = "# Commands\n\nWritten by `docs/reference/generate.py` from `--help`; do not edit.\n\n"
TAIL = """Exit status: 0; 1 if it failed; 2 if something wrong was asked, with one sentence that says what, and what
would be right.

Durations are written 90, 90s, 10m, 2h, 3d or 1w. Budgets are fetches per second, or a share of the trace's page rate
such as 0.22x. Moments (`--until`, `--window`) are seconds since 1970, or a duration from the start of the trace.
"""


REASONS = """# Why a fetch brought nothing

Written by `docs/reference/generate.py` from `mayfly/fetch/reasons.py`; do not edit.

Every failure has one of these names, in logs, in the store and in what commands print. *Again*: whether the same
request may well succeed later, and so is worth another try.

| reason | again | meaning |
|---|---|---|
"""


SETTINGS_HEAD = """# Settings

Written by `docs/reference/generate.py` from `mayfly/crawl/settings.py` and `mayfly/cluster/settings.py`; do not edit.
[How they are set](../how-to/settings.md).
"""
MANY = """
## Many machines

These stand in the file's table `[cluster]`, at its end; in the environment `lease` is `MAYFLY_CLUSTER_LEASE`, and
`mayfly cluster up` takes them as flags. A fetch must end within the margin, and the margin within the lease.
[How to run on many machines](../how-to/run-on-many-machines.md).

| setting | default | meaning |
|---|---|---|
"""


def commands_page() -> str:
    parts = [f"## mayfly {' '.join(words)}\n\n```\n{help_of(words)}\n```\n" for words in commands()]
    return HEAD + "\n".join(parts) + "\n" + TAIL


def reasons_page() -> str:
    rows = [f"| `{reason}` | {'yes' if reason.again else 'no'} | {reason.sentence} |\n" for reason in Reason]
    return REASONS + "".join(rows)


def settings_page() -> str:
    parts = [SETTINGS_HEAD]
    for setting in SETTINGS.values():
        if setting.name in GROUPS:
            parts.append(f"\n## {GROUPS[setting.name]}\n\n| setting | default | meaning |\n|---|---|---|\n")
        parts.append(_row(setting))
    return "".join([*parts, MANY, *map(_row, CLUSTER.values())])


def _row(setting) -> str:
    return f"| `{setting.key}` | {shown(setting, setting.default)} | {setting.help.replace('*', chr(92) + '*')} |\n"


def commands(group=None, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The words of every command that does something."""
    found = []
    for name, inner in sorted((group or typer.main.get_command(app)).commands.items()):
        words = (*before, name)
        if not hasattr(inner, "commands") or inner.invoke_without_command:
            found.append(words)
        if hasattr(inner, "commands"):
            found += commands(inner, words)
    return found


def help_of(words: tuple[str, ...]) -> str:
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name="mayfly", terminal_width=110).stdout
    return "\n".join(line.rstrip() for line in shown.strip().splitlines())


PAGES = {"commands.md": commands_page, "settings.md": settings_page, "reasons.md": reasons_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        Path(__file__).with_name(name).write_text(page())
