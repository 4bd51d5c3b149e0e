"""Hosts: what fails, how long they are left alone, and what their robots.txt says."""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import Annotated, NamedTuple, get_args

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from mayfly.core.model import DAY, Seconds
from mayfly.fetch.robots import read_rules
from mayfly.serve.ops.show import show
from mayfly.serve.ops.watch import Watch, Watching
from mayfly.store.listings import HostOrder, HostRow, Listing
from mayfly.store.records import KeptRobots

router = APIRouter(include_in_schema=False)

_ROWS = 50
_FAILED = 1000  # pages of late that are looked at
_ORDERS: tuple[str, ...] = get_args(HostOrder)
_HEADS = (
    ("host", "Host", 0),
    ("sources", "Sources", 1),
    ("failing", "Failing", 1),
    ("failed", "In a row", 1),
    ("rest", "Wait", 1),
    ("crawled", "Last crawl", 1),
    ("new", "Last new", 1),
)
_Word = Annotated[str, Query(max_length=300)]


class Told(NamedTuple):
    """A host, as it is shown."""

    row: HostRow
    robots: str
    robots_at: Seconds | None
    delay: Seconds
    asked: bool  # that delay is its robots.txt's
    rests: bool
    failed_pages: int  # of the last day


@router.get("/ops/hosts")
async def hosts(
    watch: Watching, q: _Word = "", sort: _Word = "failing", down: _Word = "", page: _Word = "1"
) -> HTMLResponse:
    """Some of them."""
    sort = sort if sort in _ORDERS else "failing"
    descending = down == "1" if down in ("0", "1") else sort != "host"
    number = min(max(int(page), 1), 10**9) if page.isdecimal() and len(page) < 12 else 1
    asked = Listing(sort, descending, q, first=_ROWS, skip=_ROWS * (number - 1))
    found = await watch.serving.reader.list_hosts(asked)
    kept = {"q": q, "sort": sort, "down": int(descending)}
    columns = [
        {
            "key": key,
            "name": name,
            "now": ("descending" if descending else "ascending") if key == sort else None,
            "down": int(not descending) if key == sort else first,
        }
        for key, name, first in _HEADS
    ]
    return show(
        "ops-hosts.html",
        "hosts",
        watch.now,
        rows=await _told(watch, found.rows),
        total=found.total,
        asked=kept,
        page=number,
        last=max(ceil(found.total / _ROWS), 1),
        first=_ROWS * (number - 1),
        columns=columns,
    )


async def _told(watch: Watch, rows: list[HostRow]) -> list[Told]:
    reader, now = watch.serving.reader, watch.now
    origins = [f"{scheme}://{row.host}" for row in rows for scheme in ("https", "http")]
    kept = {one.origin.partition("://")[2]: one for one in reversed(await reader.robots(origins))}
    failed = Counter(page.host for page in await reader.newest(_FAILED, outcome="failed") if now - page.found_at <= DAY)
    return [_host(watch, row, kept.get(row.host), failed[row.host], now) for row in rows]


def _host(watch: Watch, row: HostRow, robots: KeptRobots | None, failed: int, now: Seconds) -> Told:
    delay, usual = None, watch.serving.settings.host_delay
    says = "not asked yet"
    if robots is not None:
        rules = read_rules(robots.body or b"", watch.serving.agent)
        delay = rules.delay
        front = f"{robots.origin}/"
        says = "has none" if not robots.body else "allows" if rules.allows(front) else "forbids the front page"
    return Told(
        row,
        says,
        robots.fetched_at if robots else None,
        max(usual, delay or 0.0),
        delay is not None and delay > usual,
        row.rests_until is not None and row.rests_until > now,
        failed,
    )
