"""`mayfly inspect`: what Mayfly reads from a page, feed, sitemap or robots.txt."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayfly.cli import network, words
from mayfly.core.model import Seconds
from mayfly.errors import RunError
from mayfly.fetch.answers import Failed
from mayfly.fetch.document import Document
from mayfly.fetch.loop import run

if TYPE_CHECKING:
    from mayfly.fetch.http import Fetcher
    from mayfly.fetch.readers import Readers
    from mayfly.fetch.robots import Robots

_SHOWN = 20  # links on a table for people
_NO_BASE = "https://unknown.invalid/"  # where a file's relative links lead, if neither it nor --base says


@dataclass(frozen=True)
class Inspected:
    """One input, and what was read from it."""

    input: str
    document: Document | None
    error: str | None = None


def inspect(
    inputs: Annotated[list[str], typer.Argument(help="Addresses, or files (gzipped ones too).", metavar="URL|FILE…")],
    base: Annotated[str | None, typer.Option(help="The address a file came from, for its relative links.")] = None,
    text: Annotated[bool, typer.Option("--text", help="The main text, too.")] = False,
    every: Annotated[bool, typer.Option("--all", help=f"All links, not the first {_SHOWN}.")] = False,
    allow_private_addresses: network.AllowPrivate = None,
    connect_to: network.ConnectToRules = None,
    contact: network.Contact = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line for each input.")] = False,
) -> None:
    """Show what Mayfly reads from a page, feed, sitemap or robots.txt: links, dates, feeds and what is wrong with it.

    An address is fetched as the crawler would: robots.txt is asked, private addresses are refused, all is bounded.

    Example: mayfly inspect https://example.com/ feed.xml sitemap.xml.gz
    """
    fetcher = network.fetcher(allow_private_addresses, connect_to, contact)
    seen = run(_inspect_all(inputs, base or _NO_BASE, text, fetcher))
    for number, one in enumerate(seen):
        if as_json:
            typer.echo(json.dumps(_as_json(one, text)))
        else:
            if number:
                typer.echo("")
            _print(one, every, text)
    if all(one.document is None for one in seen):
        raise RunError("nothing could be read" if len(seen) > 1 else f"{seen[0].input}: {seen[0].error}")


async def _inspect_all(inputs: list[str], base: str, text: bool, fetcher: Fetcher) -> list[Inspected]:
    from mayfly.fetch.readers import Readers
    from mayfly.fetch.robots import Robots

    seen = []
    async with fetcher, Readers() as readers:
        robots = Robots(fetcher, network.AGENT)
        with words.progress("reading", len(inputs)) as advance:
            for one in inputs:
                if one.lower().startswith(("http://", "https://")):
                    seen.append(await _inspect_url(one, text, fetcher, robots, readers))
                else:
                    seen.append(await _inspect_file(one, base, text, readers))
                advance(1)
    return seen


async def _inspect_url(url: str, text: bool, fetcher: Fetcher, robots: Robots, readers: Readers) -> Inspected:
    now = time.time()
    answer = await fetcher.fetch(url, may=lambda hop: robots.may(hop, now))
    if isinstance(answer, Failed):
        said = f" ({answer.detail})" if answer.detail else ""
        return Inspected(url, None, f"{answer.reason}: {answer.reason.sentence}{said}")
    document = await readers.read(answer.body, answer.url, content_type=answer.content_type, now=now, with_text=text)
    return Inspected(url, document, document.error)


async def _inspect_file(name: str, base: str, text: bool, readers: Readers) -> Inspected:
    try:
        body = Path(name).read_bytes()
    except OSError as error:
        return Inspected(name, None, f"cannot be read: {error.strerror or error}")
    if Path(name).name == "robots.txt" and base == _NO_BASE:
        base += "robots.txt"
    document = await readers.read(body, base, now=time.time(), with_text=text)
    return Inspected(name, document, document.error)


def _as_json(one: Inspected, text: bool) -> dict[str, Any]:
    document = one.document or Document(kind="other", url="")
    told: dict[str, Any] = {
        "input": one.input,
        "kind": document.kind,
        "url": document.url or None,
        "title": document.title or None,
        "language": document.language or None,
        "charset": document.charset or None,
        "canonical": document.canonical,
        "refresh": document.refresh,
        "looks": document.looks,
        "index": document.index,
        "truncated": document.truncated,
        "links": [
            {
                "url": link.url,
                "anchor": link.anchor,
                "rank": link.rank,
                "date": link.date,
                "context": link.context,
                "rel": link.rel,
                "nofollow": link.nofollow,
            }
            for link in document.links
        ],
        "feeds": list(document.feeds),
        "sitemaps": list(document.sitemaps),
        "hubs": list(document.hubs),
        "dates": [date._asdict() for date in document.dates],
        "error": one.error,
    }
    return told | {"text": document.text} if text else told


def _print(one: Inspected, every: bool, text: bool) -> None:
    document = one.document
    words.say(f"{one.input}: {document.kind if document else 'nothing'}")
    if one.error:
        words.say(f"  error      {one.error}")
    if document is None:
        return
    for name, value in (
        ("title", document.title),
        ("language", document.language),
        ("charset", document.charset),
        ("canonical", document.canonical),
        ("leads to", document.refresh),
        ("looks like", document.looks),
        *(("feed", feed) for feed in document.feeds),
        *(("sitemap", sitemap) for sitemap in document.sitemaps[: None if every else _SHOWN]),
        *(("hub", hub) for hub in document.hubs),
        *((date.what, f"{_moment(date.at)}  ({date.origin})") for date in document.dates),
    ):
        if value:
            words.say(f"  {name:<10} {value}")
    if text and document.text:
        typer.echo("")
        for line in document.text.splitlines():
            words.say(line)
        typer.echo("")
    _print_links(document, every)


def _print_links(document: Document, every: bool) -> None:
    links = document.links if every else document.links[:_SHOWN]
    if not links:
        return
    rows = [[str(link.rank), link.anchor[:60], link.url, _moment(link.date) if link.date else ""] for link in links]
    words.print_table(["rank", "anchor", "link", "date"], rows)
    more = len(document.links) - len(links)
    if more or document.truncated:
        typer.echo(f"… and {more} more (--all shows them)" if more else "… and more than the limit")


def _moment(at: Seconds) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
