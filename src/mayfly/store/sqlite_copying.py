"""A file of SQLite, read or written as a whole."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw

from mayfly.store.connection import SqliteDatabase, SqliteEngine
from mayfly.store.copying import NUMBERED, quoted

_SOME = 5000  # rows


class SqliteSide:
    """Implements `copying.Side`, as a context manager."""

    database: SqliteDatabase

    def __init__(self, path: Path, *, write: bool) -> None:
        self.name, self._write = str(path), write
        self._engine = SqliteEngine(path, read_only=False)  # one that is read is brought up to date first

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
        return [row[1] for row in self.database.execute(f"PRAGMA table_info({table})")]

    def rows(self, table: str, columns: Sequence[str], where: str = "") -> Iterator[list[Any]]:
        with self._told():
            found = iter(self.database.execute(f"SELECT {quoted(columns)} FROM {table} {where}"))
            while some := list(islice(found, _SOME)):
                yield some

    def put(self, table: str, columns: Sequence[str], rows: list[Any]) -> None:
        values = ", ".join("?" for _ in columns)
        with self._told():
            self.database.executemany(f"INSERT INTO {table} ({quoted(columns)}) VALUES ({values})", rows)

    def last_number(self, table: str) -> int:
        kept = self.database.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).get
        there = self.database.execute(f"SELECT max({NUMBERED[table]}) FROM {table}").get
        return max(kept or 0, there or 0)

    def go_on_behind(self, table: str, number: int) -> None:
        self.database.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        self.database.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, number))

    def commit(self) -> None:
        with self._told():
            self._engine.commit()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            raise self._engine.explained(error) from error
