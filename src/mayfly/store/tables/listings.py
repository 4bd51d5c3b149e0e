"""Sources and hosts in any order, a part at a time. The rows of a part are found by number first, then read."""

from __future__ import annotations

from typing import Any

from mayfly.core.model import SourceId
from mayfly.store.connection import Database
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
# Of the worst source the reason is told: max() with a bare column takes that of the same row.
_HOSTS = """
WITH grouped AS (
    SELECT host, site, count(*) AS sources, sum(state = 'active') AS active,
        sum(state = 'active' AND failures > 0) AS failing, max(iif(state = 'active', failures, 0)) AS worst, failure,
        sum(new_links) AS new_links
    FROM sources GROUP BY host
), times AS (SELECT host, max(last_crawl) AS last_crawl, max(last_new) AS last_new FROM sources GROUP BY host)
SELECT coalesce(grouped.host, hosts.host) AS name, coalesce(grouped.site, ''), coalesce(sources, 0) AS sources,
    coalesce(active, 0), coalesce(failing, 0) AS failing, coalesce(worst, 0) AS worst,
    iif(worst > 0, grouped.failure, ''), coalesce(new_links, 0), last_crawl, last_new, hosts.found_at,
    coalesce(hosts.failure, ''), until, coalesce(rests.reason, '')
FROM grouped FULL JOIN hosts ON hosts.host = grouped.host LEFT JOIN times ON times.host = grouped.host
    LEFT JOIN rests ON rests.site = grouped.site
"""


def sources(database: Database, asked: Listing) -> SourcesListed:
    """A part of the sources."""
    where, values = _where(asked)
    order = _ordered(_SOURCE_ORDERS[asked.order], asked.descending)
    ids: list[Any] = database.execute(
        f"SELECT id FROM sources LEFT JOIN estimates ON source = id {where} ORDER BY {order}, id LIMIT ? OFFSET ?",
        (*values, asked.first, asked.skip),
    ).fetchall()
    total = int(database.execute(f"SELECT count(*) FROM sources {where}", values).get)
    rows = kept.some(database, [row[0] for row in ids])
    return SourcesListed(rows, {row.id: last_yield(database, row.id) for row in rows if row.crawls}, total)


def hosts(database: Database, asked: Listing) -> HostsListed:
    """A part of the hosts."""
    likes, values = _likes("name", asked.words)
    where = f"WHERE {' AND '.join(likes)}" if likes else ""
    order = _ordered(_HOST_ORDERS[asked.order], asked.descending)
    rows: list[Any] = database.execute(
        f"SELECT *, count(*) OVER () FROM ({_HOSTS}) {where} ORDER BY {order}, name LIMIT ? OFFSET ?",
        (*values, asked.first, asked.skip),
    ).fetchall()
    total = rows[0][-1] if rows else 0
    return HostsListed([HostRow(*row[:-1]) for row in rows], total)


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
    return [f"{column} LIKE ? ESCAPE '\\'" for _ in apart], [f"%{word}%" for word in escaped]


def _ordered(column: str, descending: bool) -> str:
    return f"{column} {'DESC' if descending else 'ASC'} NULLS LAST"
