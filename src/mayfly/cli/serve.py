"""`mayfly serve`: the reader and the HTTP API."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from mayfly.cli import home as homes
from mayfly.cli import words
from mayfly.cli.layers import SETTINGS, host_and_port, resolve
from mayfly.cli.network import AGENT
from mayfly.crawl.settings import Settings
from mayfly.errors import UsageError

_CRAWL = set(homes.all_but(homes.API))
_OWN = [name for name in SETTINGS if name not in _CRAWL]


@homes.takes_settings(*_OWN, "allow-private-addresses", "connect-to", "store")
def serve(flags: dict[str, Any], home: homes.Home = homes.DEFAULT) -> None:
    """Serve the reader, and the HTTP API: clicks and hints in, pages out as they land, and what the crawl knows.

    The address it prints is the reader; /docs shows the API. Other machines may reach it only if a token is set:
    give it by MAYFLY_TOKEN or mayfly.toml, for flags are seen by all who use this machine. Ctrl-C stops it.

    Example: mayfly serve --bind 127.0.0.1:8642
    """
    from mayfly.fetch.loop import run

    settings, _ = resolve(home, flags)
    host, port = host_and_port(settings.bind)
    _check(settings, host)
    homes.prepare(home)
    run(_serve(home, settings, host, port))


def _check(settings: Settings, host: str) -> None:
    from mayfly.serve.server import is_loopback

    if not settings.token and not is_loopback(host):
        raise UsageError(f"others can reach {host}, so a token is needed: set MAYFLY_TOKEN, or listen at 127.0.0.1")
    if settings.webhook_url and not settings.webhook_secret:
        raise UsageError("webhook-url needs a webhook-secret, with which what is sent is signed")


async def _serve(home: Path, settings: Settings, host: str, port: int) -> None:
    from mayfly.serve.parts import Serving
    from mayfly.serve.server import listen

    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.INFO, stream=sys.stderr)
    async with homes.store_of(home, settings, read_only=False) as store, homes.store_of(home, settings) as reader:
        serving = Serving(home, settings, AGENT, store, reader)
        await listen(serving, host, port, lambda url: words.say(f"Serving at {url} (Ctrl-C stops it)", err=True))
