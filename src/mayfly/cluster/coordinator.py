"""The coordinator: a price round every few seconds."""

from __future__ import annotations

import asyncio

from mayfly.cluster.settings import ClusterSettings
from mayfly.crawl.settings import Settings


class Coordinator:
    """Runs until it is stopped."""

    def __init__(self, settings: Settings, cluster: ClusterSettings) -> None:
        self._settings, self._cluster = settings, cluster
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Wait."""
        await self._stopping.wait()

    async def stop(self) -> None:
        """End it."""
        self._stopping.set()
