"""Every command explains itself, with an example of itself."""

import pytest
import typer.main
from typer.testing import CliRunner

from mayfly.cli.app import app


def commands(group, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, inner in group.commands.items():
        words = (*before, name)
        if not hasattr(inner, "commands") or inner.invoke_without_command:
            found.append(words)
        found += commands(inner, words) if hasattr(inner, "commands") else []
    return found


@pytest.mark.parametrize("words", commands(typer.main.get_command(app)), ids=" ".join)
def test_help_has_an_example(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*words, "--help"], prog_name="mayfly", terminal_width=200)
    assert done.exit_code == 0
    assert "Example: mayfly " + " ".join(words) in " ".join(done.output.split())
