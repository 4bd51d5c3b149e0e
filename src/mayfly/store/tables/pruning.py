"""What is forgotten, and when. Tables are swept in stretches, so that whoever writes beside it never waits long."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mayfly.core.model import WEEK, Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.records import Retention
from mayfly.store.tables import seen

_STRETCH = 5000  # rows that are looked at together
_SOURCES = 200  # whose shows are
_MOST_UNKNOWN = 1_000_000  # clicks of pages nobody knows; a log can hold anything


class Sweep(NamedTuple):
    """Rows of one table that are forgotten. `key` orders it; rows that share one are looked at together."""

    name: str
    table: str
    key: str
    where: str
    values: tuple[Any, ...]
    how: str = "DELETE FROM {table}"

    def bound(self, database: Database, behind: Any) -> Any:
        """The last key of the stretch behind this one; None: there is none."""
        start = "" if behind is None else f"WHERE {self.key} > ?"
        row = database.execute(
            f"SELECT max({self.key}) FROM"
            f" (SELECT {self.key} FROM {self.table} {start} ORDER BY {self.key} LIMIT {_STRETCH}) AS stretch",
            () if behind is None else (behind,),
        ).fetchone()
        return row[0] if row else None

    def any_in(self, database: Database, behind: Any, bound: Any) -> bool:
        """Whether the stretch holds anything to forget."""
        sql = f"SELECT EXISTS (SELECT 1 FROM {self.table} {self._where(behind)})"
        return bool(database.execute(sql, self._values(behind, bound)).get)

    def forget(self, database: Database, behind: Any, bound: Any) -> int:
        """Forget what the stretch holds of it; how many rows."""
        database.in_turn()  # what goes is counted, and counts are written in turn
        act = self.how.format(table=self.table)
        database.execute(f"{act} {self._where(behind)}", self._values(behind, bound))
        return database.changes()

    def _where(self, behind: Any) -> str:
        start = "" if behind is None else f"{self.key} > ? AND "
        return f"WHERE {start}{self.key} <= ? AND ({self.where})"

    def _values(self, behind: Any, bound: Any) -> tuple[Any, ...]:
        return (*(() if behind is None else (behind,)), bound, *self.values)


def sweeps(now: Seconds, keep: Retention) -> list[Sweep]:
    """In an order in which nothing is kept for what a later one forgets."""
    history = now - keep.history
    return [
        Sweep("pages", "pages", "id", "outcome <> 'waiting' AND found_at < ?", (now - keep.pages,)),
        Sweep(
            "texts",
            "texts",
            "landed",
            "kept = 1 AND landed IN (SELECT landed FROM pages WHERE landed = texts.landed AND fetched_at < ?)",
            (now - keep.text,),
            "UPDATE {table} SET text = '', kept = 0",
        ),
        Sweep("links", "links", "crawl", "removed < ?", (history,)),
        Sweep("log", "log", "seq", "at < ?", (history,)),
        Sweep("clicks", "clicks", "id", "bin < ?", (history,)),
        Sweep(
            "clicks_unknown",
            "clicks_unknown",
            "id",
            f"bin < ? OR id <= (SELECT max(id) - {_MOST_UNKNOWN} FROM clicks_unknown)",
            (now - keep.clicks_unknown,),
        ),
        Sweep("batches", "batches", "number", "at < ?", (now - keep.batches,)),
        Sweep("hints", "hints", "id", "at < ?", (now - keep.hints,)),
        Sweep("seen", "seen", "hash", "page = 0 AND day < ?", (seen.day_of(now - keep.seen),)),
        Sweep("minutes", "minutes", "at", "at < ?", (history,)),
        Sweep("rests", "rests", "site", "until < ?", (history,)),
        Sweep("linked_hosts", "linked_hosts", "host", "last < ?", (history,)),
        Sweep("linked_pages", "linked_pages", "hash", "day < ?", (seen.day_of(history),)),
        Sweep("candidates", "candidates", "host", "last_seen < ?", (history,)),
        Sweep("robots", "robots", "origin", "fetched_at < ?", (now - WEEK,)),
    ]


def about_to_go(
    database: Database, behind: SourceId, now: Seconds, keep: Retention
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], SourceId | None]:
    """Addresses some sources show now that were seen too long ago, and where to go on."""
    rows: list[Any] = database.execute(
        "SELECT source, hashes FROM shows WHERE source > ? ORDER BY source LIMIT ?", (behind, _SOURCES)
    ).fetchall()
    shown = np.concatenate([np.empty(0, np.int64), *(np.frombuffer(row[1], np.int64) for row in rows)])
    if not len(shown):
        return shown, rows[-1][0] if rows else None
    old: list[Any] = database.execute(
        "SELECT hash FROM carray(?) AS asked CROSS JOIN seen WHERE hash = asked.value AND day < ?",
        (database.array(shown), seen.day_of(now - keep.seen)),
    ).fetchall()
    return np.array([row[0] for row in old], np.int64), rows[-1][0]
