"""A shard: holds its lease row, again and again, until it is stopped."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mayfly.cluster.settings import ClusterSettings
from mayfly.crawl.settings import Settings

_RENEW = (
    "update cluster_shard set owner = $2, epoch = epoch + (owner <> $2)::int, reported_at = now(), "
    "lease_until = now() + $3 * interval '1 second' where number = $1 and (owner = $2 or lease_until < now())"
)


class Shard:
    """Holds a lease."""

    def __init__(self, home: Path, settings: Settings, cluster: ClusterSettings, number: int, owner: str) -> None:
        self._settings, self._cluster, self._number, self._owner = settings, cluster, number, owner
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Renew the lease until stopped."""
        import asyncpg

        held = await asyncpg.connect(self._settings.store)
        try:
            while not self._stopping.is_set():
                await held.execute(_RENEW, self._number, self._owner, self._cluster.lease)
                await asyncio.wait({asyncio.ensure_future(self._stopping.wait())}, timeout=0.5)
            await held.execute(
                "update cluster_shard set owner = '', lease_until = now() where number = $1 and owner = $2",
                self._number, self._owner,
            )  # fmt: skip
        finally:
            await held.close()

    async def stop(self) -> None:
        """Give the lease back."""
        self._stopping.set()

    def status(self) -> dict[str, Any]:
        """Its number and owner."""
        return {"number": self._number, "owner": self._owner}
