"""What an answer says of other addresses in its Link headers (RFC 8288)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mayfly.urls import absolute

_MOST_CHARS = 8_000
_LINK = re.compile(r"<([^<>]{0,2000})>((?:[^\",]|\"[^\"]*\")*)")  # an address, and all up to a comma outside quotes
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)


def linked(headers: Iterable[tuple[str, str]], rel: str, base: str) -> list[str]:
    """Addresses of this relation, in order.

    >>> linked([("Link", '<https://hub.example/>; rel="hub", </feed>; rel=self')], "self", "https://example.com/a")
    ['https://example.com/feed']
    """
    text = ", ".join(value for name, value in headers if name.lower() == "link")[:_MOST_CHARS]
    found = []
    for target, parameters in _LINK.findall(text) if text else ():
        said = _REL.search(parameters)
        if said and rel in (said[1] or said[2] or "").lower().split() and (url := absolute(target, base)):
            found.append(url)
    return found
