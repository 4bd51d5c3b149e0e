"""Pages that one shard found and another fetches. Only PostgreSQL has shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.records import MOST_LEADS, Outcome

_AT_ONCE = 1000


class Handed(NamedTuple):
    """A page of ours that a source of another shard found; or of a source of ours, that another shard found."""

    page: PageId
    source: SourceId
    url: str
    site: str
    found_at: Seconds
    appeared: Seconds  # by the date that was shown; else the middle of the gap between two looks
    rank: int
    anchor: str
    context: str
    retry_at: Seconds | None
    tries: int
    leads: int


class Fate(NamedTuple):
    """What became of a page that we found and another shard fetched."""

    landed: int  # the cursor
    page: PageId
    at: Seconds | None
    outcome: Outcome
    by_others: bool  # another shard found it: where a page of ours leads to


WAITING = "outcome = 'waiting'"


def handed_over(database: Database) -> list[PageId]:
    """Those that wait."""
    sql = (
        f"SELECT id FROM pages WHERE {database.mine} AND (finder <> shard OR bringer <> shard)"
        f" AND {WAITING} ORDER BY id"
    )
    return [row[0] for row in database.execute(sql)]


def some(database: Database, pages: Sequence[PageId], which: str = "TRUE") -> list[Handed]:
    """All that is to be known of those of some pages for which a condition holds, in their order."""
    rows: list[Any] = database.execute(
        "SELECT id, source, url, site, found_at,"
        " coalesce(shown_published, (coalesce(looked_at, found_at) + found_at) / 2),"
        " rank, anchor, context, retry_at, tries, leads"
        f" FROM carray(?) AS asked CROSS JOIN pages WHERE id = asked.value AND {which} ORDER BY id",
        (database.array(np.array(pages, np.int64)),),
    ).fetchall()
    return [Handed(*row) for row in rows]


def fates(database: Database, shard: int, behind: int, since: Seconds) -> list[Fate]:
    """Of pages found since then, in the order they were settled, behind a cursor."""
    rows: list[Any] = database.execute(
        f"SELECT landed, id, fetched_at, outcome, {database.by_others} FROM pages"
        " WHERE finder = ? AND finder <> shard AND landed > ?"
        f" AND found_at >= ? ORDER BY landed LIMIT {_AT_ONCE}",
        (shard, behind, since),
    ).fetchall()
    return [Fate(*row) for row in rows]


def note_leads(database: Database, pages: Sequence[PageId], leads: int) -> None:
    """So many redirects from shard to shard led to these."""
    database.executemany("UPDATE pages SET leads = ? WHERE id = ?", [(leads, page) for page in pages])


def leads(database: Database) -> list[tuple[PageId, int]]:
    """The pages of ours that wait and that redirects from shard to shard led to, and how many of them."""
    rows: list[Any] = database.execute(
        f"SELECT id, leads FROM pages WHERE {database.mine} AND {WAITING} AND leads > 0"
    ).fetchall()
    return rows


def lead_on(database: Database, at: Seconds, host: str, to: Sequence[str]) -> None:
    """A host leads to these, of other shards: once, for it may name others each time, and so may they."""
    led: int | None = database.execute("SELECT leads FROM hosts WHERE host = ?", (host,)).get
    if led is None or led >= MOST_LEADS:
        return
    sql = "INSERT INTO hosts (host, added_at, leads) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    database.executemany(sql, [(one, at, led + 1) for one in to])
    database.execute("UPDATE hosts SET leads = ? WHERE host = ?", (MOST_LEADS, host))


def landed(database: Database) -> int:
    """The number of the page that was settled last."""
    return int(database.execute("SELECT landed FROM totals").get)
