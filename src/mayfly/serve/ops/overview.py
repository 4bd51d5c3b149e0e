"""The first page, and its numbers as they change."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, StreamingResponse

from mayfly.core.model import DAY, HOUR, MINUTE, WEEK, Seconds
from mayfly.serve.ops import pulse
from mayfly.serve.ops.pulse import Now
from mayfly.serve.ops.show import NOTHING, number, percent, rate, show, span
from mayfly.serve.ops.watch import Watch, Watching
from mayfly.serve.pages import HEARTBEAT, MOST_STREAMS
from mayfly.serve.parts import Refused, Serving

router = APIRouter(include_in_schema=False)

SPANS: dict[str, Seconds] = {"10m": 10 * MINUTE, "1h": HOUR, "6h": 6 * HOUR, "1d": DAY, "1w": WEEK}
_USUAL = ("10m", "1h", "6h", "1d")  # the shortest of them that holds all of a young crawl, else the last


@router.get("/ops")
async def overview(watch: Watching, span: Annotated[str, Query(alias="span", max_length=10)] = "") -> HTMLResponse:
    """How the crawl does."""
    serving, now = watch.serving, watch.now
    stats = await serving.reader.stats()
    chosen = span if span in SPANS else await _usual(watch, now)
    return show(
        "ops.html",
        "overview",
        now,
        live=told(await watch.pulse.now(), await _delay(watch)),
        spans=list(SPANS),
        chosen=chosen,
        quick=chosen == "10m",
        sources=int(stats["sources"]),
        hosts=int(stats["hosts"]),
        crawled=int(stats["log"]) > 0,
        clicks=int(stats["clicks"]),
    )


async def _usual(watch: Watch, now: Seconds) -> str:
    noted = await watch.serving.reader.minutes(now - DAY)
    age = now - noted[0].at if noted else 0.0
    return next((name for name in _USUAL if SPANS[name] >= age), _USUAL[-1])


@router.get("/ops/live")
async def live(watch: Watching) -> StreamingResponse:
    """Server-sent events: the numbers of the first page, ready to be shown."""
    if watch.serving.streams >= MOST_STREAMS:
        raise Refused(503, f"{MOST_STREAMS} listen already", Retry_After="30")
    return StreamingResponse(_events(watch, watch.serving), media_type="text/event-stream")


def told(now: Now, delay: Seconds | None) -> dict[str, str]:
    """For people, by the name of the place it is shown at."""
    split = NOTHING if now.crawls is None else f"{rate(now.crawls)} recrawls · {rate(now.pages)} new pages"
    state = "stuck" if now.stuck else "running" if now.running else "not running"
    return {
        "state": state,
        "rate": rate(now.rate),
        "of": "" if now.rate is None else f"{percent(now.rate / now.budget)} of {rate(now.budget)}",
        "split": split,
        "price": number(now.price),
        "found": f"{now.found:,}",
        "fetched": f"{now.fetched:,}",
        "waiting": f"{now.waiting:,}",
        "kept": f"{now.kept:,}",
        "delay": span(delay),
        "minute": "" if now.minute is None else f"{now.minute:.0f}",
    }


async def _events(watch: Watch, serving: Serving) -> AsyncIterator[bytes]:
    serving.streams += 1
    try:
        yield b"retry: 5000\n\n"
        said, before = serving.ticks(), ""
        while not serving.stopping.is_set():
            text = json.dumps(told(await watch.pulse.now(), await _delay(watch)))
            if text != before or serving.ticks() - said >= HEARTBEAT:
                yield f"event: now\ndata: {text}\n\n".encode()
                said, before = serving.ticks(), text
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(serving.stopping.wait(), pulse.EVERY)
    finally:
        serving.streams -= 1


async def _delay(watch: Watch) -> Seconds | None:
    """Median of the pages fetched in the last hour."""
    await watch.harvest.glance(watch.now)
    late = watch.harvest.pages.fetched > watch.now - HOUR
    return float(np.median(watch.harvest.pages.delay[late])) if late.any() else None
