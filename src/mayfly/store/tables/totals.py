"""Counts of all that is kept, in one row, so that counting never means reading a table."""

from __future__ import annotations

from mayfly.store.database import Database


def add(database: Database, **counts: int) -> None:
    """So many more of these. All who write want that row, so it is written last."""
    changes = ", ".join(f"{column} = {column} + ?" for column in counts)
    database.last(lambda: _add(database, changes, list(counts.values())))


def _add(database: Database, changes: str, counts: list[int]) -> None:
    database.execute(f"UPDATE totals SET {changes}", counts)


def next_landed(database: Database) -> int:
    """The number of one more page that is settled; to be asked for last."""
    return int(database.execute("UPDATE totals SET landed = landed + 1 RETURNING landed").get)
