"""Flags of every command that goes out to the web, and the fetcher they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mayfly.fetch.agent import AGENT as AGENT
from mayfly.fetch.agent import user_agent

if TYPE_CHECKING:  # takes a third of a second, which other commands need not wait for
    from mayfly.fetch.answers import Limits
    from mayfly.fetch.http import Fetcher

AllowPrivate = Annotated[
    str | None,
    typer.Option(help="Networks that may be connected to though they are private: 127.0.0.0/8,10.1.0.0/16."),
]
ConnectToRules = Annotated[
    list[str] | None,
    typer.Option(help="HOST:PORT:HOST:PORT as in curl: connect to the second instead of the first. May be repeated."),
]
Contact = Annotated[str | None, typer.Option(help="An address or page in the User-Agent where we can be reached.")]


def fetcher(
    allow_private: str | None,
    connect_to: list[str] | None,
    contact: str | None,
    limits: Limits | None = None,
    connections: int = 256,
) -> Fetcher:
    """A fetcher as the flags say."""
    from mayfly.fetch.addresses import ConnectTo, Routes, Vetting
    from mayfly.fetch.answers import DEFAULT_LIMITS
    from mayfly.fetch.http import Fetcher

    return Fetcher(
        user_agent(contact),
        limits=limits or DEFAULT_LIMITS,
        connections=connections,
        vetting=Vetting(part for part in (allow_private or "").split(",") if part),
        routes=Routes([ConnectTo.parse(rule) for rule in connect_to or []]),
    )
