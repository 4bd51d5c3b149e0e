"""`mayfly demo`: all policies on a small built-in world."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from mayfly.cli import words
from mayfly.lab.compare import ALL_POLICIES, HEADINGS, as_rows, compare
from mayfly.lab.plots import draw_shares
from mayfly.lab.replay import Settings
from mayfly.lab.synthetic import Shape, make_world

_BUDGETS = (0.22, 0.44, 0.87)  # of the page rate, as in the paper


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("mayfly-demo"),
    seed: Annotated[int, typer.Option(help="Another seed is another world.")] = 1,
) -> None:
    """Replay every policy on a small made-up world and draw what each keeps. No internet, under a minute.

    Example: mayfly demo --seed 2
    """
    shape = Shape()
    typer.echo(
        f"A made-up world: {shape.hosts} hosts, {shape.hosts * shape.sources_per_host} sources, {shape.pages:,} new "
        f"pages in {shape.days:g} days.\nEvery policy gets the same few fetches; who keeps most clicks?\n"
    )
    world = make_world(shape, seed)
    budgets = [share * world.page_rate for share in _BUDGETS]
    with words.progress("replays", len(ALL_POLICIES) * len(budgets)) as (bar, task):
        cells = compare(
            world,
            Settings("index", budgets[0]),
            ALL_POLICIES,
            budgets,
            [0],
            jobs=os.cpu_count() or 1,
            done=lambda: bar.advance(task),
        )
    words.print_table(HEADINGS, as_rows(cells, world.page_rate))
    out.mkdir(parents=True, exist_ok=True)
    figure = out / "policies.png"
    draw_shares(cells, "Clicks kept on a made-up world, by policy and budget", figure)
    typer.echo(f"\nThe figure is in {figure}.")
