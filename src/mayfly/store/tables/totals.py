"""Counts of all that is kept, in one row, so that counting never means reading a table."""

from __future__ import annotations

from collections import Counter

from mayfly.store.database import Database


def add(database: Database, **counts: int) -> None:
    """So many more of these. All who write want that row, so it is written last."""
    database.last(_add, counts)


def _add(database: Database, counts: list[dict[str, int]]) -> None:
    total: Counter[str] = Counter()
    for some in counts:
        total.update(some)
    columns = sorted(total)  # in any order they would be a great many statements, and each is kept prepared
    changes = ", ".join(f"{column} = {column} + ?" for column in columns)
    database.execute(f"UPDATE totals SET {changes}", [total[column] for column in columns])


def next_landed(database: Database, pages: int) -> int:
    """The number of the first of so many pages that are settled; to be asked for last."""
    last = database.execute("UPDATE totals SET landed = landed + ? RETURNING landed", (pages,)).get
    return int(last) - pages + 1
