"""Single numbers by name: cursors, counters."""

from __future__ import annotations

from mayfly.store.database import Database


def get(database: Database, name: str) -> int | None:
    row = database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else int(row[0])


def cursor(database: Database, name: str) -> int:
    """How far a reader has come. One process goes on where the last of the shards is; a shard, at the beginning."""
    own = get(database, database.name(name))
    if database.name(name) != name:
        return own or 0
    of_shards = database.execute("SELECT min(value) FROM meta WHERE name LIKE ?", (f"{name}:%",)).get
    return max(own or 0, of_shards or 0)


def put(database: Database, name: str, value: int) -> None:
    database.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value)
    )
