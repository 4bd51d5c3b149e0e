"""`mayfly demo`: the whole loop on this machine, and what it was worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mayfly.demo import SECONDS


def demo(
    out: Annotated[Path, typer.Option(help="Folder for all it writes.")] = Path("mayfly-demo"),
    seed: Annotated[int, typer.Option(help="Another seed is another world.")] = 1,
    seconds: Annotated[float, typer.Option(help="How long to crawl.", min=10)] = SECONDS,
    keep: Annotated[bool, typer.Option("--keep", help="Let it go on afterwards, until Ctrl-C.")] = False,
    seeds: Annotated[
        int, typer.Option(help="Only compare the policies, by replay, in so many such worlds; no crawl.", min=1)
    ] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the table alone.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the dashboard where there is a screen.")] = True,
) -> None:
    """Show the whole loop on this machine in two minutes, without the internet.

    A web of 40 hosts lives on loopback; its time runs fast. Mayfly finds its sources and crawls them, with a quarter of
    the fetches that everything would take, while readers search and click. At the end: what was kept of what they
    wanted, and what other policies would have kept with as many fetches.

    Example: mayfly demo --keep
    """
    from mayfly.cli.showing import compare, show  # it loads half of the house

    if seeds > 1:
        compare(range(seed, seed + seeds), seconds, quiet)
    else:
        show(out, seed, seconds, keep, quiet, browser)
