"""A crawler with all it needs open."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from mayfly.crawl.crawler import Crawler
from mayfly.crawl.settings import WARC, Settings
from mayfly.crawl.territory import ALL, Territory
from mayfly.fetch.addresses import ConnectTo, Routes, Vetting
from mayfly.fetch.agent import AGENT, user_agent
from mayfly.fetch.answers import Limits
from mayfly.fetch.http import Fetcher
from mayfly.fetch.readers import Readers
from mayfly.store.store import Store
from mayfly.store.warc import WarcWriter


@contextlib.asynccontextmanager
async def opened(
    home: Path, settings: Settings, store: Store, territory: Territory = ALL, part: str = ""
) -> AsyncIterator[Crawler]:
    """A crawler on a home and a store, which is opened and closed with it; or one that is a part of a crawl."""
    archive = WarcWriter(home / WARC, part=part) if settings.warc else None
    if part:
        home = home / f"shard-{part}"
        home.mkdir(parents=True, exist_ok=True)
    going = fetcher_of(settings, territory)
    try:
        async with store, going as fetcher, Readers(settings.readers) as readers:
            yield Crawler(home, settings, store, fetcher, readers, AGENT, archive=archive, territory=territory)
    finally:
        if archive is not None:
            archive.close()


def fetcher_of(settings: Settings, territory: Territory = ALL) -> Fetcher:
    """A fetcher as the settings say."""
    most = int(settings.body_megabytes * 1e6)
    seconds = min(settings.fetch_seconds, territory.fetch_seconds or settings.fetch_seconds)
    return Fetcher(
        user_agent(settings.contact or None),
        limits=Limits(seconds=seconds, wire_bytes=most, body_bytes=2 * most),
        connections=settings.connections,
        vetting=Vetting(settings.allow_private_addresses),
        routes=Routes([ConnectTo.parse(rule) for rule in settings.connect_to]),
        may_send=territory.holds,
    )
