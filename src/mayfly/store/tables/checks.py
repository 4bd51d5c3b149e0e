"""What is wrong with a database, and how much it holds. Repairs nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from mayfly.store.connection import Database
from mayfly.store.records import Complaint
from mayfly.store.schema import MIGRATIONS

LITTLE_SPACE = 1_000_000_000  # bytes
_LARGE_WAL = 256_000_000
_OUTCOMES = ("waiting", "fetched", "old", "duplicate", "soft-404", "log-in", "failed", "dropped")
_RESTORE = "stop Mayfly and go back to a copy of this file; if there is none, keep it and report what you see"
_REPORT = "please report it: no command should leave this behind"


class _Rule(NamedTuple):
    """Something that must never be."""

    what: str
    number: str  # of them, in SQL


_RULES = (
    _Rule("links to pages that are not kept",
          "SELECT count(*) FROM links WHERE page NOT IN (SELECT id FROM pages)"),
    _Rule("links of sources that are not kept",
          "SELECT count(*) FROM links WHERE source NOT IN (SELECT id FROM sources)"),
    _Rule("addresses that lead to pages that are not kept",
          "SELECT count(*) FROM seen WHERE page > 0 AND page NOT IN (SELECT id FROM pages)"),
    _Rule("other addresses of pages that are not kept",
          "SELECT count(*) FROM addresses WHERE page NOT IN (SELECT id FROM pages)"),
    _Rule("pages that stand twice on a source",
          "SELECT count(*) FROM (SELECT 1 FROM links WHERE removed IS NULL GROUP BY page, source HAVING count(*) > 1)"),
    _Rule("pages whose address is forgotten",
          "SELECT count(*) FROM pages WHERE hash NOT IN (SELECT hash FROM seen)"),
    _Rule("pages of sources that are not kept",
          "SELECT count(*) FROM pages WHERE source NOT IN (SELECT id FROM sources)"),
    _Rule("pages that are settled and have no number, or the other way round",
          "SELECT count(*) FROM pages WHERE (outcome = 'waiting') <> (landed IS NULL)"),
    _Rule("texts of pages that are not kept",
          "SELECT count(*) FROM texts WHERE landed NOT IN (SELECT landed FROM pages WHERE landed IS NOT NULL)"),
    _Rule("texts that cannot be searched",
          "SELECT abs((SELECT count(*) FROM texts) - (SELECT count(*) FROM words_docsize))"),
    _Rule("sources without host or site", "SELECT count(*) FROM sources WHERE site = '' OR host = ''"),
    _Rule("numbers of sources that are missing", "SELECT coalesce(max(id) + 1, 0) - count(*) FROM sources"),
    _Rule("estimates of sources that are not kept",
          "SELECT count(*) FROM estimates WHERE source NOT IN (SELECT id FROM sources)"),
    _Rule("lists of links of sources that are not kept, or cut short",
          "SELECT count(*) FROM shows WHERE source NOT IN (SELECT id FROM sources) OR length(hashes) % 8 <> 0"),
)  # fmt: skip


def complaints(database: Database) -> list[Complaint]:
    """All that is wrong with the file and with what it holds."""
    where = str(database.path)
    broken = [Complaint(text, where, _RESTORE) for text in _damage(database)]
    missing = [Complaint(f"{name} is missing", where, _RESTORE) for name in _missing(database)]
    if broken or missing:
        return broken + missing  # what cannot be read cannot be counted
    return [
        *(Complaint(f"{count} {what}", where, _REPORT) for what, count in _wrong_counts(database)),
        *_space(database.path),
    ]


def stats(database: Database) -> dict[str, float]:
    """Counts of all that is kept, and its size in bytes. Nothing large is read for it."""
    cursor = database.execute("SELECT * FROM totals")
    totals = dict(zip((column[0] for column in cursor.get_description()), cursor.fetchone() or (), strict=True))
    outcomes = {outcome: totals[outcome.replace("-", "_")] for outcome in _OUTCOMES}
    counts = {table: _get(database, f"SELECT count(*) FROM {table}") for table in ("sources", "hosts", "robots")}
    spans = {
        table: _get(database, f"SELECT coalesce(max({key}) - min({key}) + 1, 0) FROM {table}")
        for table, key in (("clicks", "id"), ("clicks_unknown", "id"), ("log", "seq"))
    }
    page_bytes = int(database.pragma("page_size"))
    return {
        **counts,
        "pages": sum(outcomes.values()),
        **outcomes,
        "links": totals["links"],
        "seen": totals["seen"],
        **spans,
        "bytes": page_bytes * int(database.pragma("page_count")),
        "free_bytes": page_bytes * int(database.pragma("freelist_count")),
        "wal_bytes": _wal_bytes(database.path),
    }


def _damage(database: Database) -> list[str]:
    """What SQLite finds, in the index of words, too."""
    try:
        rows: list[Any] = database.execute("PRAGMA integrity_check(20)").fetchall()
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return [str(error)]
    return [row[0] for row in rows if row[0] != "ok"]


def _missing(database: Database) -> list[str]:
    """Tables and indices there should be."""
    model = apsw.Connection(":memory:")
    for step in MIGRATIONS:
        model.execute(step)
    names = "SELECT type || ' ' || name FROM sqlite_schema"
    return sorted({row[0] for row in model.execute(names)} - {row[0] for row in database.execute(names)})


def _wrong_counts(database: Database) -> Iterator[tuple[str, int]]:
    for what, sql in _RULES:
        if count := _get(database, sql):
            yield what, count
    kept = stats(database)
    real = {outcome: _get(database, "SELECT count(*) FROM pages WHERE outcome = ?", outcome) for outcome in _OUTCOMES}
    real |= {table: _get(database, f"SELECT count(*) FROM {table}") for table in ("seen", "links")}
    for name, count in real.items():
        if kept[name] != count:
            yield f"{name} are kept, and {kept[name]:.0f} are counted", count


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


def _get(database: Database, sql: str, *values: Any) -> int:
    return int(database.execute(sql, values).get)
