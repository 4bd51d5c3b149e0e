"""A connection to the SQLite file of a home: how it is opened, what a transaction is, what errors mean to a person."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import apsw

from mayfly.core.model import IntArray, Seconds
from mayfly.errors import RunError
from mayfly.store.database import HAPPENED, NOBODY, NONE, Part
from mayfly.store.fts5 import Fts5, register
from mayfly.store.glimpses import Glimpses
from mayfly.store.schema import MIGRATIONS, check_version, migrate

BUSY_SECONDS: Seconds = 10.0
_CACHE_KIB = 8 * 1024  # the system keeps the rest of the file at hand, and gives it back when memory is short
_CHECKPOINT_PAGES = 4000  # of 4 KiB; each checkpoint waits for the disk
_LARGEST_IDLE_WAL = 64 << 20  # bytes

# After these the whole transaction is undone, whatever part of it failed.
FATAL = (
    apsw.BusyError, apsw.CantOpenError, apsw.CorruptError, apsw.FullError, apsw.InterruptError, apsw.IOError,
    apsw.LockedError, apsw.NoMemError, apsw.NotADBError, apsw.ProtocolError, apsw.ReadOnlyError,
)  # fmt: skip


class SqliteDatabase(apsw.Connection):
    """Implements `database.Database`. All of the file is ours, and SQLite has one writer at a time."""

    path: Path
    seed: int
    mine = mine_or_found = "TRUE"
    by_others = NONE
    past: Sequence[Part] = (Part(f"{HAPPENED}, {NOBODY}", "log WHERE TRUE"),)
    words = Fts5()

    @cached_property
    def glimpses(self) -> Glimpses:
        """For who reads."""
        return Glimpses()

    def array(self, numbers: IntArray) -> Any:
        return apsw.carray(numbers)

    def page_numbers(self, count: int) -> range:
        last = self.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'pages'").get or 0
        return range(int(last) + 1, int(last) + 1 + count)

    def name(self, cursor: str) -> str:
        return cursor

    def last(self, work: Callable[[Any, list[Any]], None], item: Any) -> None:
        work(self, [item])

    def in_turn(self) -> None:
        pass


class SqliteEngine:
    """Implements `thread.Engine`."""

    fatal = FATAL
    busy = (apsw.BusyError, apsw.ProtocolError)
    raced: tuple[type[BaseException], ...] = ()  # there is one writer at a time

    def __init__(self, path: Path, read_only: bool) -> None:
        self.name, self.read_only = str(path), read_only
        self._path = path
        self._database: SqliteDatabase

    def open(self) -> SqliteDatabase:
        self._database = connect(self._path, read_only=self.read_only)
        return self._database

    def close(self) -> None:
        self._database.close()

    def begin(self, write: bool) -> None:
        self._database.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def commit(self) -> None:
        self._database.execute("COMMIT")

    def roll_back(self) -> None:
        """Some errors have done it already; a broken disk may let it succeed only later."""
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    def mark(self) -> None:
        self._database.execute("SAVEPOINT one")

    def forget_mark(self) -> None:
        self._database.execute("RELEASE one")

    def back_to_mark(self) -> None:
        self._database.execute("ROLLBACK TO one; RELEASE one")

    def explained(self, error: BaseException) -> RunError:
        return explained(error, self._path)


def connect(path: Path, *, read_only: bool = False, migrations: Sequence[str] = MIGRATIONS) -> SqliteDatabase:
    """Open the file, make it or bring it up to date if need be; a `RunError` says why that cannot be."""
    if read_only and not path.exists():
        raise RunError(f"there is no {path}: has anything been crawled in this home?")
    try:
        return _opened(path, read_only, migrations)
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        if not read_only or not path.exists() or _wal(path).exists():
            raise explained(error, path) from error
    except apsw.Error as error:
        raise explained(error, path) from error
    try:  # nobody writes, and we may not make the files SQLite shares with writers
        return _opened(path, read_only, migrations, "?immutable=1")
    except apsw.Error as error:
        raise explained(error, path) from error


def explained(error: BaseException, path: Path) -> RunError:
    """One sentence: which file, and what to do."""
    match error:
        case apsw.FullError():
            what = "the disk is full: free some space, and it goes on"
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            what = "it may not be written: check the rights of the file and its folder"
        case apsw.CantOpenError():
            what = "it cannot be opened: check that its folder exists and may be written"
        case apsw.NotADBError() | apsw.FormatError():
            what = "it is not an SQLite database: move it away, or name another --home"
        case apsw.CorruptError():
            what = "it is damaged: stop Mayfly, see `mayfly doctor`, and go back to a copy"
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            what = "another process has kept it locked for too long: see who has it open"
        case apsw.IOError():
            what = "the disk does not do as it is told: check that it is not full or broken"
        case apsw.NoMemError() | MemoryError():
            what = "there is not enough memory"
        case _:
            what = "that failed"
    return RunError(f"{path}: {what} ({error})")


def _opened(path: Path, read_only: bool, migrations: Sequence[str], how: str = "") -> SqliteDatabase:
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    database = SqliteDatabase(
        path.absolute().as_uri() + how, flags=flags | apsw.SQLITE_OPEN_URI, statementcachesize=256
    )
    try:
        _set_up(database, read_only)
        if read_only:
            check_version(database, path, migrations)
        else:
            migrate(database, path, migrations)
        register(database)  # not before: of a file that is no database it would say something else
        database.path = path
        database.seed = int(database.execute("SELECT value FROM meta WHERE name = 'seed'").get)
    except BaseException:
        database.close()
        raise
    return database


def _set_up(database: SqliteDatabase, read_only: bool) -> None:
    database.set_busy_handler(_wait_a_little)
    database.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # else what asks a partial index is planned anew at each call
    database.pragma("cache_size", -_CACHE_KIB)
    database.pragma("mmap_size", 0)
    database.pragma("foreign_keys", False)
    if read_only:
        return
    database.pragma("auto_vacuum", "INCREMENTAL")  # heeded while the file is empty
    database.pragma("journal_mode", "WAL")
    database.pragma("synchronous", "NORMAL")
    database.pragma("journal_size_limit", _LARGEST_IDLE_WAL)
    database.wal_autocheckpoint(_CHECKPOINT_PAGES)


def _wait_a_little(times: int) -> bool:
    """Ask again every 2 ms. SQLite's own way waits up to 100 ms, and who writes all the time never lets it in."""
    time.sleep(0.002)
    return times * 0.002 < BUSY_SECONDS


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
