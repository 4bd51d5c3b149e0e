"""How PostgreSQL is reached, what a transaction is there, and what its errors mean to a person.

A server may be restarted and a network be cut at any time. A statement that failed so is tried again, with all of its
transaction, on a new connection. If it was the COMMIT, nobody knows whether it was done: the server is asked for the
transaction by its number, so that nothing is done twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import time
from collections.abc import Sequence

import asyncpg

from mayfly.core.model import Seconds
from mayfly.errors import BeingCrawled, RunError
from mayfly.store.address import without_password
from mayfly.store.postgres_database import PostgresDatabase
from mayfly.store.postgres_schema import SHARDS, migrations
from mayfly.store.thread import Fence

GONE = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # asked while it was being told that the server stops
    asyncpg.OperatorInterventionError,
    OSError,
    TimeoutError,
)
_BUSY = (*GONE, asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.LockNotAvailableError,
         asyncpg.TooManyConnectionsError, asyncpg.IdleInTransactionSessionTimeoutError)  # fmt: skip
_CONNECT: Seconds = 10.0
_PATIENCE: Seconds = 60.0  # with a server that is away
_STEPS = 0x4D61_7967  # the lock of whoever changes the tables
CRAWLING = 0x4D61_7968  # and of whoever crawls: one process, or a cluster
_BACKEND = "pid || ' ' || backend_start"  # a number alone is given again
_MYSELF = f"SELECT {_BACKEND} FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_HOLDER = (
    f"SELECT pid, {_BACKEND}, application_name FROM pg_locks JOIN pg_stat_activity USING (pid)"
    " WHERE locktype = 'advisory' AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname ="
    " current_database()) AND objid = CAST(? AS bigint)::oid AND granted ORDER BY backend_start"
)


class PostgresEngine:
    """Implements `thread.Engine`."""

    busy: tuple[type[BaseException], ...] = _BUSY
    raced: tuple[type[BaseException], ...] = (asyncpg.UniqueViolationError,)
    fatal: tuple[type[BaseException], ...] = (*_BUSY, asyncpg.InsufficientResourcesError, asyncpg.DataCorruptedError)

    def __init__(
        self,
        url: str,
        read_only: bool = False,
        *,
        shards: int = SHARDS,
        fence: Fence | None = None,
        crawls: bool = False,
        idle: Seconds = 10.0,
        patience: Seconds | None = None,
        steps: Sequence[str] | None = None,
    ) -> None:
        """`fence`: of a shard. `crawls`: no other may, meanwhile. `idle`: a transaction whose owner is silent for so
        long is undone by the server, and `patience` is how long one statement is waited for."""
        self.name, self.read_only = without_password(url), read_only
        self._url, self._fence, self._crawls = url, fence, crawls
        self._shards = shards
        self._steps = migrations(shards) if steps is None else steps
        self._idle, self._patience = idle, patience
        self._loop: asyncio.AbstractEventLoop
        self._database: PostgresDatabase
        self._connection: asyncpg.Connection | None = None
        self._marks: list[int] = []
        self._open = False  # a transaction is
        self._claimed = False  # by the connection that is in use
        self._claimant = ""  # the last one that did

    def open(self) -> PostgresDatabase:
        self._loop = asyncio.new_event_loop()
        shard = None if self._fence is None else self._fence.shard
        self._database = PostgresDatabase(self._loop, self._patience, shard)
        try:
            self._connect()
            if not self.read_only:
                self._migrate()
            self._check()
            self._claim()
        except (asyncpg.PostgresError, ValueError, *GONE) as error:
            self.close()
            raise self.explained(error) from error
        except BaseException:
            self.close()
            raise
        return self._database

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(*GONE, asyncpg.PostgresError):
                self._loop.run_until_complete(connection.close(timeout=2.0))
        self._loop.close()

    def begin(self, write: bool) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connect()
        self._claim()
        self._database.plainly("BEGIN" if write else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._open = True
        self._database.begun()
        if write and self._fence is not None:
            self._fence.check(self._database)

    def commit(self) -> None:
        database = self._database
        database.do_last()
        number = database.execute("SELECT pg_current_xact_id_if_assigned()::text").get
        try:
            database.plainly("COMMIT")
        except GONE:
            self._drop()
            if number is not None and not self._was_committed(number):
                raise
        self._open = False

    def roll_back(self) -> None:
        if not self._open:
            return
        self._open = False
        self._marks.clear()
        self._database.begun()
        try:
            self._database.plainly("ROLLBACK")
        except (*GONE, asyncpg.PostgresError):
            self._drop()  # with the connection goes what was not committed

    def mark(self) -> None:
        self._marks.append(self._database.left)
        self._database.plainly("SAVEPOINT one")

    def forget_mark(self) -> None:
        self._marks.pop()
        self._database.plainly("RELEASE SAVEPOINT one")

    def back_to_mark(self) -> None:
        self._database.forget_last(self._marks.pop())
        self._database.plainly("ROLLBACK TO SAVEPOINT one; RELEASE SAVEPOINT one")

    def explained(self, error: BaseException) -> RunError:
        match error:
            case ValueError():
                what = "that is no address of a PostgreSQL: write postgresql://user@host:5432/database"
            case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
                what = "it does not let us in: check the user and password in the address"
            case asyncpg.InvalidCatalogNameError():
                what = "there is no such database: make it with createdb, or name another"
            case asyncpg.InsufficientPrivilegeError():
                what = "this user may not do that: let him own the database"
            case asyncpg.DiskFullError():
                what = "the disk of the server is full: free some space, and it goes on"
            case asyncpg.TooManyConnectionsError():
                what = "it takes no more connections: raise max_connections"
            case OSError() | TimeoutError() | asyncpg.PostgresConnectionError() | asyncpg.InterfaceError():
                what = "it cannot be reached: check that PostgreSQL runs there, and the address"
            case _:
                what = "that failed"
        return RunError(f"{self.name}: {what} ({str(error) or type(error).__name__})")

    # Connecting

    def _connect(self) -> None:
        self._drop()
        settings = {
            "application_name": f"mayfly process {os.getpid()} on {socket.gethostname()}"[:63],
            "jit": "off",
            "idle_in_transaction_session_timeout": str(int(1000 * self._idle)),
            "tcp_user_timeout": str(int(1000 * self._idle)),
            "mayfly.shard": "" if self._fence is None else str(self._fence.shard),
        }
        connecting = asyncpg.connect(self._url, timeout=_CONNECT, server_settings=settings, statement_cache_size=0)
        self._connection = self._loop.run_until_complete(connecting)
        self._database.use(self._connection)
        self._claimed = False

    def _drop(self) -> None:
        connection, self._connection, self._open = self._connection, None, False
        if connection is not None and not connection.is_closed():
            connection.terminate()
            self._loop.run_until_complete(asyncio.sleep(0))

    def _was_committed(self, number: str) -> bool:
        """Whether a transaction, whose end we did not hear of, is kept."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self._connect()
                status = self._database.execute("SELECT pg_xact_status(CAST(CAST(? AS text) AS xid8))", (number,)).get
            except GONE:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
                continue
            if status != "in progress":
                return bool(status == "committed")
            time.sleep(0.05)

    # What is there

    def _migrate(self) -> None:
        """Bring the tables up to date; refuse those that are newer or not ours."""
        database = self._database
        database.plainly("BEGIN")
        try:
            database.execute("SELECT pg_advisory_xact_lock(?)", (_STEPS,))
            have = self._version()
            for step in self._steps[have:]:
                database.plainly(step)
            if not have:
                # A seed nobody knows: addresses cannot be chosen to have the fingerprints of others.
                database.execute("INSERT INTO meta VALUES ('seed', ?), ('schema', 0)", (secrets.randbits(62),))
            if have != len(self._steps):
                database.execute("UPDATE meta SET value = ? WHERE name = 'schema'", (len(self._steps),))
            database.plainly("COMMIT")
        except BaseException:
            with contextlib.suppress(asyncpg.PostgresError, *GONE):
                database.plainly("ROLLBACK")
            raise

    def _version(self) -> int:
        """How many steps it has had; 0: it is empty."""
        tables = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
        names = {row[0] for row in self._database.execute(tables)}
        if not names:
            return 0
        if not {"meta", "totals"} <= names:
            raise RunError(f"{self.name} is a database, but not one of Mayfly's: name one that is empty")
        have = int(self._database.execute("SELECT value FROM meta WHERE name = 'schema'").get or 0)
        if have > len(self._steps):
            raise RunError(f"{self.name} has schema {have}, this Mayfly knows up to {len(self._steps)}: update Mayfly")
        return have

    def _check(self) -> None:
        database = self._database
        if (have := self._version()) != len(self._steps):
            raise RunError(
                f"{self.name} has schema {have} and this Mayfly reads {len(self._steps)}: run a command that writes to "
                "it (as `mayfly crawl`), which brings it up to date"
                if have
                else f"nothing is kept in {self.name} yet: has anything been crawled there?"
            )
        database.seed = int(database.execute("SELECT value FROM meta WHERE name = 'seed'").get)

    def _claim(self) -> None:
        """One process crawls, or a cluster; never both. A claim goes with its connection."""
        if not self._crawls or self._claimed:
            return
        shared = "_shared" if self._fence is not None else ""
        while not self._database.execute(f"SELECT pg_try_advisory_lock{shared}(?)", (CRAWLING,)).get:
            pid, holder, _ = self._database.execute(_HOLDER, (CRAWLING,)).fetchone() or (0, "", "")
            if not holder or holder != self._claimant:
                who = crawled_by(self._database) or "another process"
                raise BeingCrawled(f"{self.name} is being crawled by {who}; stop that one first")
            # Ours, from before the line was cut: the server has not noticed yet.
            self._database.execute("SELECT pg_terminate_backend(?, 5000)", (pid,))
        self._claimed, self._claimant = True, self._database.execute(_MYSELF).get


def crawled_by(database: PostgresDatabase) -> str:
    """Who holds the lock of whoever crawls."""
    holders = [name.removeprefix("mayfly ") for _, _, name in database.execute(_HOLDER, (CRAWLING,))]
    return f"a cluster, {len(holders)} shards of it" if len(holders) > 1 else "".join(holders)
