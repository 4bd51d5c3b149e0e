"""What others tell us: pages that are new, sources that have changed; and how far we have told them of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any

from mayfly.core.model import Seconds
from mayfly.store.connection import Database
from mayfly.store.hints import Hint, HintRow, Subscription
from mayfly.store.tables.words import storable

_MOST_HINTS = 100_000  # that wait to be looked at; what is older is worth nothing any more
_AT_ONCE = 10_000
_MOST_TOLD_OF = 20  # sources that say they are the same feed


def add(database: Database, at: Seconds, rows: Sequence[HintRow]) -> None:
    database.executemany(
        "INSERT INTO hints (at, url, kind, via) VALUES (?, ?, ?, ?)", [(at, row.url, row.kind, row.via) for row in rows]
    )
    database.execute("DELETE FROM hints WHERE id <= (SELECT max(id) FROM hints) - ?", (_MOST_HINTS,))


def since(database: Database, cursor: int) -> tuple[list[Hint], int]:
    rows: list[Any] = database.execute(
        "SELECT id, at, url, kind, via FROM hints WHERE id > ? ORDER BY id LIMIT ?", (cursor, _AT_ONCE)
    ).fetchall()
    found = [Hint(*row) for row in rows]
    return found, found[-1].id if found else cursor


def taken(database: Database, cursor: int) -> None:
    database.execute("INSERT OR REPLACE INTO meta VALUES ('hints', ?)", (cursor,))


def cursor(database: Database) -> int:
    row: Any = database.execute("SELECT value FROM meta WHERE name = 'hints'").fetchone()
    return 0 if row is None else int(row[0])


def keep_subscription(database: Database, subscription: Subscription) -> None:
    values = astuple(replace(subscription, failure=storable(subscription.failure)))
    database.execute("INSERT OR REPLACE INTO subscriptions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)


def change_subscription(database: Database, was: Subscription, now: Subscription | None) -> bool:
    if subscription(database, was.id) != was:
        return False
    if now is None:
        database.execute("DELETE FROM subscriptions WHERE id = ?", (was.id,))
    else:
        keep_subscription(database, now)
    return True


def subscription(database: Database, id: str) -> Subscription | None:
    row: Any = database.execute("SELECT * FROM subscriptions WHERE id = ?", (id,)).fetchone()
    return None if row is None else Subscription(*row)


def subscriptions(database: Database) -> list[Subscription]:
    rows: list[Any] = database.execute("SELECT * FROM subscriptions ORDER BY topic, id").fetchall()
    return [Subscription(*row) for row in rows]


def told_of(database: Database, topic: str, hub: str) -> list[str]:
    rows: list[Any] = database.execute(
        "SELECT url FROM sources WHERE topic = ? AND topic <> '' AND hub = ? AND state = 'active' ORDER BY id LIMIT ?",
        (topic, hub, _MOST_TOLD_OF),
    ).fetchall()
    return [row[0] for row in rows]


def sent(database: Database) -> int | None:
    row: Any = database.execute("SELECT value FROM meta WHERE name = 'sent'").fetchone()
    return None if row is None else int(row[0])


def note_sent(database: Database, landed: int) -> None:
    """Never back: two that send at once must not send all again."""
    database.execute(
        "INSERT INTO meta VALUES ('sent', ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)", (landed,)
    )
