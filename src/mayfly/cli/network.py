"""Flags of every command that goes out to the web, and the fetcher they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import mayfly
from mayfly.errors import UsageError

if TYPE_CHECKING:  # takes a third of a second, which other commands need not wait for
    from mayfly.fetch.answers import Limits
    from mayfly.fetch.http import Fetcher

AGENT = "mayfly"  # the name robots.txt knows us by

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


def user_agent(contact: str | None, where: str = "--contact") -> str:
    """Who we say we are.

    >>> user_agent("https://example.com/bot").split("/")[0]
    'mayfly'
    """
    if contact is not None and (not contact.isprintable() or not contact.isascii() or set(contact) & set("()\\")):
        raise UsageError(f"{where} must be plain ASCII without brackets, as mail@example.com, not {contact!r}")
    return f"{AGENT}/{mayfly.__version__}" + (f" (+{contact})" if contact else "")
