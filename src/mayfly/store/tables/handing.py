"""Pages that one shard found and another fetches. Only PostgreSQL has shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.records import Outcome

_AT_ONCE = 1000


class Handed(NamedTuple):
    """A page of ours that a source of another shard found."""

    page: PageId
    source: SourceId
    url: str
    site: str
    found_at: Seconds
    published: Seconds | None
    rank: int
    anchor: str
    context: str
    retry_at: Seconds | None
    tries: int


class Fate(NamedTuple):
    """What became of a page that we found and another shard fetched."""

    landed: int  # the cursor
    page: PageId
    at: Seconds | None
    outcome: Outcome


def handed_over(database: Database) -> list[PageId]:
    """Those that wait."""
    sql = (
        f"SELECT id FROM pages WHERE {database.mine} AND (finder <> shard OR bringer <> shard)"
        " AND outcome = 'waiting' ORDER BY id"
    )
    return [row[0] for row in database.execute(sql)]


def handed(database: Database, pages: Sequence[PageId]) -> list[Handed]:
    """All that is to be known of some of them, in their order."""
    rows: list[Any] = database.execute(
        "SELECT id, source, url, site, found_at, published, rank, anchor, context, retry_at, tries"
        " FROM carray(?) AS asked CROSS JOIN pages WHERE id = asked.value AND outcome = 'waiting' ORDER BY id",
        (database.array(np.array(pages, np.int64)),),
    ).fetchall()
    return [Handed(*row) for row in rows]


def fates(database: Database, shard: int, behind: int, since: Seconds) -> list[Fate]:
    """Of pages found since then, in the order they were settled, behind a cursor."""
    rows: list[Any] = database.execute(
        "SELECT landed, id, fetched_at, outcome FROM pages WHERE finder = ? AND finder <> shard AND landed > ?"
        f" AND found_at >= ? ORDER BY landed LIMIT {_AT_ONCE}",
        (shard, behind, since),
    ).fetchall()
    return [Fate(*row) for row in rows]
