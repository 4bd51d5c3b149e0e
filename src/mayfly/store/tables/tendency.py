"""Hosts by the new pages that were found of them: what our own history says of who shows new content."""

from __future__ import annotations

from typing import Any

from mayfly.core.model import Seconds
from mayfly.store.database import Database
from mayfly.store.listings import HostYield

# Old, twice there or none: what a source showed as new and was not.
_DULL = "('old', 'duplicate', 'soft-404', 'log-in')"

_YIELDS = f"""
SELECT host, count(*) FILTER (WHERE outcome NOT IN {_DULL}) AS fresh, count(*) FILTER (WHERE outcome IN {_DULL}),
    min(found_at), (SELECT added_at FROM hosts WHERE hosts.host = pages.host),
    EXISTS (SELECT 1 FROM sources WHERE sources.host = pages.host AND state = 'active')
FROM pages WHERE found_at >= ?1 GROUP BY host ORDER BY fresh DESC, host
"""
_CLICKS = """
SELECT host, sum(count) FROM clicks JOIN pages ON pages.id = clicks.page
WHERE found_at >= ?1 AND kind = 'click' GROUP BY host
"""


def yields(database: Database, since: Seconds) -> list[HostYield]:
    """What was found of each host since then, the most first."""
    rows: list[Any] = database.execute(_YIELDS, (since,)).fetchall()
    counts: list[Any] = database.execute(_CLICKS, (since,)).fetchall()
    clicks = dict(counts)
    return [
        HostYield(host, new, dull, clicks.get(host, 0.0), max(min(found, added or found), since), bool(watched))
        for host, new, dull, found, added, watched in rows
    ]
