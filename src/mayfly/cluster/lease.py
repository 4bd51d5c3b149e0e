"""Who owns a shard: a row in PostgreSQL with an owner, an epoch that grows with every change of owner, and an end.

Rule 1. A shard may ask the web only while it holds its lease by its own clock: from the moment the last renewal was
SENT, for the lease less a margin. A request takes less than the margin, so all are over when another may begin. The
clock runs on while a process or a machine stands still.
Rule 2. A shard may write only while the epoch is its own. Its transactions hold the row (FOR KEY SHARE), whoever takes
it over must have it alone (FOR UPDATE): so what is written with an epoch is written before the next epoch begins.
Rule 3. A lease that ran out and was taken by nobody is simply renewed: nobody else was owner in between.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import Any

from mayfly.cluster.line import GONE, Line
from mayfly.core.model import Seconds
from mayfly.errors import RunError

_RENEWALS = 6  # in the time of a lease
_SHORTEST: Seconds = 0.2
log = logging.getLogger("mayfly")

_FREE = "SELECT until < clock_timestamp() FROM leases WHERE shard = $1 FOR UPDATE SKIP LOCKED"
_TAKE = (
    "UPDATE leases SET owner = $2, epoch = epoch + 1, until = clock_timestamp() + make_interval(secs => $3)"
    " WHERE shard = $1 RETURNING epoch"
)
_RENEW = (
    "UPDATE leases SET until = clock_timestamp() + make_interval(secs => $4) WHERE shard = $1 AND epoch = $2"
    " AND owner = $3 RETURNING epoch"
)
# By the owner, too: a taking that was undone leaves us with an epoch that the next owner has.
_GIVE_BACK = "UPDATE leases SET owner = '', until = '-infinity' WHERE shard = $1 AND epoch = $2 AND owner = $3"


class LeaseLost(RunError):
    """Another owns the shard now."""


class Lease:
    """Of one shard; implements `store.thread.Fence`."""

    def __init__(self, line: Line, shard: int, owner: str, seconds: Seconds, margin: Seconds) -> None:
        self.shard, self.owner = shard, owner
        self.epoch = 0
        self._line, self._seconds, self._margin = line, seconds, margin
        self._send_until: Seconds = -math.inf

    async def take(self) -> bool:
        """Make it ours, if it is nobody's."""
        sent = now()
        async with self._line.transaction() as connection:
            if not await connection.fetchval(_FREE, self.shard):
                return False
            self.epoch = await connection.fetchval(_TAKE, self.shard, self.owner, self._seconds)
        self._send_until = sent + self._seconds - self._margin
        return True

    async def renew(self) -> None:
        """Keep it; `LeaseLost` if it is another's."""
        sent = now()
        if not await self._line.rows(_RENEW, self.shard, self.epoch, self.owner, self._seconds):
            self._send_until = -math.inf
            raise LeaseLost(f"shard {self.shard} is another's now")
        self._send_until = sent + self._seconds - self._margin

    async def keep(self) -> None:
        """Renew it for ever; ends with `LeaseLost`."""
        every = max(self._seconds / _RENEWALS, _SHORTEST)
        while True:
            await asyncio.sleep(every)
            try:
                await self.renew()
            except GONE as error:
                log.warning("shard %d: the lease could not be renewed (%s)", self.shard, error or type(error).__name__)

    async def give_back(self) -> None:
        """Nothing is in the air any more: another may begin at once."""
        self._send_until = -math.inf
        await self._line.rows(_GIVE_BACK, self.shard, self.epoch, self.owner)

    def holds(self) -> bool:
        """Whether a request may leave now."""
        return now() < self._send_until

    def check(self, database: Any) -> None:
        """Within a transaction of the store: that the shard is ours, until it is over."""
        self.must_be(database.execute("SELECT epoch FROM leases WHERE shard = ? FOR KEY SHARE", (self.shard,)).get)

    def must_be(self, epoch: int) -> None:
        """`LeaseLost` unless that is ours."""
        if epoch != self.epoch:
            self._send_until = -math.inf
            raise LeaseLost(f"shard {self.shard} is another's now")


def now() -> Seconds:
    """A clock that nobody sets, and that does not stop while the machine sleeps where there is such a one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
