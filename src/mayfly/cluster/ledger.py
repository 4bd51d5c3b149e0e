"""The cluster's state in PostgreSQL: who owns which shard, what it may spend, which nodes are to be emptied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mayfly.core.model import PerSecond, Seconds

_TABLES = """
create table if not exists cluster_shard (
  number int primary key, owner text not null default '', epoch bigint not null default 0,
  lease_until timestamptz not null default now(), price float8 not null default 0, allotment float8 not null default 0,
  version bigint not null default 0, rate float8 not null default 0, reported_at timestamptz not null default now(),
  waiting bigint not null default 0, lag float8 not null default 0);
create table if not exists cluster_draining (node text primary key);
"""


@dataclass(frozen=True, slots=True)
class ShardRow:
    """A shard as the database has it."""

    number: int
    owner: str
    epoch: int
    lease_until: Seconds
    lease_left: Seconds
    price: float
    allotment: PerSecond
    version: int
    rate: PerSecond
    reported_at: Seconds
    waiting: int
    lag: Seconds


class Ledger:
    """Reads and writes that state."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __aenter__(self) -> Ledger:
        import asyncpg

        self._pool = await asyncpg.create_pool(self._url, min_size=1, max_size=2)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close()

    async def start(self, shards: int) -> None:
        """Make the rows, once."""
        await self._pool.execute(_TABLES)
        await self._pool.executemany(
            "insert into cluster_shard (number) values ($1) on conflict do nothing", [(n,) for n in range(shards)]
        )

    async def shards(self) -> list[ShardRow]:
        """All shards, by number."""
        rows: list[Any] = await self._pool.fetch(
            "select number, owner, epoch, extract(epoch from lease_until)::float8 lease_until, "
            "extract(epoch from lease_until - now())::float8 lease_left, price, allotment, version, rate, "
            "extract(epoch from reported_at)::float8 reported_at, waiting, lag from cluster_shard order by number"
        )
        return [ShardRow(**dict(row)) for row in rows]

    async def draining(self) -> set[str]:
        """Nodes that are to be emptied."""
        return {row["node"] for row in await self._pool.fetch("select node from cluster_draining")}

    async def set_draining(self, node: str, on: bool) -> None:
        """Begin or end that."""
        if on:
            await self._pool.execute("insert into cluster_draining values ($1) on conflict do nothing", node)
        else:
            await self._pool.execute("delete from cluster_draining where node = $1", node)
