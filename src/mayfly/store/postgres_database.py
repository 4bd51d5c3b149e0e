"""A connection to PostgreSQL in the hands of one thread: it waits for each answer on an event loop of its own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, TypeVar

from mayfly.core.model import IntArray, Seconds
from mayfly.store.database import HAPPENED, NOBODY, NONE, Part
from mayfly.store.glimpses import Glimpses
from mayfly.store.tsvector import TsVector

_T = TypeVar("_T")
_NUMBERED = re.compile(r"\?(\d*)")
_INDEXED = re.compile(r" INDEXED BY \w+")  # PostgreSQL knows itself
_NUMBERS = "SELECT nextval(pg_get_serial_sequence('pages', 'id')) FROM generate_series(1, CAST(? AS integer))"
_NUMBERING = 0x4D617966  # the lock of whoever gives numbers that others read as cursors


class Rows:
    """Implements `database.Rows`."""

    def __init__(self, records: list[Any]) -> None:
        self._rows = [tuple(record) for record in records]

    @property
    def get(self) -> Any:
        if not self._rows:
            return None
        first = self._rows[0]
        return first[0] if len(first) == 1 else first

    def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> list[Any]:
        return self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


class PostgresDatabase:
    """Implements `database.Database`."""

    words = TsVector()

    def __init__(self, loop: asyncio.AbstractEventLoop, patience: Seconds | None, shard: int | None) -> None:
        """`patience`: of one statement; a network may be silent for ever. None: as long as it takes."""
        self._loop, self._patience = loop, patience
        self._connection: Any = None
        self._prepared: dict[str, Any] = {}
        self._status = ""
        self._shard = shard
        self._last: list[tuple[Callable[[Any, list[Any]], None], Any]] = []
        self._numbering = False
        self.seed = 0
        self.mine = "TRUE" if shard is None else f"shard = {shard}"
        self.mine_or_found = "TRUE" if shard is None else f"(pages.shard = {shard} OR pages.finder = {shard})"
        self.by_others = NONE if shard is None else by_others(shard)
        self.past: Sequence[Part] = past_of(shard)

    def use(self, connection: Any) -> None:
        """Speak through this one from now on."""
        self._connection = connection
        self._prepared.clear()

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """What comes of it; a `TimeoutError` if nothing does."""
        return self._loop.run_until_complete(asyncio.wait_for(work, self._patience))

    @cached_property
    def glimpses(self) -> Glimpses:
        """For who reads."""
        return Glimpses()

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Rows:
        return Rows(self.wait(self._fetch(sql, values)))

    async def _fetch(self, sql: str, values: Sequence[Any]) -> list[Any]:
        statement = await self._statement(sql)
        records: list[Any] = await statement.fetch(*map(_without_zeros, values))
        self._status = statement.get_statusmsg()
        return records

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> None:
        if some := list(rows):
            self.wait(self._do_all(sql, some))

    async def _do_all(self, sql: str, rows: list[Sequence[Any]]) -> None:
        await (await self._statement(sql)).executemany(rows)

    async def _statement(self, sql: str) -> Any:
        """Prepared once for each connection."""
        if sql not in self._prepared:
            self._prepared[sql] = await self._connection.prepare(spoken(sql))
        return self._prepared[sql]

    def copy_in(self, table: str, columns: Sequence[str], rows: list[Any]) -> None:
        """Many rows at once."""
        self.wait(self._connection.copy_records_to_table(table, records=rows, columns=list(columns)))

    def plainly(self, sql: str) -> None:
        """Statements without values."""
        self.wait(self._connection.execute(sql))

    def changes(self) -> int:
        count = self._status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    def array(self, numbers: IntArray) -> list[int]:
        return numbers.tolist()

    def page_numbers(self, count: int) -> list[int]:
        return [row[0] for row in self.execute(_NUMBERS, (count,))]

    def name(self, cursor: str) -> str:
        return cursor if self._shard is None else f"{cursor}:{self._shard}"

    def last(self, work: Callable[[Any, list[Any]], None], item: Any) -> None:
        self._last.append((work, item))

    def in_turn(self) -> None:
        if not self._numbering:
            self.execute("SELECT pg_advisory_xact_lock(?)", (_NUMBERING,))
            self._numbering = True

    # For the engine

    def begun(self) -> None:
        """A transaction has begun, or is over."""
        self._last.clear()
        self._numbering = False

    @property
    def left(self) -> int:
        """How much is still to be done last."""
        return len(self._last)

    def forget_last(self, behind: int) -> None:
        """Of what is to be done last, all that was said later than this."""
        del self._last[behind:]

    def do_last(self) -> None:
        """What many writers want: numbers and counts. From the first of it on, others wait."""
        if self._last:
            self.in_turn()
        items: dict[Callable[[Any, list[Any]], None], list[Any]] = {}
        for work, item in self._last:
            items.setdefault(work, []).append(item)
        for work, some in items.items():
            work(self, some)
        self._last.clear()


def _without_zeros(value: Any) -> Any:
    """What people type and programs send may hold them; text in PostgreSQL cannot."""
    return value.replace("\0", " ") if type(value) is str and "\0" in value else value


def by_others(shard: int) -> str:
    """Pages of ours that another shard's source found, or that another shard brought (by a redirect)."""
    ours = f"(pages.shard = {shard} OR coalesce(pages.finder, {shard}) = {shard})"
    return f"({ours} AND (coalesce(pages.finder, {shard}) <> {shard} OR coalesce(pages.bringer, {shard}) <> {shard}))"


def past_of(shard: int | None) -> tuple[Part, ...]:
    """What happened to a shard: its own, what one process did that crawled all of it before, and what became of pages
    that its sources found and others fetched. To one process all happened, but that clocks of shards were set.
    """
    if shard is None:
        return (Part(f"{HAPPENED}, shard", "log WHERE (kind <> 'step' OR shard IS NULL)"),)
    nothing = ", ".join(f"CAST(NULL AS {kind})" for kind in ("bigint", "bigint", "bigint", "bigint", "float8"))
    fate = f"settled, coalesce(fetched_at, found_at), 'fetch', CAST(NULL AS bigint), id, outcome, {nothing}"
    return (
        Part(f"{HAPPENED}, {shard}", f"log WHERE shard = {shard}"),
        Part(f"{HAPPENED}, {NOBODY}", "log WHERE shard IS NULL"),
        Part(  # not of the log, where it would be looked for among all that happened to anyone
            f"{fate}, fetched_at IS NOT NULL, {NOBODY}",
            f"pages WHERE finder = {shard} AND finder <> shard",
            "settled",
        ),
    )


@cache
def spoken(sql: str) -> str:
    """As PostgreSQL writes it: `?` is `$1`, `$2`, ….

    >>> spoken("UPDATE a SET b = ?1, c = ?1 WHERE d = ?2"), spoken("SELECT a FROM b INDEXED BY c WHERE d = ? AND e = ?")
    ('UPDATE a SET b = $1, c = $1 WHERE d = $2', 'SELECT a FROM b WHERE d = $1 AND e = $2')
    """
    number = iter(range(1, 1000))
    return _NUMBERED.sub(lambda match: f"${match[1] or next(number)}", _INDEXED.sub("", sql))
