"""`mayfly health`: silent failures, for people and for cron."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from mayfly.cli import home as homes
from mayfly.cli import options, words
from mayfly.cli.layers import resolve
from mayfly.core.model import Seconds
from mayfly.crawl.checkup import Checkup, look
from mayfly.crawl.health import Finding, sentence, several
from mayfly.crawl.settings import Settings
from mayfly.fetch.loop import run

_APART = 5  # findings of a kind that are told one by one
_NAMED = 3


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
    else:
        _print(found, now)
    if not as_json and not wrong:
        typer.echo(f"{several(watched, 'source')} watched; nothing needs attention.")
    raise typer.Exit(1 if wrong else 0)


async def _look(home: Path, settings: Settings, now: Seconds) -> Checkup:
    async with homes.store_of(home, settings) as store:
        return await look(store, home, settings, now)


def _print(found: Sequence[Finding], now: Seconds) -> None:
    """A finding each; one line for many of a kind, as of a network with a thousand sources behind it."""
    kinds: dict[tuple[bool, str, str], list[Finding]] = defaultdict(list)
    for finding in found:
        kinds[finding.attention, finding.what, finding.reason].append(finding)
    for (attention, what, reason), its in kinds.items():
        mark = "!" if attention else "·"
        if len(its) <= _APART:
            for finding in its:
                since = f", for {words.about(now - finding.since)}" if finding.since is not None else ""
                words.say(f"{mark} {finding.where}: {what}{since}: {finding.says}.")
                words.say(f"    {finding.advice}")
            continue
        words.say(f"{mark} {len(its):,} times {what}{f': {sentence(reason)}' if reason else ''}.")
        some = ", ".join(finding.where for finding in its[:_NAMED])
        words.say(f"    {some} and {len(its) - _NAMED:,} more: mayfly health --json names all")
