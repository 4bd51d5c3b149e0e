"""Sources and hosts in any order, a part at a time. The rows of a part are found by number first, then read."""

from __future__ import annotations

from typing import Any

from mayfly.core.model import SourceId
from mayfly.store.database import Database
from mayfly.store.listings import HostRow, HostsListed, Listing, SourcesListed
from mayfly.store.tables import sources as kept
from mayfly.store.tables.words import storable

_SOURCE_ORDERS = {
    "url": "url",
    "rate": "link_rate",
    "profit": "page_profit",
    "decay": "profit_decay",
    "interval": "interval",
    "yield": "last_new",
    "due": "next_due",
    "worth": "worth",
    "state": "state",
    "failures": "failures",
}
_HOST_ORDERS = {
    "host": "name",
    "sources": "sources",
    "failing": "failing",
    "failed": "worst",
    "new": "last_new",
    "crawled": "last_crawl",
    "rest": "until",
}
_HOSTS = """
WITH grouped AS (
    SELECT host, min(site) AS site, count(*) AS sources, count(*) FILTER (WHERE state = 'active') AS active,
        count(*) FILTER (WHERE state = 'active' AND failures > 0) AS failing,
        max(CASE WHEN state = 'active' THEN failures ELSE 0 END) AS worst,
        sum(new_links) AS new_links, max(last_crawl) AS last_crawl, max(last_new) AS last_new
    FROM sources GROUP BY host
)
SELECT coalesce(grouped.host, hosts.host) AS name, coalesce(grouped.site, ''), coalesce(sources, 0) AS sources,
    coalesce(active, 0), coalesce(failing, 0) AS failing, coalesce(worst, 0) AS worst,
    '', coalesce(new_links, 0), last_crawl, last_new, hosts.found_at,
    coalesce(hosts.failure, ''), until, coalesce(rests.reason, '')
FROM grouped FULL JOIN hosts ON hosts.host = grouped.host
    LEFT JOIN rests ON rests.site = grouped.site
"""


def sources(database: Database, asked: Listing) -> SourcesListed:
    """A part of the sources."""
    where, values = _where(asked)
    total = int(database.execute(f"SELECT count(*) FROM sources {where}", values).get)
    first = max(min(asked.first, total - asked.skip), 0)
    skip, back = asked.skip, asked.skip > total / 2
    if back:  # from the end: SQLite has to keep only so many rows in order as come before the part
        skip = total - first - asked.skip
    order = _ordered(_SOURCE_ORDERS[asked.order], asked.descending, "id", back)
    ids: list[Any] = database.execute(
        f"SELECT id FROM sources LEFT JOIN estimates ON source = id {where} ORDER BY {order} LIMIT ? OFFSET ?",
        (*values, first, skip),
    ).fetchall()
    found = [row[0] for row in ids]
    rows = kept.some(database, found[::-1] if back else found)
    return SourcesListed(rows, {row.id: last_yield(database, row.id) for row in rows if row.crawls}, total)


def hosts(database: Database, asked: Listing) -> HostsListed:
    """A part of the hosts."""
    likes, values = _likes("name", asked.words)
    where = f"WHERE {' AND '.join(likes)}" if likes else ""
    order = _ordered(_HOST_ORDERS[asked.order], asked.descending, "name")
    rows: list[Any] = database.execute(
        f"SELECT *, count(*) OVER () FROM ({_HOSTS}) AS listed {where} ORDER BY {order} LIMIT ? OFFSET ?",
        (*values, asked.first, asked.skip),
    ).fetchall()
    total = rows[0][-1] if rows else 0
    return HostsListed([_host(database, HostRow(*row[:-1])) for row in rows], total)


def _host(database: Database, row: HostRow) -> HostRow:
    """With the reason of its worst source."""
    if not row.failures:
        return row
    worst = "SELECT failure FROM sources WHERE host = ? AND state = 'active' ORDER BY failures DESC LIMIT 1"
    return row._replace(failure=database.execute(worst, (row.host,)).get)


def last_yield(database: Database, source: SourceId) -> int:
    """New pages at its last crawl."""
    return int(
        database.execute(
            "SELECT count(*) FROM links WHERE first = 1 AND crawl ="
            " (SELECT seq FROM log WHERE kind = 'crawl' AND source = ? ORDER BY at DESC LIMIT 1)",
            (source,),
        ).get
    )


def _where(asked: Listing) -> tuple[str, list[Any]]:
    conditions, values = _likes("url", asked.words)
    for column, value in (("state", asked.state), ("host", asked.host), ("site", asked.site)):
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    return f"WHERE {' AND '.join(conditions)}" if conditions else "", values


def _likes(column: str, words: str) -> tuple[list[str], list[Any]]:
    """That every word stands in it, as it is: % and _ are letters like others."""
    apart = storable(words).replace("\0", " ").split()
    escaped = [word.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") for word in apart]
    return [f"lower({column}) LIKE lower(?) ESCAPE '\\'" for _ in apart], [f"%{word}%" for word in escaped]


def _ordered(column: str, descending: bool, then: str, back: bool = False) -> str:
    """What has no value comes last; `back`: all of it the other way round."""
    way, nulls, after = ("ASC" if descending else "DESC", "FIRST", "DESC") if back else ("", "LAST", "ASC")
    return f"{column} {way or ('DESC' if descending else 'ASC')} NULLS {nulls}, {then} {after}"
