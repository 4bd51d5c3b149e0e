"""What must never be in the tables, and how much they hold. Repairs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from mayfly.store.database import Database
from mayfly.store.records import Complaint

RESTORE = "stop Mayfly and go back to a copy of this file; if there is none, keep it and report what you see"
REPORT = "please report it: no command should leave this behind"
OUTCOMES = ("waiting", "fetched", "old", "duplicate", "soft-404", "log-in", "failed", "dropped")
_TOTALS = ("seen", "links", *(outcome.replace("-", "_") for outcome in OUTCOMES))


class _Rule(NamedTuple):
    """Something that must never be."""

    what: str
    number: str  # of them, in SQL


_RULES = (
    _Rule("links to pages that are not kept",
          "SELECT count(*) FROM links WHERE page NOT IN (SELECT id FROM pages)"),
    _Rule("links of sources that are not kept",
          "SELECT count(*) FROM links WHERE source NOT IN (SELECT id FROM sources)"),
    _Rule("addresses that lead to pages that are not kept",
          "SELECT count(*) FROM seen WHERE page > 0 AND page NOT IN (SELECT id FROM pages)"),
    _Rule("other addresses of pages that are not kept",
          "SELECT count(*) FROM addresses WHERE page NOT IN (SELECT id FROM pages)"),
    _Rule("pages that stand twice on a source",
          "SELECT count(*) FROM"
          " (SELECT 1 FROM links WHERE removed IS NULL GROUP BY page, source HAVING count(*) > 1) AS twice"),
    _Rule("pages whose address is forgotten",
          "SELECT count(*) FROM pages WHERE hash NOT IN (SELECT hash FROM seen)"),
    _Rule("pages of sources that are not kept",
          "SELECT count(*) FROM pages WHERE source NOT IN (SELECT id FROM sources)"),
    _Rule("pages that are settled and have no number, or the other way round",
          "SELECT count(*) FROM pages WHERE (outcome = 'waiting') <> (landed IS NULL)"),
    _Rule("texts of pages that are not kept",
          "SELECT count(*) FROM texts WHERE landed NOT IN (SELECT landed FROM pages WHERE landed IS NOT NULL)"),
    _Rule("sources without host or site", "SELECT count(*) FROM sources WHERE site = '' OR host = ''"),
    _Rule("numbers of sources that are missing", "SELECT coalesce(max(id) + 1, 0) - count(*) FROM sources"),
    _Rule("estimates of sources that are not kept",
          "SELECT count(*) FROM estimates WHERE source NOT IN (SELECT id FROM sources)"),
    _Rule("lists of links of sources that are not kept, or cut short",
          "SELECT count(*) FROM shows WHERE source NOT IN (SELECT id FROM sources) OR length(hashes) % 8 <> 0"),
)  # fmt: skip


def complaints(database: Database, where: str) -> list[Complaint]:
    """All that is wrong with what is held there."""
    return [
        *(Complaint(f"{count} {what}", where, REPORT) for what, count in _wrong_counts(database)),
        *(Complaint(f"{count} {what}", where, REPORT) for what, count in database.words.wrong_counts(database)),
    ]


def counts(database: Database) -> dict[str, float]:
    """Of all that is kept. Nothing large is read for it."""
    row = database.execute(f"SELECT {', '.join(_TOTALS)} FROM totals").fetchone()
    totals = dict(zip(_TOTALS, row, strict=True))
    outcomes = {outcome: totals[outcome.replace("-", "_")] for outcome in OUTCOMES}
    tables = {table: _get(database, f"SELECT count(*) FROM {table}") for table in ("sources", "hosts", "robots")}
    spans = {
        table: _get(database, f"SELECT coalesce(max({key}) - min({key}) + 1, 0) FROM {table}")
        for table, key in (("clicks", "id"), ("clicks_unknown", "id"), ("log", "seq"))
    }
    return {
        **tables,
        "pages": sum(outcomes.values()),
        **outcomes,
        "links": totals["links"],
        "seen": totals["seen"],
        **spans,
    }


def _wrong_counts(database: Database) -> Iterator[tuple[str, int]]:
    for what, sql in _RULES:
        if count := _get(database, sql):
            yield what, count
    kept = counts(database)
    real = {outcome: _get(database, "SELECT count(*) FROM pages WHERE outcome = ?", outcome) for outcome in OUTCOMES}
    real |= {table: _get(database, f"SELECT count(*) FROM {table}") for table in ("seen", "links")}
    for name, count in real.items():
        if kept[name] != count:
            yield f"{name} are kept, and {kept[name]:.0f} are counted", count


def _get(database: Database, sql: str, *values: Any) -> int:
    return int(database.execute(sql, values).get)
