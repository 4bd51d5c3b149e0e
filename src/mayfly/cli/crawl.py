"""`mayfly crawl`: find, recrawl, fetch, learn, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayfly.cli import words
from mayfly.cli.home import API, DEFAULT, Home, all_but, note_run, ready, store_of, takes_settings
from mayfly.crawl.settings import Settings

if TYPE_CHECKING:
    from mayfly.crawl.crawler import Crawler


@takes_settings(*all_but(API), "public-url")
def crawl(
    flags: dict[str, Any],
    home: Home = DEFAULT,
    for_: Annotated[str | None, typer.Option("--for", help="Stop after so long: 90s, 10m, 2h.")] = None,
) -> None:
    """Crawl: watch the sources, fetch new pages while they are worth it, learn what each source is worth.

    Ctrl-C finishes what is under way and stops; a second one stops at once. Start it again and it goes on.

    Example: mayfly crawl --budget 2 --for 2h
    """
    from mayfly.fetch.loop import run

    seconds = None if for_ is None else words.positive_duration(for_, "--for")
    settings, _ = ready(home, flags)
    run(_crawl(home, settings, seconds))


async def _crawl(home: Path, settings: Settings, seconds: float | None) -> None:
    from mayfly.cli.status import watching
    from mayfly.crawl.lock import locked

    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.INFO, stream=sys.stderr)
    with locked(home):
        note_run(home, settings)
        async with opened(home, settings) as crawler:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, crawler.stop)
            async with watching(crawler):
                await crawler.run(seconds)


def opened(home: Path, settings: Settings) -> AbstractAsyncContextManager[Crawler]:
    """A crawler on a home, with all it needs open."""
    from mayfly.crawl.opening import opened

    return opened(home, settings, store_of(home, settings, read_only=False, crawls=True))
