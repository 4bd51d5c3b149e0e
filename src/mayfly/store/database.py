"""What the tables need of a database. SQLite is one (`connection.py`), PostgreSQL another (`postgres.py`).

SQL in `tables/` is what both speak. Values are `?`, or `?1`, `?2`, … where one stands twice. Rows are tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from mayfly.core.model import IntArray
from mayfly.store.glimpses import Glimpses
from mayfly.store.records import Page
from mayfly.store.sights import Candidates, Only


class Rows(Protocol):
    """What a statement found."""

    @property
    def get(self) -> Any:
        """The first row, or what it holds if it has one column only; None: there is none."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


NONE = "FALSE"
NOBODY = "CAST(NULL AS INTEGER)"
HAPPENED = "seq, at, kind, source, page, outcome, stayed, gone, first, dated, dated_since, seconds IS NOT NULL"


class Part(NamedTuple):
    """Some of what happened: where it stands, as what, and how its numbers are written there."""

    columns: str  # those of the log; whether a body was read; and who was told of clicks (`kind` 'told')
    rows: str  # FROM and WHERE
    seq: str = "seq"


class Database(Protocol):
    """A connection in the hands of one thread, within a transaction."""

    seed: int  # of fingerprints
    mine: str  # which sources, pages and happenings are ours, as a condition: all, or those of a shard
    mine_or_found: str  # the same of pages, with those our sources found for another shard
    by_others: str  # pages that another crawler wrote, so that we were never told, as a condition; NONE: there is none
    past: Sequence[Part]  # all that is to be told us again; our own is the first part

    @property
    def words(self) -> Words: ...
    @property
    def glimpses(self) -> Glimpses: ...
    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Rows: ...
    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Any: ...
    def changes(self) -> int:
        """Rows the last statement changed."""

    def array(self, numbers: IntArray) -> Any:
        """Numbers as the value of `carray(?)`."""

    def page_numbers(self, count: int) -> Sequence[int]:
        """Numbers for so many new pages; none is given twice."""

    def name(self, cursor: str) -> str:
        """What a cursor of this reader is called in `meta`."""

    def last(self, work: Callable[[Any, list[Any]], None], item: Any) -> None:
        """Do what many writers want to do at once: last in the transaction, once for all its items, so that none waits
        long. `work` is called with the database and the items."""

    def in_turn(self) -> None:
        """Wait until no other writer numbers anything; none does until this transaction is over."""


class Words(Protocol):
    """The index of words."""

    def keep(self, database: Any, texts: Sequence[tuple[int, str, str]]) -> None:
        """Texts by landing, each with its title."""

    def search(self, database: Any, asked: Sequence[str], first: int) -> list[Page]: ...
    def matching(self, database: Any, asked: Sequence[str], first: int, only: Only) -> Candidates: ...
    def wrong_counts(self, database: Any) -> list[tuple[str, int]]:
        """What is wrong with it, and how often."""
