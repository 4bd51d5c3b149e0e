"""Hosts that fetched pages link to, and how much new is behind those links.

A host shows new content if pages of ours keep linking articles there that none had linked before: a profile, an imprint
or a button is the same address each time. So `fresh` counts addresses shaped as articles at their first link, fading by
e in a week; in the long run it is how many of them come up a week. It is kept as of `last`, when the host was last
linked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mayfly.core.model import WEEK, Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.records import Suggestion
from mayfly.store.tables import seen
from mayfly.store.tables.words import storable

_MOST_HOSTS = 100  # linked by one page
_MOST_SOURCES = 20  # counted for one linked host
_FADING: Seconds = WEEK


class Linked(NamedTuple):
    """Hosts that a page links, and articles there."""

    hosts: Mapping[str, Sequence[str]]
    source: SourceId
    at: Seconds

    def some(self) -> dict[str, Sequence[str]]:
        return {storable(host): articles for host, articles in list(self.hosts.items())[:_MOST_HOSTS]}


def note(database: Database, pages: list[Linked]) -> None:
    """Count the hosts that pages link, and the articles there that no page had linked."""
    linked = [page._replace(hosts=page.some()) for page in pages]
    new = _first_linked(database, linked)
    database.executemany(
        "INSERT INTO linked_hosts AS kept (host, pages, last, fresh) VALUES (?1, 1, ?2, ?3)"
        " ON CONFLICT (host) DO UPDATE SET pages = kept.pages + 1, last = max(kept.last, excluded.last), fresh ="
        f" kept.fresh * exp(min(kept.last - excluded.last, 0.0) / {_FADING})"
        f" + excluded.fresh * exp(min(excluded.last - kept.last, 0.0) / {_FADING})",
        [(host, page.at, new[place, host]) for place, page in enumerate(linked) for host in page.hosts],
    )
    database.executemany(
        "INSERT INTO linked_by SELECT CAST(?1 AS TEXT), CAST(?2 AS BIGINT)"
        f" WHERE (SELECT count(*) FROM linked_by WHERE host = ?1) < {_MOST_SOURCES} ON CONFLICT DO NOTHING",
        [(host, page.source) for page in linked for host in page.hosts],
    )


def suggestions(database: Database, first: int) -> list[Suggestion]:
    """Hosts that are not ours, those with the most new articles of late first; then the most linked."""
    sql = (
        f"SELECT host, fresh * exp((last - (SELECT max(last) FROM linked_hosts)) / {_FADING}) AS faded, pages,"
        " (SELECT count(*) FROM linked_by WHERE linked_by.host = linked_hosts.host), last"
        " FROM linked_hosts WHERE host NOT IN (SELECT host FROM hosts) AND host NOT IN (SELECT host FROM sources)"
        " ORDER BY faded DESC, pages DESC, host LIMIT ?"
    )
    rows: list[Any] = database.execute(sql, (first,)).fetchall()
    return [Suggestion(*row) for row in rows]


def _first_linked(database: Database, linked: Sequence[Linked]) -> Counter[tuple[int, str]]:
    """By page and host, how many articles no page had linked; from now on all of them are known."""
    rows = [
        (place, host, url) for place, page in enumerate(linked) for host, urls in page.hosts.items() for url in urls
    ]
    numbers = seen.fingerprints(database, [url for _, _, url in rows])
    if not len(numbers):
        return Counter()
    first: dict[int, tuple[int, str]] = {}
    for number, (place, host, _) in zip(numbers.tolist(), rows, strict=True):
        first.setdefault(number, (place, host))
    known: list[Any] = database.execute(
        "SELECT hash FROM carray(?) AS asked CROSS JOIN linked_pages WHERE hash = asked.value",
        (database.array(numbers),),
    ).fetchall()
    database.executemany(
        "INSERT INTO linked_pages AS kept VALUES (?, ?)"
        " ON CONFLICT (hash) DO UPDATE SET day = excluded.day WHERE kept.day < excluded.day",
        [(number, seen.day_of(linked[place].at)) for number, (place, _) in first.items()],
    )
    for (number,) in known:
        first.pop(number, None)
    return Counter(first.values())
