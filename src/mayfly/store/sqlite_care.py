"""What is wrong with a file of SQLite, how large it is, and how it gives space back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from mayfly.store.connection import SqliteDatabase
from mayfly.store.records import Complaint
from mayfly.store.schema import MIGRATIONS
from mayfly.store.tables import checks
from mayfly.store.tables.checks import RESTORE

LITTLE_SPACE = 1_000_000_000  # bytes
_LARGE_WAL = 256_000_000
_VACUUM_PAGES = 256
_MERGE_PAGES = 64


def complaints(database: SqliteDatabase) -> list[Complaint]:
    """All that is wrong with the file and with what it holds."""
    where = str(database.path)
    broken = [Complaint(text, where, RESTORE) for text in _damage(database)]
    missing = [Complaint(f"{name} is missing", where, RESTORE) for name in _missing(database)]
    if broken or missing:
        return broken + missing  # what cannot be read cannot be counted
    return [*checks.complaints(database, where), *_space(database.path)]


def stats(database: SqliteDatabase) -> dict[str, float]:
    """Counts of all that is kept, and its size in bytes."""
    page_bytes = int(database.pragma("page_size"))
    return checks.counts(database) | {
        "bytes": page_bytes * int(database.pragma("page_count")),
        "free_bytes": page_bytes * int(database.pragma("freelist_count")),
        "wal_bytes": _wal_bytes(database.path),
    }


def give_back(database: SqliteDatabase) -> bool:
    """Give some free space back to the disk; whether there may be more."""
    database.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
    return int(database.pragma("freelist_count")) > 0


def tidy_words(database: SqliteDatabase) -> bool:
    """Merge some of the index of words, which else keeps what was deleted; whether there may be more."""
    before = database.total_changes()
    database.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (_MERGE_PAGES,))
    return database.total_changes() - before >= 2


def _damage(database: SqliteDatabase) -> list[str]:
    """What SQLite finds, in the index of words, too."""
    try:
        rows: list[Any] = database.execute("PRAGMA integrity_check(20)").fetchall()
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return [str(error)]
    return [row[0] for row in rows if row[0] != "ok"]


def _missing(database: SqliteDatabase) -> list[str]:
    """Tables and indices there should be."""
    model = apsw.Connection(":memory:")
    for step in MIGRATIONS:
        model.execute(step)
    names = "SELECT type || ' ' || name FROM sqlite_schema"
    return sorted({row[0] for row in model.execute(names)} - {row[0] for row in database.execute(names)})


def _space(path: Path) -> Iterator[Complaint]:
    if (size := _wal_bytes(path)) > _LARGE_WAL:
        yield Complaint(
            f"the write-ahead log has grown to {size / 1e6:.0f} MB", f"{path}-wal",
            "something has been reading for very long: see who has the file open",
        )  # fmt: skip
    if (free := shutil.disk_usage(path.parent).free) < LITTLE_SPACE:
        yield Complaint(
            f"only {free / 1e6:.0f} MB of the disk are free", str(path.parent),
            "free some space, or keep less: see the retention settings",
        )  # fmt: skip


def _wal_bytes(path: Path) -> int:
    wal = path.with_name(path.name + "-wal")
    return wal.stat().st_size if wal.exists() else 0
