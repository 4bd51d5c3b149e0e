"""Pages that were settled, and search in what they say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from mayfly.core.model import PageId, SourceId
from mayfly.store.database import Database
from mayfly.store.records import Outcome, Page
from mayfly.store.tables import seen
from mayfly.store.tables.words import phrases

PAGE_COLUMNS = """
SELECT p.id, p.url, p.host, p.site, p.source, coalesce(s.url, ''), p.anchor, p.context, p.rank, p.found_at, p.published,
    p.published_from, p.fetched_at, p.delay, p.outcome, p.reason, p.status, p.final_url, p.canonical,
    coalesce(t.title, ''), p.language, coalesce(t.text, ''), p.body_hash, p.duplicate_of, p.warc, p.landed
"""
FROM_PAGES = "LEFT JOIN sources AS s ON s.id = p.source LEFT JOIN texts AS t ON t.landed = p.landed"
SELECT = f"{PAGE_COLUMNS} FROM pages AS p {FROM_PAGES} "


def settled(
    database: Database,
    first: int,
    *,
    after: int = 0,
    order: Literal["ASC", "DESC"] = "ASC",
    host: str | None = None,
    source: SourceId | None = None,
    outcome: Outcome | None = None,
) -> list[Page]:
    """In the order they were settled, or the newest first."""
    only = {"p.host": host, "p.source": source, "p.outcome": outcome}
    asked = {column: value for column, value in only.items() if value is not None}
    where = "".join(f" AND {column} = ?" for column in asked)
    sql = f"{SELECT} WHERE p.landed > ?{where} ORDER BY p.landed {order} LIMIT ?"
    return read(database.execute(sql, (after, *asked.values(), first)))


def at_url(database: Database, url: str) -> Page | None:
    page = next(iter(seen.pages_of(database, seen.fingerprints(database, [url])).values()), 0)
    return by_id(database, page)


def search(database: Database, words: str, first: int) -> list[Page]:
    """Kept pages that have all these words, the newest first."""
    asked = phrases(words)
    return database.words.search(database, asked, first) if asked else []


def by_id(database: Database, page: PageId) -> Page | None:
    return next(iter(read(database.execute(SELECT + "WHERE p.id = ?", (page,)))), None)


def read(rows: Iterable[Any]) -> list[Page]:
    return [Page(*row) for row in rows]
