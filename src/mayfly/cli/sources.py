"""`mayfly sources`: what is watched, what is believed of it, and a person's word on it."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Coroutine, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from mayfly.cli import home as homes
from mayfly.cli import words
from mayfly.core.model import DAY, Seconds
from mayfly.crawl.telling import address, kind_of, known_worth, nearest, source_told
from mayfly.errors import UsageError
from mayfly.fetch.loop import run
from mayfly.store.records import NewSource, Source, SourceState
from mayfly.store.store import Store

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

_NOTHING = "–"
_SHOWN = 50

Key: TypeAlias = Callable[[Source], float | str | None]
# How to sort: the key, and whether the largest goes first.
SORTS: dict[str, tuple[Key, bool]] = {
    "url": (lambda source: source.url, False),
    "host": (lambda source: source.host, False),
    "kind": (lambda source: source.kind, False),
    "found": (lambda source: source.found_at, True),
    "crawls": (lambda source: source.crawls, True),
    "last-crawl": (lambda source: source.last_crawl, True),
    "last-new": (lambda source: source.last_new, True),
    "new": (lambda source: source.new_links, True),
    "shown": (lambda source: source.shown, True),
    "good": (lambda source: source.good_pages, True),
    "dull": (lambda source: source.dull_pages, True),
    "failures": (lambda source: source.failures, True),
    "unchanged": (lambda source: source.unchanged, True),
    "rate": (lambda source: source.estimate and source.estimate.link_rate, True),
    "profit": (lambda source: source.estimate and source.estimate.page_profit, True),
    "decay": (lambda source: source.estimate and source.estimate.profit_decay, True),
    "worth": (lambda source: source.estimate and known_worth(source.estimate), True),
    "interval": (lambda source: source.estimate and source.estimate.interval, False),
    "due": (lambda source: source.estimate and source.estimate.next_due, False),
}


class State(StrEnum):
    """Which sources to list."""

    active = "active"
    blocked = "blocked"
    retired = "retired"
    all = "all"


class Kind(StrEnum):
    """What a source is."""

    front = "front"
    category = "category"
    feed = "feed"
    sitemap = "sitemap"
    other = "other"


Urls = Annotated[list[str], typer.Argument(help="Addresses of sources.", metavar="URL…")]
Why = Annotated[str, typer.Option("--why", help="Your reason, for whoever looks later.")]
InHome = Annotated[Path | None, typer.Option("--home", help="Folder of the crawl. Default: as before the command.")]


@app.callback()
def sources(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Of this host alone.")] = None,
    state: Annotated[State, typer.Option(help="In this state.")] = State.active,
    sort: Annotated[
        str | None, typer.Option(help=f"By one of: {', '.join(SORTS)}. Default: what a crawl is worth.")
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
    limit: Annotated[
        int | None, typer.Option(help=f"So many at most. Default: {_SHOWN} for people, all for programs.", min=1)
    ] = None,
    home: homes.Home = homes.DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List what is watched, with all that is believed of it: what a crawl is worth goes first.

    Rates are new links a day, profit is clicks of a new page, `halves` is how soon half of them have come.

    Example: mayfly sources --host example.com --sort rate
    """
    context.obj = home
    if context.invoked_subcommand is not None:
        return
    found = run(_all(home))
    chosen = [source for source in found if state.value in ("all", source.state) and _is_of(source, host)]
    chosen = _sorted(chosen, sort or "worth", reverse)
    if as_json:
        for source in chosen[:limit]:
            typer.echo(words.dumps(source_told(source)))
    elif chosen:
        _print(chosen, limit or _SHOWN, time.time())
    else:
        words.say(_none(found, host, state))


async def _all(home: Path) -> list[Source]:
    async with homes.store_of(home) as store:
        return await store.sources()


def _sorted(found: Sequence[Source], by: str, reverse: bool) -> list[Source]:
    if by not in SORTS:
        near = difflib.get_close_matches(by, SORTS, n=1, cutoff=0.0)[0]
        raise UsageError(f"--sort: there is no '{by}'; the nearest is '{near}', all are {', '.join(SORTS)}")
    key, largest_first = SORTS[by]
    known = [source for source in found if key(source) is not None]
    unknown = [source for source in found if key(source) is None]  # last, whichever way
    return sorted(known, key=key, reverse=largest_first != reverse) + unknown  # type: ignore[arg-type]


def _is_of(source: Source, host: str | None) -> bool:
    return host is None or source.host.removeprefix("www.") == host.lower().removeprefix("www.")


def _print(chosen: Sequence[Source], limit: int, now: Seconds) -> None:
    words.print_table(
        ("kind", "new/day", "profit", "halves", "every", "due", "crawled", "new", "fails", "source"),
        [_row(source, now) for source in chosen[:limit]],
    )
    if len(chosen) > limit:
        words.say(f"… and {len(chosen) - limit:,} more (--limit {len(chosen)} shows all)")


def _row(source: Source, now: Seconds) -> tuple[str, ...]:
    estimate = source.estimate
    rate = f"{estimate.link_rate * DAY:.3g}" if estimate else _NOTHING
    profit = f"{estimate.page_profit:.3g}" if estimate else _NOTHING
    note = source.state if source.state != "active" else estimate.note if estimate else ""
    return (
        source.kind,
        rate,
        profit,
        words.half_life(estimate.profit_decay) if estimate else _NOTHING,
        words.about(estimate.interval) if estimate and estimate.interval is not None else _NOTHING,
        words.ago(estimate.next_due, now) if estimate and estimate.next_due is not None else _NOTHING,
        words.ago(source.last_crawl, now),
        f"{source.new_links:,}",
        f"{source.failures} {source.failure}".strip() if source.failures else "",
        source.url + (f"  ({note})" if note else ""),
    )


def _none(found: Sequence[Source], host: str | None, state: State) -> str:
    if not found:
        return "No sources yet: mayfly find HOST… looks for them, mayfly sources add URL… takes what you name."
    where = f" of {host}" if host else ""
    what = "" if state is State.all else f" that are {state.value}"
    return f"No sources{where}{what}; there are {len(found):,} in all (mayfly sources --state all)."


@app.command()
def add(
    context: typer.Context,
    urls: Urls,
    kind: Annotated[Kind | None, typer.Option(help="What they are. Default: as the address looks.")] = None,
    home: InHome = None,
) -> None:
    """Watch these addresses from now on.

    Example: mayfly sources add https://example.com/news/ https://example.com/feed.xml
    """
    folder = _home(context, home)
    found = [NewSource(url, kind.value if kind else kind_of(url)) for url in map(address, urls)]
    homes.prepare(folder)

    async def work(store: Store) -> None:
        known = {one.url: await store.source_at(one.url) for one in found}
        await store.add_sources(time.time(), found)
        for one in found:
            words.say(_added(one, known[one.url]))

    _edit(folder, work)


def _added(one: NewSource, before: Source | None) -> str:
    if before is None:
        return f"{one.url}: watched as {one.kind}; a running crawl takes it up within seconds"
    if before.state == "active":
        return f"{one.url}: was there already, as {before.kind}"
    return (
        f"{one.url}: was there already, {before.state} ({before.reason or 'no reason given'}); mayfly sources restore"
    )


@app.command()
def pin(
    context: typer.Context,
    urls: Urls,
    every: Annotated[str, typer.Option(help="At least so often.")] = "10m",
    home: InHome = None,
) -> None:
    """Crawl these sources at least so often, whatever they are worth.

    Example: mayfly sources pin https://example.com/ --every 10m
    """
    seconds = words.positive_duration(every, "--every")

    async def work(store: Store, source: Source) -> str:
        await store.pin(source.id, seconds)
        return f"crawled at least every {words.written(seconds)}"

    _each(context, home, urls, work)


@app.command()
def unpin(context: typer.Context, urls: Urls, home: InHome = None) -> None:
    """Crawl these sources as often as they are worth again.

    Example: mayfly sources unpin https://example.com/
    """

    async def work(store: Store, source: Source) -> str:
        await store.pin(source.id, None)
        return "crawled as often as it is worth"

    _each(context, home, urls, work)


@app.command()
def block(context: typer.Context, urls: Urls, why: Why = "", home: InHome = None) -> None:
    """Never crawl these sources again, and never find them again.

    Example: mayfly sources block https://example.com/ads/ --why "advertisements only"
    """
    _each(context, home, urls, _putting("blocked", why, "blocked; mayfly sources restore undoes it"))


@app.command()
def retire(context: typer.Context, urls: Urls, why: Why = "", home: InHome = None) -> None:
    """Crawl these sources no more; what they brought stays.

    Example: mayfly sources retire https://example.com/world-cup/ --why "it is over"
    """
    _each(context, home, urls, _putting("retired", why, "retired; mayfly sources restore undoes it"))


@app.command()
def restore(context: typer.Context, urls: Urls, home: InHome = None) -> None:
    """Crawl these sources again that were blocked or retired.

    Example: mayfly sources restore https://example.com/world-cup/
    """
    _each(context, home, urls, _putting("active", "", "active again"))


Work: TypeAlias = Callable[[Store, Source], Coroutine[Any, Any, str]]


def _putting(state: SourceState, why: str, said: str) -> Work:
    async def work(store: Store, source: Source) -> str:
        await store.edit_source(source.id, state=state, reason=why)
        return said

    return work


def _each(context: typer.Context, home: Path | None, urls: Sequence[str], work: Work) -> None:
    """Do something to sources that are there; all of them must be, before anything is done."""

    async def all_of_them(store: Store) -> None:
        found = [await known(store, url) for url in urls]
        for source in found:
            words.say(f"{source.url}: {await work(store, source)}")

    folder = _home(context, home)
    homes.store_of(folder)  # says so if nothing is there
    _edit(folder, all_of_them)


def _edit(folder: Path, work: Callable[[Store], Coroutine[Any, Any, None]]) -> None:
    async def opened() -> None:
        async with homes.store_of(folder, read_only=False) as store:
            await work(store)

    run(opened())


async def known(store: Store, given: str) -> Source:
    """The source people mean, or the nearest that exists in a complaint."""
    url = address(given)
    source = await store.source_at(url)
    if source is None:
        near = nearest(url, [one.url for one in await store.sources()])
        hint = f"the nearest is {near}" if near else "there are none yet: mayfly find HOST…, or mayfly sources add URL"
        raise UsageError(f"there is no source {url}; {hint}")
    return source


def _home(context: typer.Context, home: Path | None) -> Path:
    """As said to this command, or before it."""
    return home if home is not None else context.obj
