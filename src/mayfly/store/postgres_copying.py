"""A database of PostgreSQL, read or written as a whole."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import asyncpg

from mayfly.store.copying import NUMBERED, quoted
from mayfly.store.postgres_database import PostgresDatabase
from mayfly.store.postgres_engine import GONE, PostgresEngine
from mayfly.store.postgres_schema import SHARDS
from mayfly.store.tables import meta
from mayfly.store.tables.past import IDLE, Told
from mayfly.store.tsvector import TsVector

_SOME = 5000  # rows
_OF_SHARDS = ("shard", "finder", "bringer", "leads")  # columns that are made anew, for the copy may have others
_STEPS = 'SELECT steps.seq, CASE WHEN log.shard IS NULL THEN "by" ELSE 0 END FROM steps LEFT JOIN log USING (seq)'
_TELLINGS = "SELECT tellings.seq, log.shard, upto FROM tellings LEFT JOIN log USING (seq) ORDER BY tellings.seq"
_COLUMNS = (
    "SELECT attname FROM pg_attribute WHERE attrelid = CAST(CAST(? AS text) AS regclass) AND attnum > 0"
    " AND NOT attisdropped AND attgenerated = '' AND atttypid <> 'tsvector'::regtype ORDER BY attnum"
)


class PostgresSide:
    """Implements `copying.Side`, as a context manager. One that is written is not crawled meanwhile."""

    database: PostgresDatabase

    def __init__(self, url: str, *, write: bool, shards: int = SHARDS) -> None:
        # No limit on how long it may be silent: the other side takes its time.
        self._engine = PostgresEngine(url, read_only=not write, shards=shards, crawls=write, idle=0.0)
        self.name, self._write = self._engine.name, write

    def __enter__(self) -> Self:
        self.database = self._engine.open()
        with self._told():
            self._engine.begin(self._write)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.roll_back()
        self._engine.close()

    def columns(self, table: str) -> Sequence[str]:
        there = [row[0] for row in self.database.execute(_COLUMNS, (table,))]
        return [column for column in there if column not in _OF_SHARDS]

    def rows(self, table: str, columns: Sequence[str], where: str = "") -> Iterator[list[Any]]:
        """As one process would have them, whoever wrote them: what each shard was told of its own is told once."""
        if table == "tellings":
            yield self._tellings()
            return
        asked = _STEPS if table == "steps" else f"SELECT {quoted(columns)} FROM {table} {where}"
        cursor = f"copy_of_{table}"
        with self._told():
            self.database.plainly(f"DECLARE {cursor} NO SCROLL CURSOR FOR {asked}")
            while some := self.database.execute(f"FETCH {_SOME} FROM {cursor}").fetchall():
                yield some
            self.database.plainly(f"CLOSE {cursor}")

    def _tellings(self) -> list[Any]:
        with self._told():
            begin = self.database.execute("SELECT coalesce(min(behind), 0) FROM tellings").get
            told = Told(begin, meta.readers(self.database, "told"))
            rows: list[Any] = []
            for seq, shard, upto in self.database.execute(_TELLINGS):
                again = None if upto == IDLE else told.again(shard, upto)
                rows.append((seq, *(again or (told.upto, IDLE))))
            return rows

    def put(self, table: str, columns: Sequence[str], rows: list[Any]) -> None:
        with self._told():
            if table == "texts":
                TsVector.keep_rows(self.database, columns, rows)
            else:
                self.database.copy_in(table, columns, rows)

    def last_number(self, table: str) -> int:
        name = self.database.execute("SELECT pg_get_serial_sequence(?, ?)", (table, NUMBERED[table])).get
        return int(self.database.execute(f"SELECT last_value - (NOT is_called)::int FROM {name}").get)

    def go_on_behind(self, table: str, number: int) -> None:
        # Not setval: that would stay if the transaction were undone.
        self.database.plainly(f"ALTER TABLE {table} ALTER COLUMN {NUMBERED[table]} RESTART WITH {number + 1}")

    def commit(self) -> None:
        with self._told():
            self._engine.commit()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (asyncpg.PostgresError, *GONE) as error:
            raise self._engine.explained(error) from error
