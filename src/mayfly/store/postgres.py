"""The store of many machines: PostgreSQL. On one machine it works, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mayfly.core.model import PageId, Seconds
from mayfly.store.postgres_database import PostgresDatabase
from mayfly.store.postgres_engine import PostgresEngine, crawled_by
from mayfly.store.postgres_schema import SHARDS
from mayfly.store.pruning import sweep
from mayfly.store.records import Complaint, Retention
from mayfly.store.table_store import TableStore
from mayfly.store.tables import checks, handing
from mayfly.store.tables.handing import Fate, Handed
from mayfly.store.thread import Fence, StoreThread

_SIZE = (
    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
    " WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
)

_LEARNED = (  # by a shard, or by one process
    "SELECT value FROM learned WHERE name IN ('page-values', 'page-values:' || shard_of(?)) ORDER BY name DESC LIMIT 1"
)


_UNOWNED = """
SELECT shard FROM leases WHERE shard >= 0 AND (owner = '' OR until < clock_timestamp())
AND EXISTS (SELECT FROM leases WHERE shard >= 0 AND owner <> '' AND until > clock_timestamp()) ORDER BY shard
"""


class PostgresStore(TableStore):
    """Implements `store.Store`; of one shard, if it is given a fence."""

    def __init__(
        self,
        url: str,
        *,
        read_only: bool = False,
        shards: int = SHARDS,
        fence: Fence | None = None,
        crawls: bool = False,
        **how: Any,
    ) -> None:
        engine = PostgresEngine(url, read_only, shards=shards, fence=fence, crawls=crawls, **how)
        self._name, self._fence, self._shards = engine.name, fence, shards
        self._thread: StoreThread[PostgresDatabase] = StoreThread(engine)
        super().__init__(self._thread)

    async def page_values(self, site: str = "") -> bytes | None:
        row = await self._read(lambda database: database.execute(_LEARNED, (site,)).fetchone())
        return None if row is None else bytes(row[0])

    async def handed_over(self) -> list[PageId]:
        """Pages of this shard that wait, found by others."""
        return await self._read(handing.handed_over)

    async def handed(self, pages: Sequence[PageId], waiting: bool = False) -> list[Handed]:
        """All that is to be known of some of those, or of others that others found; or of those that still wait."""
        which = handing.WAITING if waiting else "TRUE"
        return await self._read(lambda database: handing.some(database, pages, which))

    async def leads(self) -> list[tuple[PageId, int]]:
        """Pages of this shard that wait and that redirects from shard to shard led to, and how many of them."""
        return await self._read(handing.leads)

    async def add_hosts(self, at: Seconds, hosts: Sequence[str], led_by: str = "") -> None:
        if led_by:
            await self._write(lambda database: handing.lead_on(database, at, led_by, hosts))
        else:
            await super().add_hosts(at, hosts)

    async def landed(self) -> int:
        """The cursor behind all that became of pages so far."""
        return await self._read(handing.landed)

    async def fates(self, behind: int, since: Seconds) -> list[Fate]:
        """What became of pages that sources of this shard found for others since then, behind a cursor."""
        assert self._fence is not None, "only shards find pages for others"
        shard = self._fence.shard
        return await self._read(lambda database: handing.fates(database, shard, behind, since))

    async def crawled_by(self) -> str:
        return await self._read(crawled_by)

    async def unowned(self) -> list[int]:
        return await self._read(lambda database: [row[0] for row in database.execute(_UNOWNED)])

    async def stats(self) -> dict[str, float]:
        return await self._read(_stats)

    async def check(self) -> list[Complaint]:
        return await self._read(lambda database: checks.complaints(database, self._name))

    async def prune(self, now: Seconds, retention: Retention) -> dict[str, int]:
        if self._fence is not None and self._fence.shard:
            return {}  # the first shard does it for all
        return await sweep(self._thread, now, retention)  # autovacuum gives the space back


def _stats(database: PostgresDatabase) -> dict[str, float]:
    size = float(database.execute(_SIZE).get or 0)
    return checks.counts(database) | {"bytes": size, "free_bytes": 0, "wal_bytes": 0}
