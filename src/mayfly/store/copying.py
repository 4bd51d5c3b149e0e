"""All of one store into another that is empty, whatever kinds they are.

It is read from a snapshot and written in one transaction: a copy that is cut short leaves nothing behind. Both kinds
have the same tables and columns; what only one has (shards, the index of words) its own triggers make of the rest, for
which a source must be there before its pages, and a page before what happened to it. What a shard alone was told and
has learned (names with a colon) stays behind: the copy may have other shards, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from mayfly.errors import RunError, UsageError
from mayfly.store.database import Database
from mayfly.store.tables import meta

TABLES = (
    "sources", "pages", "log", "estimates", "shows", "seen", "addresses", "texts", "links", "steps", "tellings",
    "clicks", "clicks_unknown", "batches", "hosts", "candidates", "linked_hosts", "linked_by", "linked_pages", "robots",
    "minutes", "rests", "hints", "subscriptions", "learned",
)  # fmt: skip
_ALWAYS = ("totals", "meta")  # have rows in an empty store, too
_BUT_OWN = {  # names that say something of the database or of its shards, not of what it holds
    "meta": "WHERE name NOT IN ('schema', 'shards') AND name NOT LIKE '%:%'",
    "learned": "WHERE name NOT LIKE '%:%'",
}
_CURSORS = ("told", "hints")
NUMBERED = {"pages": "id", "log": "seq", "clicks_unknown": "id", "batches": "number", "hints": "id"}


class Count(NamedTuple):
    """Rows of a table, there and here."""

    table: str
    read: int
    written: int


class Side(Protocol):
    """A store that is read or written as a whole, within one transaction."""

    name: str  # for people

    @property
    def database(self) -> Database: ...
    def columns(self, table: str) -> Sequence[str]:
        """Those that are written; the others follow from them."""

    def rows(self, table: str, columns: Sequence[str], where: str = "") -> Iterator[list[Any]]:
        """Of a table, some thousand at a time."""

    def put(self, table: str, columns: Sequence[str], rows: list[Any]) -> None: ...
    def last_number(self, table: str) -> int:
        """The last number that was given to a row, whether it is still there or not; 0: none was."""

    def go_on_behind(self, table: str, number: int) -> None:
        """Give the next row of a table a larger number."""

    def commit(self) -> None: ...


def copy(source: Side, target: Side, done: Callable[[int], None] = lambda _: None) -> list[Count]:
    """Copy everything, and count it on both sides; a `RunError` if that is not the same, and nothing is kept."""
    require_empty(target)
    for table in (*TABLES, *_ALWAYS):
        if table in _ALWAYS:
            target.database.execute(f"DELETE FROM {table} {_BUT_OWN.get(table, '')}")
        _copy_table(source, target, table, done)
    for table in NUMBERED:
        if number := source.last_number(table):
            target.go_on_behind(table, number)
    found = [Count(table, count(source, table), count(target, table)) for table in (*TABLES, *_ALWAYS)]
    if wrong := [f"{one.table} ({one.read:,} and {one.written:,})" for one in found if one.read != one.written]:
        raise RunError(f"{target.name} would not hold all that {source.name} does: {', '.join(wrong)}; nothing is kept")
    for name in _CURSORS:
        meta.put(target.database, name, meta.cursor(source.database, name))
    target.commit()
    return found


def require_empty(target: Side) -> None:
    """Refuse to copy into a store that holds anything."""
    for table in TABLES:
        if count(target, table):
            raise UsageError(f"{target.name} is not empty, it has {table}: name a home or a database that is")


def count(side: Side, table: str) -> int:
    """Rows of a table that are to be copied, or were."""
    return int(side.database.execute(f"SELECT count(*) FROM {table} {_BUT_OWN.get(table, '')}").get)


def _copy_table(source: Side, target: Side, table: str, done: Callable[[int], None]) -> None:
    there = set(target.columns(table))
    columns = [column for column in source.columns(table) if column in there]
    for rows in source.rows(table, columns, _BUT_OWN.get(table, "")):
        target.put(table, columns, rows)
        done(len(rows))


def quoted(columns: Iterable[str]) -> str:
    """Names of columns in SQL; one of them is a word of it."""
    return ", ".join(f'"{column}"' for column in columns)
