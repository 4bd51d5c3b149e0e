"""The table of sources, a source's own page, and a person's word on it."""

from __future__ import annotations

from math import ceil
from typing import Annotated, Any, get_args
from urllib.parse import parse_qsl

import numpy as np
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from mayfly.core.habits import by_hour_of_week
from mayfly.core.model import DAY, HOUR, MINUTE, FloatArray, Seconds
from mayfly.crawl.why import explain
from mayfly.serve.ops.show import show
from mayfly.serve.ops.watch import Watch, Watching
from mayfly.serve.parts import Refused
from mayfly.store.listings import Listing, SourceOrder
from mayfly.store.records import Source, SourceState

router = APIRouter(prefix="/ops/sources", include_in_schema=False)

_ROWS = 50
_VISITS = 50
_PAGES = 12
_LEVELS = 5  # of the colours of an hour
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_STATES: tuple[SourceState, ...] = get_args(SourceState)
_ORDERS: tuple[str, ...] = get_args(SourceOrder)
_EVERY: tuple[Seconds, ...] = (5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR, DAY)
_UP_FIRST = ("url", "interval", "due", "state")  # orders in which one wants the least first
_Id = Annotated[int, Path(ge=0, le=2**53)]
_Word = Annotated[str, Query(max_length=300)]


@router.get("")
async def table(
    watch: Watching,
    q: _Word = "",
    state: _Word = "",
    host: _Word = "",
    sort: _Word = "worth",
    down: _Word = "",
    page: _Word = "1",
) -> HTMLResponse:
    """Some of the sources. What cannot be asked for is taken as the usual."""
    sort = sort if sort in _ORDERS else "worth"
    descending = down == "1" if down in ("0", "1") else sort not in _UP_FIRST
    asked = Listing(sort, descending, q, next((one for one in _STATES if one == state), None), host or None)
    number = min(max(int(page), 1), 10**9) if page.isdecimal() and len(page) < 12 else 1
    found = await watch.serving.reader.list_sources(asked._replace(first=_ROWS, skip=_ROWS * (number - 1)))
    last = max(ceil(found.total / _ROWS), 1)
    if number > last:
        number = last
        found = await watch.serving.reader.list_sources(asked._replace(first=_ROWS, skip=_ROWS * (number - 1)))
    kept = {"q": q, "state": asked.state or "", "host": host, "sort": sort, "down": int(descending)}
    return show(
        "ops-sources.html",
        "sources",
        watch.now,
        found=found,
        asked=kept,
        page=number,
        last=last,
        states=_STATES,
        columns=_columns(sort, descending),
        first=_ROWS * (number - 1),
    )


@router.get("/{id}")
async def source(id: _Id, watch: Watching) -> HTMLResponse:
    """All that is known of one."""
    kept = await _known(watch, id)
    if kept is None:
        return show("ops-missing.html", "sources", watch.now, 404, says=f"There is no source {id}.")
    serving, now = watch.serving, watch.now
    why = await explain(serving.reader, kept.url, serving.settings, serving.agent, now)
    arrivals = np.array(await serving.reader.arrivals(id), float)
    hours = by_hour_of_week(arrivals, _watched_since(kept, arrivals, now), now)
    return show(
        "ops-source.html",
        "sources",
        now,
        source=kept,
        says=why.says,
        visits=await serving.reader.visits(id, _VISITS),
        pages=await serving.reader.newest(_PAGES, source=id),
        arrivals=len(arrivals),
        week=_week(hours),
        busiest=_busiest(hours),
        every=_EVERY,
    )


@router.post("/{id}")
async def edit(id: _Id, request: Request, watch: Watching) -> Response:
    """Pin, block, retire or restore it; a running crawl takes it up within seconds. The guard has seen who asks."""
    if await _known(watch, id) is None:
        raise Refused(404, f"there is no source {id}")
    given = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
    store = watch.serving.store
    match given.get("do", ""):
        case "pin":
            await store.pin(id, _every(given.get("every", "")))
        case "unpin":
            await store.pin(id, None)
        case "block":
            await store.edit_source(id, state="blocked", reason=given.get("why", "")[:1000])
        case "retire":
            await store.edit_source(id, state="retired", reason=given.get("why", "")[:1000])
        case "restore":
            await store.edit_source(id, state="active", reason="")
        case _:
            raise Refused(422, "do must be pin, unpin, block, retire or restore")
    return RedirectResponse(f"/ops/sources/{id}", 303)


async def _known(watch: Watch, id: int) -> Source | None:
    """By the connection that writes, so that what was just said is seen."""
    return next(iter(await watch.serving.store.sources([id])), None)


def _every(given: str) -> Seconds:
    if given.isdecimal() and float(given) in _EVERY:
        return float(given)
    raise Refused(422, f"every must be one of {', '.join(f'{one:.0f}' for one in _EVERY)} seconds")


def _columns(sort: str, descending: bool) -> list[dict[str, Any]]:
    """Heads of the table: what is said, why, and where a click on it leads."""
    heads = (
        ("url", "Source", "the address"),
        ("rate", "λ new/day", "links to new pages a day"),
        ("profit", "P clicks", "clicks a new page brings"),
        ("decay", "μ half-life", "how soon half of the clicks have come; by μ"),
        ("interval", "Every", "the interval it is crawled at"),
        ("yield", "Last yield", "new links at the last crawl, and when there were any"),
        ("due", "Next due", "when it is to be crawled next"),
        ("worth", "Value/fetch", "clicks a crawl of it was worth at the last plan"),
        ("failures", "Failures", "in a row"),
        ("state", "State", "active, retired or blocked"),
    )
    return [
        {
            "key": key,
            "name": name,
            "help": says,
            "now": ("descending" if descending else "ascending") if key == sort else None,
            "down": int(not descending) if key == sort else int(key not in _UP_FIRST),
        }
        for key, name, says in heads
    ]


def _watched_since(source: Source, arrivals: FloatArray, now: Seconds) -> Seconds:
    """From when it was found; or, of a feed that told of what was before, from its first entry."""
    first = float(arrivals.min(initial=now))
    return min(source.found_at, max(first, source.found_at - DAY))


def _week(hours: FloatArray) -> list[tuple[str, list[tuple[float | None, int]]]]:
    """By day: the number of links in each hour, and how dark it is."""
    most = float(np.nanmax(hours)) if np.isfinite(hours).any() else 0.0
    cells: list[tuple[float | None, int]] = [
        (None, 0) if not np.isfinite(value) else (float(value), ceil(_LEVELS * value / most) if most > 0 else 0)
        for value in hours
    ]
    return [(day, cells[24 * place : 24 * place + 24]) for place, day in enumerate(_DAYS)]


def _busiest(hours: FloatArray) -> str | None:
    """In words, for who cannot see the colours."""
    if not np.nansum(hours) > 0:
        return None
    place = int(np.nanargmax(hours))
    return f"{_DAYS[place // 24]} {place % 24:02}:00 UTC"
