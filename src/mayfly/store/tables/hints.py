"""What others tell us: pages that are new, sources that have changed; and how far we have told them of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields, replace
from typing import Any

from mayfly.core.model import Seconds
from mayfly.store.database import Database
from mayfly.store.hints import Hint, HintRow, NamedHub, Subscription
from mayfly.store.tables import meta
from mayfly.store.tables.words import storable

_MOST_HINTS = 100_000  # that wait to be looked at; what is older is worth nothing any more
_AT_ONCE = 10_000
_MOST_TOLD_OF = 20  # sources that say they are the same feed
_COLUMNS = [field.name for field in fields(Subscription)]
_SUBSCRIPTION = ", ".join(_COLUMNS)
_OVER = f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"


def add(database: Database, at: Seconds, rows: Sequence[HintRow]) -> None:
    database.in_turn()
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
    meta.put(database, database.name("hints"), cursor)


def cursor(database: Database) -> int:
    return meta.cursor(database, "hints")


def keep_subscription(database: Database, subscription: Subscription) -> None:
    values = astuple(replace(subscription, failure=storable(subscription.failure)))
    database.execute(
        f"INSERT INTO subscriptions ({_SUBSCRIPTION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) {_OVER}", values
    )


def change_subscription(database: Database, was: Subscription, now: Subscription | None) -> bool:
    database.in_turn()  # crawl and serve both look first, and must not look at once
    if subscription(database, was.id) != was:
        return False
    if now is None:
        database.execute("DELETE FROM subscriptions WHERE id = ?", (was.id,))
    else:
        keep_subscription(database, now)
    return True


def subscription(database: Database, id: str) -> Subscription | None:
    row: Any = database.execute(f"SELECT {_SUBSCRIPTION} FROM subscriptions WHERE id = ?", (id,)).fetchone()
    return None if row is None else Subscription(*row)


def subscriptions(database: Database) -> list[Subscription]:
    sql = f"SELECT {_SUBSCRIPTION} FROM subscriptions WHERE {database.mine} ORDER BY topic, id"
    rows: list[Any] = database.execute(sql).fetchall()
    return [Subscription(*row) for row in rows]


def named_hubs(database: Database) -> list[NamedHub]:
    """What active feeds name, each once; of all shards."""
    rows: list[Any] = database.execute(
        "SELECT DISTINCT hub, topic FROM sources WHERE topic <> '' AND hub <> '' AND kind = 'feed'"
        " AND state = 'active' ORDER BY topic, hub"
    ).fetchall()
    return [NamedHub(*row) for row in rows]


def told_of(database: Database, topic: str, hub: str) -> list[str]:
    rows: list[Any] = database.execute(
        "SELECT url FROM sources WHERE topic = ? AND topic <> '' AND hub = ? AND state = 'active' ORDER BY id LIMIT ?",
        (topic, hub, _MOST_TOLD_OF),
    ).fetchall()
    return [row[0] for row in rows]


def sent(database: Database) -> int | None:
    return meta.get(database, "sent")


def note_sent(database: Database, landed: int) -> None:
    """Never back: two that send at once must not send all again."""
    database.execute(
        "INSERT INTO meta VALUES ('sent', ?) ON CONFLICT (name) DO UPDATE SET value = max(meta.value, excluded.value)",
        (landed,),
    )
