"""`mayfly pages`: what was found and fetched, the newest first."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from mayfly.cli import home as homes
from mayfly.cli import sources, words
from mayfly.core.model import Seconds, SourceId
from mayfly.crawl.telling import outcome_of, page_told
from mayfly.errors import UsageError
from mayfly.fetch.loop import run
from mayfly.store.records import Page
from mayfly.store.store import Store

_SHOWN = 20
_BATCH = 500
_NOTHING = "–"


class Outcome(StrEnum):
    """What a page turned out to be."""

    fetched = "fetched"
    old = "old"
    duplicate = "duplicate"
    soft_404 = "soft-404"
    log_in = "log-in"
    failed = "failed"
    dropped = "dropped"


class Only(NamedTuple):
    """Which pages are wanted."""

    host: str | None
    source: SourceId | None
    outcome: Outcome | None

    def takes(self, page: Page) -> bool:
        """Whether this is one of them."""
        wanted = (self.host, page.host), (self.source, page.source), (self.outcome, page.outcome)
        return all(asked is None or asked == has for asked, has in wanted)

    def asked(self) -> dict[str, Any]:
        """As the store takes it."""
        return {name: None if value is None else _plain(value) for name, value in self._asdict().items()}


After = Annotated[int | None, typer.Option(help="From behind this cursor on, in the order they landed.", min=0)]
OfHost = Annotated[str | None, typer.Option("--host", help="Of this host alone.")]
OfSource = Annotated[str | None, typer.Option("--source", help="First shown by this source.")]
OfOutcome = Annotated[Outcome | None, typer.Option("--outcome", help="That turned out so.")]


def pages(
    after: After = None,
    limit: Annotated[
        int | None, typer.Option(help=f"So many at most. Default: {_SHOWN} for people, all for programs.", min=1)
    ] = None,
    host: OfHost = None,
    source: OfSource = None,
    outcome: OfOutcome = None,
    search: Annotated[str | None, typer.Option(help="With all these words in title or text.")] = None,
    home: homes.Home = homes.DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, in the order they landed.")] = False,
) -> None:
    """List pages as they were settled: fetched, or not, and why. The newest first; for programs in order, by cursor.

    Every page has a number in the order of landing (`landed`): `--after` it goes on where you were.

    Example: mayfly pages --host example.com --search "prime minister"
    """
    if search is not None and after is not None:
        raise UsageError("--search gives the newest first and --after goes by landing; use one of them")
    run(_list(home, after, limit, host, source, outcome, search, as_json))


async def _list(
    home: Path, after: int | None, limit: int | None, host: str | None, source: str | None, outcome: Outcome | None,
    search: str | None, as_json: bool,
) -> None:  # fmt: skip
    async with homes.store_of(home) as store:
        only = await chosen(store, host, source, outcome)
        if as_json:
            async for page in _for_programs(store, only, after or 0, limit, search):
                typer.echo(words.dumps(page_told(page)))
            return
        found = await _for_people(store, only, after, limit or _SHOWN, search)
        if found:
            _print(found, time.time())
        else:
            words.say(await _none(store, only, search))


async def chosen(store: Store, host: str | None, source: str | None, outcome: Outcome | None) -> Only:
    """Flags as what is asked of the store."""
    number = (await sources.known(store, source)).id if source is not None else None
    return Only(host.lower() if host else None, number, outcome)


async def in_order(store: Store, only: Only, after: int, limit: int | None = None) -> AsyncIterator[Page]:
    """Pages as they landed, from behind the cursor to the last there is."""
    while limit is None or limit > 0:
        batch = await store.pages(after, min(_BATCH, limit or _BATCH), **only.asked())
        for page in batch:
            yield page
        if not batch:
            return
        after = batch[-1].landed or after
        limit = None if limit is None else limit - len(batch)


async def _for_programs(
    store: Store, only: Only, after: int, limit: int | None, search: str | None
) -> AsyncIterator[Page]:
    if search is None:
        async for page in in_order(store, only, after, limit):
            yield page
    else:
        for page in await _searched(store, only, search, limit or 10_000):
            yield page


async def _for_people(store: Store, only: Only, after: int | None, limit: int, search: str | None) -> list[Page]:
    if search is not None:
        return await _searched(store, only, search, limit)
    if after is not None:
        return [page async for page in in_order(store, only, after, limit)]
    return await store.newest(limit, **only.asked())


async def _searched(store: Store, only: Only, search: str, limit: int) -> list[Page]:
    every = only == Only(None, None, None)
    found = await store.search(search, limit if every else 10_000)
    return [page for page in found if only.takes(page)][:limit]


def _print(found: Sequence[Page], now: Seconds) -> None:
    words.print_table(
        ("landed", "settled", "delay", "outcome", "title", "page"),
        [
            (
                str(page.landed),
                words.ago(page.fetched_at if page.fetched_at is not None else page.found_at, now),
                _NOTHING if page.delay is None else words.about(max(page.delay, 0.0)),
                outcome_of(page),
                _cut(page.title or page.anchor),
                page.url,
            )
            for page in found
        ],
    )


async def _none(store: Store, only: Only, search: str | None) -> str:
    if await store.newest(1):
        return "No such pages" + (" have these words." if search else "; fewer flags show more.")
    if not await store.sources():
        return "No pages yet: mayfly find HOST… looks for sources first."
    waiting = len(await store.waiting())
    if waiting:
        return f"No pages yet; {waiting:,} wait to be fetched by mayfly crawl."
    return (
        "No pages yet. The first crawl of a source is its baseline: a page appears here when one comes that was not "
        "there before."
    )


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Outcome) else value
