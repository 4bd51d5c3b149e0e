"""`mayfly demo`: the paper's policies and ours on a small built-in world."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from mayfly.cli import words
from mayfly.core.policies import PAPER_POLICIES
from mayfly.lab.compare import as_rows, compare, headings
from mayfly.lab.jobs import Jobs
from mayfly.lab.plots import draw_shares
from mayfly.lab.replay import Settings
from mayfly.lab.shapes import Shape
from mayfly.lab.synthetic import make_world

_POLICIES = (*PAPER_POLICIES, "fixed-interval", "index")  # all would take a minute
_BUDGETS = (0.22, 0.44, 0.87)  # of the page rate, as in the paper


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("mayfly-demo"),
    seed: Annotated[int, typer.Option(help="Another seed is another world.")] = 1,
) -> None:
    """Replay the paper's policies and ours on a small made-up world and draw what each keeps.

    No internet, under a minute.

    Example: mayfly demo --seed 2
    """
    world = make_world(Shape(), seed)
    typer.echo(
        f"A made-up world: {len(set(world.hosts))} hosts, {len(world.source_ids)} sources, {len(world.page_ids):,} new "
        f"pages in {Shape().days:g} days.\nEvery policy gets the same few fetches; who keeps most clicks?\n"
    )
    budgets = [share * world.page_rate for share in _BUDGETS]
    with words.progress("replays", len(_POLICIES) * sum(budgets)) as bar:
        cells = compare(
            Jobs([world], os.cpu_count() or 1),
            [(0, 0)],
            Settings("index", budgets[0]),
            _POLICIES,
            budgets,
            done=lambda job: bar(job.settings.budget),
        )
    words.print_table(headings(), as_rows(cells, world.page_rate))
    out.mkdir(parents=True, exist_ok=True)
    figure = out / "policies.png"
    draw_shares(cells, "Clicks kept on a made-up world, by policy and budget", figure)
    typer.echo(f"\nThe figure is in {figure}.")
