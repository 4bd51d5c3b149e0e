"""Sources: what is watched, what people changed about it, what is believed of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mayfly.core.model import Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.records import Estimate, Memory, NewSource, Source, SourceState
from mayfly.store.tables.words import storable
from mayfly.urls import host_of, site_of

_SELECT = """
SELECT id, url, host, site, kind, state, reason, pinned, found_at, found_on, crawls, last_crawl, last_new, shown,
    failures, failure, unchanged, new_links, good_pages, dull_pages,
    etag, last_modified, body_hash, unmodified, lie, revision, retry_at, hub, topic,
    source, link_rate, page_profit, profit_decay, interval, worth, next_due, note
FROM sources LEFT JOIN estimates ON source = id
"""

_OVER = "ON CONFLICT (source) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in Estimate._fields[1:])


def all_of(database: Database) -> list[Source]:
    return _read(database.execute(f"{_SELECT} WHERE {database.mine} ORDER BY id"))


def some(database: Database, ids: Sequence[SourceId]) -> list[Source]:
    return [source for each in ids for source in _read(database.execute(_SELECT + "WHERE id = ?", (each,)))]


def at_url(database: Database, url: str) -> Source | None:
    return next(iter(_read(database.execute(_SELECT + "WHERE url = ?", (url,)))), None)


def edited(database: Database, after: int) -> list[Source]:
    return _read(database.execute(f"{_SELECT} WHERE {database.mine} AND revision > ? ORDER BY revision", (after,)))


def add(database: Database, at: Seconds, found: Sequence[NewSource]) -> list[SourceId]:
    """Numbers of those that are new here; the others stay as they are."""
    new: list[SourceId] = []
    _next_revision(database)  # who numbers holds it, so that nobody else does
    number = int(database.execute("SELECT coalesce(max(id) + 1, 0) FROM sources").get)
    for source in found:
        if database.execute("SELECT 1 FROM sources WHERE url = ?", (source.url,)).fetchone():
            continue
        host = host_of(source.url)
        database.execute(
            "INSERT INTO sources (id, url, host, site, kind, pinned, found_at, found_on, revision)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number, source.url, host, site_of(host), source.kind, source.pinned, at,
                storable(source.found_on), _next_revision(database),
            ),
        )  # fmt: skip
        new.append(number)
        number += 1
    return new


def edit(database: Database, source: SourceId, state: SourceState | None, reason: str | None) -> None:
    _change(
        database,
        source,
        "state = coalesce(?, state), reason = coalesce(?, reason)",
        (state, None if reason is None else storable(reason)),
    )


def pin(database: Database, source: SourceId, every: Seconds | None) -> None:
    _change(database, source, "pinned = ?", (every,))


def save_estimates(database: Database, estimates: Sequence[Estimate]) -> None:
    database.executemany(f"INSERT INTO estimates VALUES (?, ?, ?, ?, ?, ?, ?, ?) {_OVER}", estimates)


def keep_page_values(database: Database, weights: bytes) -> None:
    database.execute(
        "INSERT INTO learned VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (database.name("page-values"), weights),
    )


def page_values(database: Database) -> bytes | None:
    row: Any = database.execute("SELECT value FROM learned WHERE name = 'page-values'").fetchone()
    return None if row is None else bytes(row[0])


def _change(database: Database, source: SourceId, what: str, values: tuple[Any, ...]) -> None:
    revision = _next_revision(database)
    database.execute(f"UPDATE sources SET {what}, revision = ? WHERE id = ?", (*values, revision, source))
    if not database.changes():
        raise LookupError(f"there is no source {source}")


def _next_revision(database: Database) -> int:
    return int(database.execute("UPDATE meta SET value = value + 1 WHERE name = 'revision' RETURNING value").get)


def _read(rows: Iterable[Any]) -> list[Source]:
    return [_source(*row) for row in rows]


def _source(*row: Any) -> Source:
    *plain, etag, last_modified, body_hash, unmodified, lie, revision, retry_at, hub, topic = row[:29]
    memory = Memory(etag, last_modified, body_hash, unmodified, bool(lie))
    estimate = None if row[29] is None else Estimate(*row[29:])
    return Source(*[*plain, memory, estimate, revision, retry_at, hub, topic])
