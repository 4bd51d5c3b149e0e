"""The cluster's state in PostgreSQL: who owns which shard, what it wants and may spend, which nodes are emptied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np

from mayfly.cluster.lease import Lease
from mayfly.cluster.line import Line
from mayfly.core.allotment import Grants, Report
from mayfly.core.model import NO_EVIDENCE, Evidence, FloatArray, PerSecond, Seconds
from mayfly.errors import RunError
from mayfly.store.postgres_engine import CRAWLING
from mayfly.store.postgres_schema import shard_of
from mayfly.urls import site_of

COORDINATOR = -1  # whose lease is his who deals out the budget
_PATIENCE: Seconds = 10.0
_AS_BEFORE = (None,) * len(NO_EVIDENCE)

_SHARDS = """
SELECT shard, owner, epoch, extract(epoch FROM until)::float8 AS lease_until,
    (extract(epoch FROM until) - extract(epoch FROM clock_timestamp()))::float8 AS lease_left,
    coalesce(price, 0) AS price, allotment, version, used AS rate, extract(epoch FROM at)::float8 AS reported_at,
    waiting, lag
FROM leases JOIN offers USING (shard) JOIN reports USING (shard) ORDER BY shard
"""
_HEARD = """
SELECT demand, applied, used, idle, at > $1 AS fresh, at > '-infinity' AS ever,
    offers.version, coalesce(price, 0) AS price, allotment, since, ceiling, room
FROM reports JOIN offers USING (shard) ORDER BY shard
"""
_OFFER = """
UPDATE offers SET version = $2, price = $3, allotment = $4, since = $5, ceiling = $6, room = $7, budget = $8,
    dealt_at = clock_timestamp()
WHERE shard = $1
"""
_DEALT = """
SELECT coalesce(max(budget), 0), coalesce(max(price), 0),
    coalesce(nullif((extract(epoch FROM clock_timestamp()) - extract(epoch FROM max(dealt_at)))::float8, 'infinity'),
        0),
    coalesce((SELECT owner FROM leases WHERE shard = $1 AND until > clock_timestamp()), '')
FROM offers WHERE version = (SELECT max(version) FROM offers)
"""
_REPORT = """
UPDATE reports SET at = clock_timestamp(), demand = coalesce($2, demand), applied = $3, used = $4, idle = $5,
    waiting = $6, lag = $7, links = coalesce($8, links), watched = coalesce($9, watched),
    clicks = coalesce($10, clicks), exposure = coalesce($11, exposure), fades = coalesce($12, fades),
    places = coalesce($13, places)
WHERE shard = $1 AND EXISTS (SELECT FROM leases WHERE leases.shard = $1 AND epoch = $14)
"""
_SUMS = """ARRAY(
    SELECT sum(one) FROM reports, unnest({column}) WITH ORDINALITY AS seen (one, number)
    WHERE shard <> $1 AND cardinality({column}) = {like} GROUP BY number ORDER BY number
)"""
_OTHERS = f"""
SELECT coalesce(sum(links), 0), coalesce(sum(watched), 0), coalesce(sum(clicks), 0), coalesce(sum(exposure), 0),
    {_SUMS.format(column="fades", like="$2")}, {_SUMS.format(column="places", like="$3")}
FROM reports WHERE shard <> $1
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


@dataclass(frozen=True, slots=True)
class Dealt:
    """The last round of the coordinator: zeros where there was none."""

    budget: PerSecond
    price: float
    ago: Seconds
    coordinator: str  # who deals now; empty: nobody


@dataclass(frozen=True, slots=True)
class Offer:
    """What a shard may spend."""

    version: int
    price: float
    allotment: PerSecond


@dataclass(frozen=True, slots=True)
class Told:
    """What a shard says of itself."""

    applied: int  # the version of the offer it keeps to
    used: PerSecond = 0.0  # requests that left, since the report before
    idle: bool = False  # it could have made more, and had nothing to fetch
    waiting: int = 0  # pages
    lag: Seconds = 0.0  # of its event loop
    curve: FloatArray | None = None  # what its sources want at each price; None: as said before
    evidence: Evidence | None = None  # None: as said before


class Ledger:
    """Reads and writes that state. An async context manager."""

    def __init__(self, url: str, patience: Seconds = _PATIENCE) -> None:
        self.line = Line(url, patience)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.line.__aexit__(kind, error, trace)

    async def start(self, shards: int) -> None:
        """Make the rows, once; the number of shards is the database's."""
        async with self.line.transaction() as connection:
            have = await connection.fetchval("SELECT value FROM meta WHERE name = 'shards'")
            if have != shards:
                raise RunError(
                    f"this database was made for {have} shards, which can never be changed: give --shards {have}, or "
                    "copy it into a new one (mayfly store copy)"
                )
            numbers = [(number,) for number in range(shards)]
            for table in ("leases", "reports", "offers"):
                await connection.executemany(
                    f"INSERT INTO {table} (shard) VALUES ($1) ON CONFLICT DO NOTHING",
                    [*numbers, (COORDINATOR,)] if table == "leases" else numbers,
                )
            orphans = await connection.fetch("SELECT id, hub FROM subscriptions WHERE shard IS NULL")
            await connection.executemany(  # one process has asked these hubs; now those do whose sites they are
                "UPDATE subscriptions SET shard = $2 WHERE id = $1",
                [(one["id"], shard_of(site_of(one["hub"]), shards)) for one in orphans],
            )

    async def shards(self) -> list[ShardRow]:
        """All shards, by number."""
        return [ShardRow(*row) for row in await self.line.rows(_SHARDS)]

    async def dealt(self) -> Dealt:
        """What was dealt out last, and who does."""
        return Dealt(*(await self.line.rows(_DEALT, COORDINATOR))[0])

    async def is_crawled_by_one(self) -> bool:
        """Whether one process crawls here, so that no shard can."""
        rows = await self.line.rows("SELECT pg_try_advisory_xact_lock_shared($1)", CRAWLING)
        return not rows[0][0]

    async def now(self) -> Any:
        """The database's clock."""
        return (await self.line.rows("SELECT clock_timestamp()"))[0][0]

    async def reported(self, since: Any) -> int:
        """How many shards have said something since then."""
        return int((await self.line.rows("SELECT count(*) FROM reports WHERE at > $1", since))[0][0])

    # Of the coordinator

    async def heard(self, since: Any, points: int) -> tuple[Grants | None, list[Report | None], Any]:
        """What was granted last (None: nothing yet), what shards said, and now."""
        async with self.line.transaction() as connection:
            rows = await connection.fetch(_HEARD, since)
            moment = await connection.fetchval("SELECT clock_timestamp()")
        reports = [_report(row, points) for row in rows]
        return (_grants(rows) if rows and rows[0]["version"] else None), reports, moment

    async def offer(self, grants: Grants, budget: PerSecond, lease: Lease) -> None:
        """Write what is granted of the budget, while we are the one who grants."""
        rows = [
            (shard, grants.version, grants.price, float(numbers[0]), int(numbers[1]), *map(float, numbers[2:]), budget)
            for shard, numbers in enumerate(
                zip(grants.allotment, grants.since, grants.ceiling, grants.room, strict=True)
            )
        ]
        async with self.line.transaction() as connection:
            held = "SELECT epoch FROM leases WHERE shard = $1 FOR KEY SHARE"
            lease.must_be(await connection.fetchval(held, COORDINATOR))
            await connection.executemany(_OFFER, rows)

    # Of a shard

    async def offered(self, shard: int) -> Offer | None:
        """What it may spend; None: nobody has said yet."""
        sql = "SELECT version, coalesce(price, 0) AS price, allotment FROM offers WHERE shard = $1 AND version > 0"
        rows = await self.line.rows(sql, shard)
        return Offer(*rows[0]) if rows else None

    async def report(self, lease: Lease, told: Told) -> None:
        """What its owner says of a shard. Who is its owner no more is not heard."""
        curve = None if told.curve is None else np.asarray(told.curve, "<f8").tobytes()
        numbers = told.applied, told.used, told.idle, told.waiting, told.lag
        evidence: Sequence[Any] = _AS_BEFORE
        if told.evidence is not None and _makes_sense(told.evidence):
            evidence = told.evidence
        await self.line.rows(_REPORT, lease.shard, curve, *numbers, *evidence, lease.epoch)

    async def evidence_of_others(self, shard: int, own: Evidence) -> Evidence:
        """What all other shards have learned, together; of columns, those who have as many as it has itself."""
        rows = await self.line.rows(_OTHERS, shard, len(own.fading), len(own.places))
        links, watched, clicks, exposure, *columns = rows[0]
        others = Evidence(links, watched, clicks, exposure, *map(tuple, columns))
        return others if _makes_sense(others) else NO_EVIDENCE

    # Of nodes

    async def draining(self) -> set[str]:
        """Nodes that are to be emptied."""
        return {row[0] for row in await self.line.rows("SELECT node FROM draining")}

    async def set_draining(self, node: str, on: bool) -> None:
        """Begin or end that."""
        if on:
            await self.line.rows("INSERT INTO draining VALUES ($1) ON CONFLICT DO NOTHING", node)
        else:
            await self.line.rows("DELETE FROM draining WHERE node = $1", node)


def _makes_sense(evidence: Evidence) -> bool:
    return bool(np.isfinite([*evidence[:4], *evidence.fading, *evidence.places]).all())


def _report(row: Any, points: int) -> Report | None:
    if not row["ever"]:
        return None
    curve = np.frombuffer(row["demand"] or bytes(8), "<f8")
    if not np.isfinite([*curve, row["used"]]).all():
        return None  # one that makes no sense must not spoil what all are given
    if len(curve) != points:  # of a shard that was started with another grid, which has the same ends
        curve = np.interp(np.linspace(0, 1, points), np.linspace(0, 1, len(curve)), curve)
    return Report(curve, row["applied"], row["used"], row["idle"], row["fresh"])


def _grants(rows: list[Any]) -> Grants:
    columns = {name: np.array([row[name] for row in rows], float) for name in ("allotment", "ceiling", "room")}
    since = np.array([row["since"] for row in rows], np.int64)
    return Grants(
        rows[0]["version"], rows[0]["price"], columns["allotment"], since, columns["ceiling"], columns["room"]
    )
