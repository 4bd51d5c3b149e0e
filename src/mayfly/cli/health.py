"""`mayfly health`: silent failures, for people and for cron."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

import typer

from mayfly.cli import home as homes
from mayfly.cli import options, words
from mayfly.cli.layers import resolve
from mayfly.core.model import Seconds
from mayfly.crawl.checkup import Checkup, look
from mayfly.crawl.health import Finding, several
from mayfly.crawl.settings import Settings
from mayfly.fetch.loop import run


def health(home: homes.Home = homes.DEFAULT, as_json: options.Json = False) -> None:
    """Say what fails silently: sources that should have shown something and did not, all-304, refusals, hosts down.

    Ends with status 0 if all is well and 1 if something needs attention, for cron.

    Example: mayfly health
    """
    settings, _ = resolve(home, {})
    now = time.time()
    found, watched = run(_look(home, settings, now))
    wrong = sum(finding.attention for finding in found)
    if as_json:
        typer.echo(words.dumps({"healthy": not wrong, "findings": [asdict(finding) for finding in found]}))
    elif found:
        for finding in found:
            _print(finding, now)
    if not as_json and not wrong:
        typer.echo(f"{several(watched, 'source')} watched; nothing needs attention.")
    raise typer.Exit(1 if wrong else 0)


async def _look(home: Path, settings: Settings, now: Seconds) -> Checkup:
    async with homes.store_of(home) as store:
        return await look(store, home, settings, now)


def _print(finding: Finding, now: Seconds) -> None:
    mark = "!" if finding.attention else "·"
    since = f", for {words.about(now - finding.since)}" if finding.since is not None else ""
    words.say(f"{mark} {finding.where}: {finding.what}{since}: {finding.says}.")
    words.say(f"    {finding.advice}")
