"""A connection to the database from an event loop: made anew when it broke, and no question waits for ever."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import asyncpg

from mayfly.core.model import Seconds
from mayfly.store import postgres_engine

GONE = (*postgres_engine.GONE, asyncpg.TooManyConnectionsError, asyncpg.IdleInTransactionSessionTimeoutError)

_GOODBYE: Seconds = 1.0


class Line:
    """One question at a time. What fails because nobody answers raises one of `GONE`."""

    def __init__(self, url: str, patience: Seconds, name: str = "mayfly") -> None:
        self._url, self._patience, self._name = url, patience, name
        self._connection: Any = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let the connection go; the next question makes another."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            with contextlib.suppress(*GONE):
                await connection.close(timeout=_GOODBYE)

    async def rows(self, sql: str, *values: Any) -> list[Any]:
        """What a statement finds; it is a transaction of its own."""
        async with self.transaction() as connection:
            found: list[Any] = await connection.fetch(sql, *values)
            return found

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """A connection within a transaction."""
        async with self._turn:
            try:
                async with asyncio.timeout(self._patience):
                    if self._connection is None or self._connection.is_closed():
                        self._connection = await self._call()
                    await self._connection.execute("BEGIN")
                    yield self._connection
                    await self._connection.execute("COMMIT")
            except BaseException:
                self._hang_up()  # undoes it, too; to say ROLLBACK would wait for a server that may be silent
                raise

    async def _call(self) -> Any:
        settings = {
            "application_name": self._name[:63],
            "idle_in_transaction_session_timeout": str(int(1000 * self._patience)),
            "tcp_user_timeout": str(int(1000 * self._patience)),
        }
        return await asyncpg.connect(self._url, timeout=self._patience, server_settings=settings)

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            connection.terminate()
