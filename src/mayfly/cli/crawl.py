"""`mayfly crawl`: find, recrawl, fetch, learn, until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayfly.cli import words
from mayfly.cli.home import API, DEFAULT, Home, all_but, note_run, ready, store_of, takes_settings
from mayfly.cli.network import AGENT, fetcher
from mayfly.crawl.settings import Settings

if TYPE_CHECKING:
    from mayfly.crawl.crawler import Crawler

WARC = "warc"


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


@contextlib.asynccontextmanager
async def opened(home: Path, settings: Settings) -> AsyncIterator[Crawler]:
    """A crawler on a home, with all it needs open."""
    from mayfly.crawl.crawler import Crawler
    from mayfly.fetch.answers import Limits
    from mayfly.fetch.readers import Readers

    most = int(settings.body_megabytes * 1e6)
    limits = Limits(seconds=settings.fetch_seconds, wire_bytes=most, body_bytes=2 * most)
    allowed = ",".join(settings.allow_private_addresses)
    going = fetcher(allowed, list(settings.connect_to), settings.contact or None, limits, settings.connections)
    archive = None
    if settings.warc:
        from mayfly.store.warc import WarcWriter

        archive = WarcWriter(home / WARC)
    try:
        kept = store_of(home, settings, read_only=False, crawls=True)
        async with kept as store, going as fetches, Readers(settings.readers) as readers:
            yield Crawler(home, settings, store, fetches, readers, AGENT, archive=archive)
    finally:
        if archive is not None:
            archive.close()
