"""What `mayfly demo` does. Apart from its command, for it loads half of the house, and every command would wait."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import textwrap
import time
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import typer

from mayfly.cli import words
from mayfly.core.model import Seconds
from mayfly.demo import scene, story, verdict
from mayfly.demo.readers import Readers, wishes
from mayfly.demo.stage import Stage
from mayfly.demo.verdict import Kept
from mayfly.errors import UsageError
from mayfly.lab.plots import draw_kept
from mayfly.lab.trace import Trace

Tell: TypeAlias = Callable[[str], None]
_KEPT_FOR: Seconds = 3600.0  # the world goes on for so long with --keep
_SLACK: Seconds = 60.0  # of the world, for `find`, and for slow machines


def show(out: Path, seed: int, seconds: Seconds, keep: bool, quiet: bool, browser: bool) -> None:
    """The loop, live, and what it was worth."""
    tell = _silence if quiet else _say
    with _ended_by_signals(), Stage(out, seed, _SLACK + seconds + (_KEPT_FOR if keep else 0.0)) as stage:
        asyncio.run(_show(stage, seed, seconds, keep, tell, browser and not quiet and _has_screen()))


async def _show(stage: Stage, seed: int, seconds: Seconds, keep: bool, tell: Tell, browser: bool) -> None:
    tell(story.opening(stage.newspapers))
    sources = stage.find()
    address = stage.serve()
    stage.crawl()
    tell(
        f"$ mayfly find --file {stage.folder / 'hosts.txt'}\n"
        f"$ mayfly crawl --budget {scene.BUDGET:g}\n$ mayfly serve\n\n"
        f"Dashboard  {address}/ops\nReader     {address}/"
    )
    if browser:
        webbrowser.open(f"{address}/ops")
    trace, began = stage.trace(), await _first_request(stage)
    readers = Readers(address, wishes(trace, seed, began))
    reading = asyncio.create_task(readers.go_on())
    await _watch(stage, began + seconds)
    if not keep:
        stage.stop("crawl")
        reading.cancel()
    played = scene.scene_of(trace, began, seconds)
    visits = [visit for visit in stage.visits(began) if visit.at < played.end]
    crawl = verdict.live(played, visits)
    rows = [crawl, *await asyncio.to_thread(verdict.replayed, played, len(visits) / seconds, seed)]
    for sentence in story.what_happened(played, visits, crawl, sources, readers):
        tell(sentence)
    tell("By the web's own script, of all clicks on pages that appeared after the first third, with as many fetches:")
    words.print_table(story.headings(), story.table(played, rows))
    tell(story.gains({row.name: np.array([row.share]) for row in rows}))
    tell(_drawn(stage, played, rows))
    if keep:
        tell(f"All of it goes on, for an hour or until Ctrl-C: {address}/ops")
        await reading


async def _first_request(stage: Stage) -> Seconds:
    """When the crawl begins: a process takes a while to start."""
    since = time.time()
    while not (visits := stage.visits(since)):
        stage.check()
        await asyncio.sleep(0.1)
    return visits[0].at


async def _watch(stage: Stage, until: Seconds) -> None:
    """Wait, with a bar, and see that nothing has ended."""
    left = until - time.time()
    with words.progress("crawling", left) as bar:
        while (now := time.time()) < until:
            stage.check()
            await asyncio.sleep(min(0.5, until - now))
            bar(time.time() - now)


def _drawn(stage: Stage, played: Trace, rows: list[Kept]) -> str:
    picture = stage.folder / "kept.png"
    curves = {row.name: verdict.over_time(played, row.fetched) for row in rows}
    bound = verdict.over_time(played, played.published)
    try:
        draw_kept({row.name: row.share for row in rows}, curves, bound, picture)
    except UsageError as missing:
        return f"No picture: {missing}."
    return (
        f"As a picture: {picture}. The crawl is in {stage.home} (mayfly sources --home {stage.home} shows what it "
        f"believes, mayfly health what is wrong), the script in {stage.folder / 'trace'} (mayfly lab run)."
    )


def compare(seeds: range, seconds: Seconds, quiet: bool) -> None:
    """The same policies in worlds of several seeds, by replay alone."""
    tell = _silence if quiet else _say
    shares: dict[str, list[float]] = {policy: [] for policy in verdict.POLICIES}
    tell(f"Worlds of {len(seeds)} seeds, {seconds:g} seconds each, replayed with {scene.BUDGET:g} fetches a second:")
    with words.progress("replays", len(seeds) * len(shares)) as bar:
        for seed in seeds:
            for row in verdict.replayed(scene.world_of(seed, seconds), scene.BUDGET, seed, lambda policy: bar(1)):
                shares[row.name].append(row.share)
    columns = {policy: np.array(some) for policy, some in shares.items()}
    rows = [
        (name, f"{some.mean():.3f} ± {some.std():.3f}", " ".join(f"{one:.3f}" for one in some), verdict.POLICIES[name])
        for name, some in columns.items()
    ]
    rows.append(("upper bound", "1", "", "every page as it appears"))
    words.print_table(("", "share of clicks kept", f"seeds {seeds[0]} to {seeds[-1]}", ""), rows)
    words.say(story.gains(columns))


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Whoever ends us ends all of it: a signal becomes an exception, after which everything is closed."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)  # as a shell counts it; no task of the loop holds it back

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _has_screen() -> bool:
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _say(text: str) -> None:
    wide = min(shutil.get_terminal_size((100, 24)).columns, 100)
    lines = (textwrap.fill(line, wide, break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    typer.echo("\n".join(lines) + "\n")


def _silence(text: str) -> None:
    """Nothing is told."""
