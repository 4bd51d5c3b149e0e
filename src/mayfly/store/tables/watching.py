"""Columns and rows to draw a crawl from."""

from __future__ import annotations

from typing import Any

import numpy as np

from mayfly.core.model import Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.listings import Beat, Believed, Counted, PageColumns, VisitOfSource

_CHUNK = 20_000  # pages at once
_MOST_ARRIVALS = 20_000
_BEATS_OF = 60_000  # happenings that are counted


def believed(database: Database) -> Believed:
    """As `mayfly plan` takes them."""
    rows: list[Any] = database.execute(
        "SELECT source, link_rate, page_profit, profit_decay, host FROM estimates JOIN sources ON id = source"
        " WHERE state = 'active' AND profit_decay > 0 ORDER BY source"
    ).fetchall()
    source, rate, profit, decay, host = zip(*rows, strict=True) if rows else ((),) * 5
    one = {name: name for name in host}  # a host's name is kept once, however many sources it has
    columns = np.array([rate, profit, decay], float)
    return Believed(np.array(source, np.int64), columns[0], columns[1], columns[2], [one[name] for name in host])


def visits(database: Database, source: SourceId, first: int) -> list[VisitOfSource]:
    """The newest first."""
    sql = (
        "SELECT seq, at, status, seconds, bytes, outcome, gone FROM log"
        " WHERE kind = '{kind}' AND source = ? ORDER BY at DESC LIMIT ?"
    )
    found = []
    for seq, at, status, seconds, size, note, gone in database.execute(sql.format(kind="crawl"), (source, first)):
        links = "SELECT CAST(coalesce(sum(first), 0) AS BIGINT), count(*) FROM links WHERE crawl = ?"
        new, added = database.execute(links, (seq,)).get
        found.append(VisitOfSource(at, status, seconds, size, "", note, new, added, gone or 0))
    for _, at, status, seconds, size, reason, _gone in database.execute(sql.format(kind="failure"), (source, first)):
        found.append(VisitOfSource(at, status, seconds, size, reason, "", 0, 0, 0))
    return sorted(found, key=lambda visit: -visit.at)[:first]


def arrivals(database: Database, source: SourceId) -> list[Seconds]:
    """What turned out to be no new page is left out."""
    rows: list[Any] = database.execute(
        "SELECT coalesce(published, found_at) FROM pages WHERE source = ? AND landed > 0"
        " AND outcome IN ('fetched', 'failed', 'dropped') ORDER BY landed DESC LIMIT ?",
        (source, _MOST_ARRIVALS),
    ).fetchall()
    return [row[0] for row in rows]


def landed_at(database: Database, at: Seconds) -> int:
    """By halves: pages land in the order they are fetched, near enough, and there is no index by time."""
    low, high = 0, int(database.execute("SELECT landed FROM totals").get)
    while low < high:
        middle = (low + high) // 2
        row = database.execute(
            "SELECT landed, fetched_at FROM pages WHERE landed > ? AND fetched_at IS NOT NULL ORDER BY landed LIMIT 1",
            (middle,),
        ).fetchone()
        if row is None or row[1] >= at:
            high = middle
        else:
            low = max(row[0], middle + 1)
    return low


def fetched_since(database: Database, landed: int) -> PageColumns:
    """Pages that were kept, behind the cursor."""
    rows: list[Any] = database.execute(
        "SELECT landed, id, source, coalesce(published, found_at), found_at, fetched_at, outcome = 'fetched'"
        " FROM pages WHERE landed > ? ORDER BY landed LIMIT ?",
        (landed, _CHUNK),
    ).fetchall()
    table = np.array([row[:6] for row in rows if row[6]], float).reshape(-1, 6).T.copy()
    numbers = table[1:3].astype(np.int64)
    return PageColumns(rows[-1][0] if rows else landed, numbers[0], numbers[1], table[3], table[4], table[5])


def beats(database: Database, since: Seconds, width: Seconds) -> list[Beat]:
    """Counts of the end of the log, by equal parts of the time."""
    sql = (
        "SELECT floor(at / ?1) * ?1, count(*) FILTER (WHERE kind = 'crawl'), count(*) FILTER (WHERE kind = 'fetch'),"
        " count(*) FILTER (WHERE kind = 'failure') FROM log"
        " WHERE seq > (SELECT max(seq) FROM log) - ?2 AND at >= ?3 GROUP BY 1 ORDER BY 1"
    )
    rows: list[Any] = database.execute(sql, (width, _BEATS_OF, since)).fetchall()
    return [Beat(*row) for row in rows]


def counted_since(database: Database, seq: int | None) -> Counted:
    """Counts of the log."""
    last = int(database.execute("SELECT coalesce(max(seq), 0) FROM log").get)
    if seq is None:
        return Counted(last, 0, 0, 0)
    rows: list[Any] = database.execute("SELECT kind, count(*) FROM log WHERE seq > ? GROUP BY kind", (seq,)).fetchall()
    counts = dict(rows)
    return Counted(max(last, seq), counts.get("crawl", 0), counts.get("fetch", 0), counts.get("failure", 0))
