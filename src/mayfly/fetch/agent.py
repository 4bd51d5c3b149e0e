"""Who we say we are."""

from __future__ import annotations

import mayfly
from mayfly.errors import UsageError

AGENT = "mayfly"  # the name robots.txt knows us by


def user_agent(contact: str | None, where: str = "--contact") -> str:
    """The header, with where we can be reached.

    >>> user_agent("https://example.com/bot").split("/")[0]
    'mayfly'
    """
    if contact is not None and (not contact.isprintable() or not contact.isascii() or set(contact) & set("()\\")):
        raise UsageError(f"{where} must be plain ASCII without brackets, as mail@example.com, not {contact!r}")
    return f"{AGENT}/{mayfly.__version__}" + (f" (+{contact})" if contact else "")
