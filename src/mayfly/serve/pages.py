"""Pages out: by cursor, and as they land."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter

from mayfly.core.model import Seconds
from mayfly.serve.models import PagesAnswer, SettledAs
from mayfly.serve.parts import Refused, Serving, With, problems
from mayfly.store.records import Page

router = APIRouter(tags=["pages"])

MOST_STREAMS = 32
_AT_ONCE = 100
_LOOK: Seconds = 0.5  # for new pages, so often
HEARTBEAT: Seconds = 15.0
_LARGEST = 2**53
_PAGE: TypeAdapter[Page] = TypeAdapter(Page)
_After = Annotated[int, Query(ge=0, le=_LARGEST, description="From behind this cursor on, in the order they landed.")]
_Text = Annotated[bool, Query(description="With the main text of each page.")]


def _only(
    host: Annotated[str | None, Query(max_length=300, description="Of this host alone.")] = None,
    source: Annotated[int | None, Query(ge=0, le=_LARGEST, description="First shown by the source of this id.")] = None,
    outcome: Annotated[SettledAs | None, Query(description="That turned out so.")] = None,
) -> dict[str, Any]:
    return {"host": host.lower() if host else None, "source": source, "outcome": outcome}


_Only = Annotated[dict[str, Any], Depends(_only)]


@router.get("/api/pages", response_model=PagesAnswer, responses=problems())
async def pages(
    serving: With,
    only: _Only,
    after: _After = 0,
    first: Annotated[int, Query(ge=1, le=1000, description="So many at most.")] = 100,
    text: _Text = True,
) -> PagesAnswer:
    """Pages in the order they landed: fetched, or not, and why. Ask again with `next` as `after` to go on."""
    found = await serving.reader.pages(after, first, **only)
    after = (found[-1].landed or after) if found else after
    return PagesAnswer(pages=[page if text else replace(page, text="") for page in found], next=after)


@router.get(
    "/api/pages/stream",
    response_class=StreamingResponse,
    responses={**problems(plain=True), 200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(
    serving: With,
    only: _Only,
    after: Annotated[int | None, Query(ge=0, le=_LARGEST, description="From behind this cursor on.")] = None,
    last: Annotated[int | None, Header(alias="Last-Event-ID", ge=0, le=_LARGEST)] = None,
    text: _Text = True,
) -> StreamingResponse:
    """Server-sent events: a page each, as it lands. Its id is its cursor, so that a browser goes on where it was.

    Without `after` it begins with what lands from now on.
    """
    if serving.streams >= MOST_STREAMS:
        raise Refused(503, f"{MOST_STREAMS} listen already", Retry_After="30")
    begin = last if last is not None else after
    if begin is None:
        begin = await landed(serving)
    return StreamingResponse(_events(serving, begin, only, text), media_type="text/event-stream")


async def landed(serving: Serving) -> int:
    """The cursor of the page that landed last."""
    newest = await serving.reader.newest(1)
    return (newest[0].landed or 0) if newest else 0


async def _events(serving: Serving, after: int, only: dict[str, Any], text: bool) -> AsyncIterator[bytes]:
    serving.streams += 1
    try:
        yield b"retry: 3000\n\n"
        said = serving.ticks()
        while not serving.stopping.is_set():
            found = await serving.reader.pages(after, _AT_ONCE, **only)
            for page in found:
                after = page.landed or after
                yield _event(page if text else replace(page, text=""))
            if found:
                said = serving.ticks()
                continue
            if serving.ticks() - said >= HEARTBEAT:
                yield b": still here\n\n"  # so that nobody between us takes the connection for dead
                said = serving.ticks()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(serving.stopping.wait(), _LOOK)
    finally:
        serving.streams -= 1


def _event(page: Page) -> bytes:
    return b"id: %d\nevent: page\ndata: %s\n\n" % (page.landed or 0, _PAGE.dump_json(page))
