"""Hints in: "this page is new", "this source has changed". They are kept; what to make of them the crawler learns."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import APIRouter, Body, Query

from mayfly.serve.models import BadRow, HintGiven, HintsAnswer, IndexNow
from mayfly.serve.parts import Refused, Serving, With, problems
from mayfly.store.hints import HintRow
from mayfly.urls import canonical, host_of

router = APIRouter(tags=["hints"])

_Hints = Annotated[list[HintGiven], Body(max_length=10_000)]
_KEY = "A key of the setting indexnow-keys."


@router.post("/api/hints", response_model=HintsAnswer, responses=problems(429))
async def add_hints(hints: _Hints, serving: With) -> HintsAnswer:
    """Say that pages are new or sources have changed. A hint is evidence, not an order: its trust is learned."""
    serving.admit(serving.hints)
    rows: list[HintRow] = []
    bad: list[BadRow] = []
    for number, hint in enumerate(hints, start=1):
        url = canonical(hint.url)
        if url is None:
            bad.append(BadRow(row=number, reason="url must be a web address"))
        else:
            rows.append(HintRow(url, hint.kind))
    await keep(serving, rows)
    return HintsAnswer(taken=len(rows), bad=bad)


@router.get("/api/indexnow", response_model=HintsAnswer, responses=problems(429))
async def ping(
    url: Annotated[str, Query(max_length=4000)],
    key: Annotated[str, Query(min_length=8, max_length=128, description=_KEY)],
    serving: With,
) -> HintsAnswer:
    """Say that one page is new or changed, as in the IndexNow protocol."""
    return await _ping(serving, key, [url])


@router.post("/api/indexnow", response_model=HintsAnswer, responses=problems(429))
async def ping_many(told: IndexNow, serving: With) -> HintsAnswer:
    """The same of many pages of one host."""
    return await _ping(serving, told.key, told.urlList, told.host)


async def _ping(serving: Serving, key: str, urls: list[str], host: str | None = None) -> HintsAnswer:
    if not any(hmac.compare_digest(key.encode(), known.encode()) for known in serving.settings.indexnow_keys):
        raise Refused(403, "this key is not known: it must stand in the setting indexnow-keys")
    serving.admit(serving.hints)
    rows: list[HintRow] = []
    bad: list[BadRow] = []
    for number, given in enumerate(urls, start=1):
        url = canonical(given)
        if url is None or (host is not None and host_of(url) != host.lower()):
            bad.append(BadRow(row=number, reason="is no address of this host" if url else "is no web address"))
        else:
            rows.append(HintRow(url, "page", "indexnow"))
    await keep(serving, rows)
    return HintsAnswer(taken=len(rows), bad=bad)


async def keep(serving: Serving, rows: list[HintRow]) -> None:
    """Keep hints, and count them."""
    serving.hints.take(max(len(rows), 1), serving.ticks())
    if rows:
        await serving.store.add_hints(serving.clock(), rows)
        for row in rows:
            serving.counted["hints", row.via] += 1
