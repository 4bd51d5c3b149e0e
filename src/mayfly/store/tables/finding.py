"""What the finder of sources keeps: hosts, links that may become sources, robots.txt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mayfly.core.model import WEEK, Seconds
from mayfly.store.database import Database
from mayfly.store.records import Candidate, Host, KeptRobots, Minute, Rest
from mayfly.store.tables.words import storable

_FORGET_AFTER: Seconds = WEEK  # a candidate that was not seen for so long


def hosts(database: Database) -> list[Host]:
    return [Host(*row) for row in _rows(database, "SELECT host, added_at, found_at, failure FROM hosts ORDER BY host")]


def hosts_due(database: Database, searched: Seconds, failed: Seconds) -> list[str]:
    """Those never searched, or before a time; where it failed, before another."""
    sql = (
        "SELECT host FROM hosts WHERE found_at IS NULL OR found_at < ?1 OR (found_at < ?2 AND failure <> '')"
        " ORDER BY host"
    )
    return [row[0] for row in _rows(database, sql, searched, failed)]


def add_hosts(database: Database, at: Seconds, hosts: Sequence[str]) -> None:
    database.executemany(
        "INSERT INTO hosts (host, added_at) VALUES (?, ?) ON CONFLICT DO NOTHING", [(host, at) for host in hosts]
    )


def host_searched(database: Database, host: str, at: Seconds, failure: str) -> None:
    database.execute(
        "INSERT INTO hosts VALUES (?1, ?2, ?2, ?3)"
        " ON CONFLICT (host) DO UPDATE SET found_at = excluded.found_at, failure = excluded.failure",
        (host, at, storable(failure)),
    )


def note_candidates(database: Database, at: Seconds, host: str, urls: Sequence[str]) -> None:
    """These stand on the front page now; those not seen for a week are forgotten."""
    database.executemany(
        "INSERT INTO candidates VALUES (?1, ?2, ?3, ?3)"
        " ON CONFLICT (host, url) DO UPDATE SET last_seen = max(candidates.last_seen, excluded.last_seen)",
        [(host, url, at) for url in urls],
    )
    database.execute("DELETE FROM candidates WHERE host = ? AND last_seen < ?", (host, at - _FORGET_AFTER))


def candidates(database: Database, host: str) -> list[Candidate]:
    sql = "SELECT url, first_seen, last_seen FROM candidates WHERE host = ? ORDER BY first_seen, url"
    return [Candidate(*row) for row in _rows(database, sql, host)]


def robots(database: Database, origins: Sequence[str] | None) -> list[KeptRobots]:
    sql = "SELECT origin, body, fetched_at FROM robots"
    if origins is None:
        ours = f"{database.mine} OR shard IS NULL" if database.mine != "TRUE" else "TRUE"  # or kept by one process
        return [KeptRobots(*row) for row in _rows(database, f"{sql} WHERE {ours} ORDER BY origin")]
    return [KeptRobots(*row) for origin in origins for row in _rows(database, f"{sql} WHERE origin = ?", origin)]


def keep_robots(database: Database, robots: KeptRobots) -> None:
    database.execute(
        "INSERT INTO robots VALUES (?, ?, ?)"
        " ON CONFLICT (origin) DO UPDATE SET body = excluded.body, fetched_at = excluded.fetched_at",
        robots,
    )


def note_rest(database: Database, rest: Rest, reason: str) -> None:
    """A site is left alone until then, or longer if that was said before."""
    database.execute(
        "INSERT INTO rests VALUES (?, ?, ?)"
        " ON CONFLICT (site) DO UPDATE SET until = max(rests.until, excluded.until),"
        " reason = CASE WHEN excluded.until > rests.until THEN excluded.reason ELSE rests.reason END",
        (rest.site, rest.until, storable(reason)),
    )


def rests(database: Database, now: Seconds) -> list[Rest]:
    """Sites that are to be left alone now."""
    return [Rest(*row) for row in _rows(database, "SELECT site, until FROM rests WHERE until > ? ORDER BY site", now)]


def minutes(database: Database, since: Seconds) -> list[Minute]:
    sql = "SELECT at, crawls, pages, others, failures, found, price, budget FROM minutes WHERE at >= ? ORDER BY at"
    return [Minute(*row) for row in _rows(database, sql, since)]


def note_minute(database: Database, minute: Minute) -> None:
    """Keep it; what was noted of it before, by a crawler that was started again or by other shards, is added to."""
    database.last(_add_minutes, minute)


def _add_minutes(database: Database, minutes: list[Minute]) -> None:
    """Each shard pays a price of its own, nearly the same: theirs is the mean of what was paid."""
    weight = "({0}.crawls + {0}.pages + 1)".format
    old, new = weight("minutes"), weight("excluded")
    mean = f"(minutes.price * {old} + excluded.price * {new}) / ({old} + {new})"
    database.executemany(
        "INSERT INTO minutes VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (at) DO UPDATE SET"
        " crawls = minutes.crawls + excluded.crawls, pages = minutes.pages + excluded.pages,"
        " others = minutes.others + excluded.others, failures = minutes.failures + excluded.failures,"
        " found = minutes.found + excluded.found, budget = excluded.budget,"
        f" price = coalesce({mean}, excluded.price, minutes.price)",
        minutes,
    )


def _rows(database: Database, sql: str, *values: Any) -> list[Any]:
    return database.execute(sql, values).fetchall()
