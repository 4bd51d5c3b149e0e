"""The store of one machine: a file of SQLite."""

from __future__ import annotations

from pathlib import Path

from mayfly.core.model import Seconds
from mayfly.store import sqlite_care as care
from mayfly.store.connection import SqliteDatabase, SqliteEngine
from mayfly.store.pruning import sweep
from mayfly.store.records import Complaint, Retention
from mayfly.store.table_store import TableStore
from mayfly.store.thread import StoreThread

_MOST_MERGES = 1000


class SqliteStore(TableStore):
    """Implements `store.Store`."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._thread: StoreThread[SqliteDatabase] = StoreThread(SqliteEngine(path, read_only))
        super().__init__(self._thread)

    async def crawled_by(self) -> str:
        return ""  # the home's lock knows

    async def unowned(self) -> list[int]:
        return []

    async def stats(self) -> dict[str, float]:
        return await self._read(care.stats)

    async def check(self) -> list[Complaint]:
        return await self._read(care.complaints)

    async def prune(self, now: Seconds, retention: Retention) -> dict[str, int]:
        forgotten = await sweep(self._thread, now, retention)
        if forgotten["texts"] or forgotten["pages"]:
            for _ in range(_MOST_MERGES):
                if not await self._write(care.tidy_words):
                    break
        while await self._write(care.give_back):
            pass
        await self._thread.alone(lambda database: database.wal_checkpoint())
        return forgotten
