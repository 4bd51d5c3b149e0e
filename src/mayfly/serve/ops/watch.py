"""What the dashboard keeps between two looks, so that no look reads all of the store again."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated

from fastapi import Depends, Request

from mayfly.core.model import Seconds
from mayfly.crawl.checkup import Checkup, budget_of, look
from mayfly.serve.ops.harvest import Harvest
from mayfly.serve.ops.plans import Plans
from mayfly.serve.ops.pulse import Pulse
from mayfly.serve.parts import Serving

_FRESH: Seconds = 50.0  # a checkup reads all sources


class Watch:
    """Of one home."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.harvest = Harvest(serving.reader, serving.settings.value_clicks, serving.settings.value_shows)
        self.plans = Plans(serving.reader, serving.ticks)
        self.pulse = Pulse(serving)
        self._lock = asyncio.Lock()
        self._checkup: Checkup | None = None
        self._checked: Seconds = -math.inf

    async def checkup(self) -> Checkup:
        """What `mayfly health` finds, as of some seconds ago at most."""
        serving = self.serving
        async with self._lock:
            if self._checkup is None or serving.ticks() - self._checked > _FRESH:
                self._checkup = await look(serving.reader, serving.home, serving.settings, self.now)
                self._checked = serving.ticks()
            return self._checkup

    @property
    def now(self) -> float:
        return self.serving.clock()

    @property
    def budget(self) -> float:
        """Of the last crawl, or as it is set."""
        return budget_of(self.serving.home, self.serving.settings)


def watch(request: Request) -> Watch:
    """Of the application a request came to."""
    found: Watch = request.app.state.watch
    return found


Watching = Annotated[Watch, Depends(watch)]
