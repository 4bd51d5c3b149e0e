"""`mayfly why`: why a source is crawled when it is, what became of a page, and why an address is not fetched."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from mayfly.cli import home as homes
from mayfly.cli import options, words
from mayfly.cli.layers import resolve
from mayfly.cli.network import AGENT
from mayfly.core.model import Seconds
from mayfly.crawl.settings import Settings
from mayfly.crawl.telling import address
from mayfly.crawl.why import Told, explain
from mayfly.fetch.loop import run


def why(
    url: Annotated[str, typer.Argument(help="A source, a page, or any address.", metavar="URL")],
    home: homes.Home = homes.DEFAULT,
    as_json: options.Json = False,
) -> None:
    """Say why a source is crawled when it is, what became of a page, or why an address is not fetched.

    Example: mayfly why https://example.com/news/
    """
    settings, _ = resolve(home, {})
    told = run(_explain(home, address(url), settings, time.time()))
    if as_json:
        typer.echo(words.dumps(told.facts | {"says": told.says}))
    else:
        for line in told.says:
            words.say(line)


async def _explain(home: Path, url: str, settings: Settings, now: Seconds) -> Told:
    async with homes.store_of(home, settings) as store:
        return await explain(store, url, settings, AGENT, now)
