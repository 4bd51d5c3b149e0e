"""Single numbers by name: cursors, counters."""

from __future__ import annotations

from mayfly.store.database import Database


def get(database: Database, name: str) -> int | None:
    row = database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else int(row[0])


def cursor(database: Database, name: str) -> int:
    """How far a reader has come. One process goes on where the last of the shards is, a shard where one process was."""
    of_one = get(database, name) or 0
    if (own := database.name(name)) != name:
        return max(of_one, get(database, own) or 0)
    of_shards = database.execute("SELECT min(value) FROM meta WHERE name LIKE ?", (f"{name}:%",)).get
    return max(of_one, of_shards or 0)


def readers(database: Database, name: str) -> list[int]:
    """The shards that ever read by a cursor of this name; of a shard, itself alone."""
    if (own := database.name(name)) != name:
        return [int(own.rpartition(":")[2])]
    found = database.execute("SELECT name FROM meta WHERE name LIKE ?", (f"{name}:%",))
    return [int(row[0].rpartition(":")[2]) for row in found]


def put(database: Database, name: str, value: int) -> None:
    database.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value)
    )
