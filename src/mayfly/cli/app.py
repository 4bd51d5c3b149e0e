"""The commands, and how they end: 0, 1 (it failed) or 2 (something wrong was asked), in one sentence."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

import mayfly
from mayfly.cli import (
    clicks,
    cluster,
    config,
    crawl,
    demo,
    doctor,
    experiments,
    export,
    find,
    health,
    inspect,
    lab,
    pages,
    plan,
    record,
    scale,
    serve,
    sources,
    store,
    study,
    why,
    words,
)
from mayfly.errors import MayflyError

app = typer.Typer(
    name="mayfly",
    help="A crawler for content that is worth something today.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for experiment in (experiments.table, experiments.sweep, experiments.figures, record.record, scale.scale):
    lab.app.command()(experiment)
app.add_typer(lab.app, name="lab")
app.add_typer(sources.app, name="sources")
app.add_typer(store.app, name="store")
app.add_typer(study.app, name="study")
app.add_typer(cluster.app, name="cluster")
for command in (
    demo.demo,
    plan.plan,
    inspect.inspect,
    find.find,
    crawl.crawl,
    config.config,
    pages.pages,
    export.export,
    why.why,
    health.health,
    doctor.doctor,
    clicks.clicks,
    serve.serve,
):
    app.command(help=command.__doc__)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(mayfly.__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """A crawler for content that is worth something today."""


def main() -> None:
    """Run the command line; an error of ours is one sentence, not a traceback."""
    try:
        app()
    except MayflyError as error:
        words.say(f"mayfly: {error}", err=True)
        sys.exit(error.exit_status)
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
