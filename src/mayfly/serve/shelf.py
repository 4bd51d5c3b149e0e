"""The freshest pages, as they were some seconds ago at most: all who come to the front page choose from the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from mayfly.core.model import Seconds
from mayfly.store.sights import Candidates, Only
from mayfly.store.store import Store

_FRESHEST = 3000  # among which the best are found
_KEPT: Seconds = 5.0  # so long they are not asked for again
_MOST_KEPT = 64  # by what may be chosen


class Shelf:
    """What `store` says, remembered."""

    def __init__(self, store: Store, ticks: Callable[[], Seconds]) -> None:
        self._store, self._ticks = store, ticks
        self._kept: OrderedDict[Only, tuple[Seconds, Candidates]] = OrderedDict()

    async def freshest(self, only: Only) -> Candidates:
        """Of all ages: `since` is heeded here, for it moves all the time."""
        lasting = only._replace(since=None)
        until, pages = self._kept.get(lasting, (0.0, None))
        if pages is None or self._ticks() > until:
            pages = await self._store.freshest(_FRESHEST, lasting)
            self._kept[lasting] = self._ticks() + _KEPT, pages
            self._kept.move_to_end(lasting)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        if only.since is None:
            return pages
        return pages.some(pages.published >= only.since)
