"""What people did with pages, as what it is worth: clicks and shows by settings, clicks by where they were shown."""

from __future__ import annotations

import numpy as np

from mayfly.core import events
from mayfly.core.estimates.positions import Positions
from mayfly.core.model import Seconds
from mayfly.crawl.settings import Settings
from mayfly.store.records import Clicks

_FEW = 3  # bins: of a longer span nobody can tell how old a page was when it was clicked


class Interest:
    """Learns from each push what positions do to clicks, and takes it out of them."""

    def __init__(self, settings: Settings) -> None:
        self._clicks, self._shows = settings.value_clicks, settings.value_shows
        self._longest = _FEW * settings.bin
        self.positions = Positions()

    def counted(self, at: Seconds, clicks: Clicks) -> events.ClicksCounted:
        """A push, as the scheduler is told of it."""
        placed = clicks.position > 0
        if placed.any():
            self.positions.count(
                at, clicks.page[placed], clicks.position[placed], clicks.number[placed], clicks.show[placed]
            )
        worth = np.where(clicks.show, self._shows, self._clicks * self.positions.weight(clicks.position))
        some = worth > 0
        timed = clicks.width <= self._longest
        return events.ClicksCounted(
            at, clicks.page[some], clicks.at[some], (clicks.number * worth)[some], None if timed.all() else timed[some]
        )
