"""`mayfly find`: the content sources of hosts."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mayfly.cli import words
from mayfly.cli.home import DEFAULT, Home, ready, store_of, takes_settings
from mayfly.cli.layers import resolve
from mayfly.crawl.settings import Settings
from mayfly.errors import BeingCrawled, UsageError

_MOST_VISITED = 1000  # hosts of a visit log


@takes_settings(
    "older-than", "only", "not", "most-sources", "budget", "host-delay", "address-delay", "contact",
    "allow-private-addresses", "connect-to", "store",
)  # fmt: skip
def find(
    flags: dict[str, Any],
    hosts: Annotated[list[str] | None, typer.Argument(help="Hosts, or addresses of their front pages.")] = None,
    home: Home = DEFAULT,
    file: Annotated[Path | None, typer.Option(help="A list of hosts, one a line.")] = None,
    opml: Annotated[Path | None, typer.Option(help="Feeds and sites of a feed reader.")] = None,
    visits: Annotated[Path | None, typer.Option(help="A visit log (JSONL or CSV): the hosts of its pages.")] = None,
    suggest: Annotated[
        bool,
        typer.Option(
            "--suggest", help="Rank hosts worth adding, by how many new articles of theirs our pages link; add none."
        ),
    ] = False,
    first: Annotated[int, typer.Option(help="How many to suggest.", min=1)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Find where new content of hosts appears: front pages, sections, feeds, sitemaps.

    Run it again later: links that are still there after --older-than become sources, too.

    Example: mayfly find example.com --contact me@example.com
    """
    if suggest:
        _suggest(home, resolve(home, flags)[0], first, as_json)
        return
    wanted, feeds = _wanted(hosts or [], file, opml, visits)
    settings, _ = ready(home, flags)
    rows = asyncio.run(_find(home, settings, wanted, feeds))
    _print(rows, as_json)
    if rows and all(row["failure"] for row in rows):
        raise typer.Exit(1)


def _wanted(
    hosts: Sequence[str], file: Path | None, opml: Path | None, visits: Path | None
) -> tuple[list[str], list[str]]:
    """Hosts and single feeds that were asked for."""
    from mayfly.crawl.finder import hosts_in

    lines, feeds = list(hosts), list[str]()
    for word in lines:
        if not hosts_in([word]):
            raise UsageError(f"'{word}' is no host; write it as example.com, or as the address of its front page")
    if file is not None:
        lines += _text(file).splitlines()
    if opml is not None:
        from mayfly.fetch.reader import read

        document = read(_bytes(opml), "https://opml.invalid/", now=0.0)
        feeds = list(document.feeds)
        lines += feeds
    if visits is not None:
        lines += _visited(_text(visits))
    found = hosts_in(lines)
    if not found:
        raise UsageError("no host to look at; write `mayfly find example.com`, or give --file, --opml or --visits")
    return found, feeds


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8", "replace").removeprefix("\ufeff")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _visited(text: str) -> list[str]:
    """Addresses of pages in a visit log, those of the hosts with the most pages first."""
    from mayfly.urls import host_of

    if text.lstrip().startswith("{"):
        rows = [row for line in text.splitlines() if (row := _row(line))]
    else:
        rows = list(csv.DictReader(io.StringIO(text)))
    pages = {str(row.get("page") or row.get("url") or "") for row in rows}
    many = Counter(host for page in pages if (host := host_of(page)))
    if not many:
        raise UsageError(
            "the visit log names no page: it needs a column `page` or `url`, as JSONL or CSV with a header"
        )
    return [host for host, _ in many.most_common(_MOST_VISITED)]


def _row(line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}


async def _find(home: Path, settings: Settings, hosts: Sequence[str], feeds: Sequence[str]) -> list[dict[str, Any]]:
    from mayfly.cli.crawl import opened
    from mayfly.crawl.lock import locked
    from mayfly.store.records import NewSource
    from mayfly.urls import canonical

    given = [NewSource(url, "feed") for feed in feeds if (url := canonical(feed))]
    try:
        with locked(home):
            async with opened(home, settings) as crawler:
                store, now = crawler.parts.store, crawler.parts.clock.now()
                await store.add_hosts(now, hosts)
                await store.add_sources(now, given)
                with words.progress("hosts", len(hosts)) as bar:
                    found = await crawler.search(hosts, done=lambda: bar(1))
    except BeingCrawled as held:
        import time

        async with store_of(home, settings, read_only=False) as beside:
            await beside.add_hosts(time.time(), hosts)
            await beside.add_sources(time.time(), given)
        words.say(f"{held}. It will look for their sources.", err=True)
        return []
    return [
        {
            "host": one.host,
            "failure": one.failure,
            "candidates": len(one.candidates),
            "sources": [
                {"url": source.url, "kind": source.kind, "found_on": source.found_on} for source in one.sources
            ],
        }
        for one in found
    ]


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    from mayfly.crawl.health import sentence

    if as_json:
        for row in rows:
            typer.echo(json.dumps(row))
        return
    if not rows:
        return
    table = []
    for row in rows:
        kinds = Counter(source["kind"] for source in row["sources"])
        many = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        why = f"{'; then' if many else 'none:'} {sentence(row['failure'])}" if row["failure"] else ""
        table.append([row["host"], str(len(row["sources"])), f"{many}{why}"])
    words.print_table(["host", "sources", "of kind"], table)
    if any(row["sources"] for row in rows):
        typer.echo("\nmayfly sources lists them; mayfly crawl begins.")


def _suggest(home: Path, settings: Settings, first: int, as_json: bool) -> None:
    async def ask() -> list[Any]:
        async with store_of(home, settings) as store:
            return await store.suggestions(first)

    found = asyncio.run(ask())
    if as_json:
        for one in found:
            typer.echo(json.dumps(one._asdict()))
    elif not found:
        typer.echo("None yet: hosts are counted as fetched pages link to them.")
    else:
        rows = [[one.host, f"{one.fresh:.1f}", str(one.pages), str(one.sources)] for one in found]
        words.print_table(["host", "new articles a week", "pages that link it", "sources they came from"], rows)
