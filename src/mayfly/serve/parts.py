"""What every route needs, and how a request is refused."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import Depends, Request

from mayfly.core.model import Seconds
from mayfly.crawl.settings import Settings
from mayfly.serve.allowance import Allowance
from mayfly.serve.ledger import Ledger
from mayfly.serve.models import Problem
from mayfly.serve.shelf import Shelf
from mayfly.store.store import Store

HINTS_PER_SECOND = 100.0


class Refused(Exception):
    """A request that cannot be met as it was put: a status and one sentence."""

    def __init__(self, status: int, error: str, **headers: str) -> None:
        super().__init__(error)
        self.status, self.error = status, error
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass
class Serving:
    """A home that is served. What is read goes by another connection than what is written, so that no long look holds
    up a click.
    """

    home: Path
    settings: Settings
    agent: str  # the name robots.txt knows us by
    store: Store
    reader: Store
    clock: Callable[[], Seconds] = time.time
    ticks: Callable[[], Seconds] = time.monotonic
    chance: np.random.Generator = field(default_factory=np.random.default_rng)
    counted: Counter[tuple[str, ...]] = field(default_factory=Counter)  # for /metrics: name and labels
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    streams: int = 0  # that are open
    clicks: Allowance = field(init=False)
    hints: Allowance = field(init=False)
    ledger: Ledger = field(init=False)
    shelf: Shelf = field(init=False)

    def __post_init__(self) -> None:
        self.clicks = Allowance(self.settings.clicks_per_second)
        self.hints = Allowance(HINTS_PER_SECOND)
        self.ledger = Ledger(self.store, self.settings.bin)
        self.shelf = Shelf(self.reader, self.ticks)

    def admit(self, allowance: Allowance) -> None:
        """Refuse the request if too much came of late."""
        wait = allowance.wait(self.ticks())
        if wait > 0:
            raise Refused(429, "too much at once: try again later", Retry_After=str(int(wait) + 1))


def serving(request: Request) -> Serving:
    """Of the application a request came to."""
    found: Serving = request.app.state.serving
    return found


With = Annotated[Serving, Depends(serving)]


def problems(*statuses: int, plain: bool = False) -> dict[int | str, dict[str, Any]]:
    """How a route may refuse, for the OpenAPI document: all may for want of a token, of a matching origin, or of a
    right value. `plain`: though the route answers with plain text, this is JSON.
    """
    said: dict[str, Any] = {"content": {"application/json": {"schema": _REFERENCE}}} if plain else {"model": Problem}
    return {
        status: {**said, "description": _MEANING[status]}
        for status in sorted({400, 401, 403, 408, 413, 422, 500, 503, *statuses})
    }


_REFERENCE = {"$ref": "#/components/schemas/Problem"}


_MEANING = {
    400: "The body is no text, or did not come to its end.",
    401: "The token is missing or wrong.",
    403: "From another site, to a name that is not ours, or with a key that is not known.",
    404: "There is no such thing.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    415: "The body is of a kind that is not read here.",
    422: "A value is wrong; the sentence says which.",
    429: "Too much at once; Retry-After says when to try again.",
    500: "It failed; the log of mayfly serve says why.",
    503: "Not now; Retry-After may say when to try again.",
}
