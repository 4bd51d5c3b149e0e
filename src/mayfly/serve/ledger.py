"""What readers were shown and clicked, on its way to the store: together, in nobody's way. Never who it was."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence

from mayfly.core.model import PageId, Seconds
from mayfly.errors import RunError
from mayfly.store.records import ClickRow
from mayfly.store.store import Store

_SOON: Seconds = 0.2  # so long rows wait for others
_LATER: Seconds = 5.0  # after the store could not take them
_MOST_ROWS = 100_000  # that wait; the oldest go first
_MOST_CLICKS = 10_000  # that are remembered, so that two in one view count once
log = logging.getLogger("mayfly")


class Ledger:
    """Rows are taken at once and kept soon; `close` keeps what is left."""

    def __init__(self, store: Store, bin: Seconds) -> None:
        self._store, self._bin = store, bin
        self._at: Seconds = 0.0  # of the last row
        self._rows: list[ClickRow] = []
        self._clicked: OrderedDict[tuple[str, PageId], None] = OrderedDict()
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def shown(self, urls: Sequence[str], first: int, at: Seconds) -> None:
        """A person was shown these, from that position on."""
        self._take([ClickRow(url, at, kind="show", position=place) for place, url in enumerate(urls, first)], at)

    def clicked(self, page: PageId, url: str, position: int, view: str, at: Seconds) -> bool:
        """A person clicked one; False: in this view he had already."""
        if view:
            if (view, page) in self._clicked:
                return False
            self._clicked[view, page] = None
            if len(self._clicked) > _MOST_CLICKS:
                self._clicked.popitem(last=False)
        self._take([ClickRow(url, at, position=position)], at)
        return True

    async def close(self) -> None:
        """Keep what waits."""
        self._closing.set()
        if self._task is not None:
            await self._task
        await self._keep()

    def _take(self, rows: list[ClickRow], at: Seconds) -> None:
        self._at = at
        self._rows += rows
        del self._rows[:-_MOST_ROWS]
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._soon())

    async def _soon(self) -> None:
        pause = _SOON
        while self._rows and not self._closing.is_set():
            try:
                await asyncio.wait_for(self._closing.wait(), pause)
            except TimeoutError:
                pause = _SOON if await self._keep() else _LATER

    async def _keep(self) -> bool:
        """One write for all that waits; False: it still does."""
        rows, self._rows = self._rows, []
        if not rows:
            return True
        try:
            await self._store.add_clicks(self._at, rows, self._bin)
        except RunError as error:
            log.error("what readers saw is not kept yet: %s", error)
            self._rows = rows + self._rows
            return False
        return True
