"""Text as a database can hold it."""

from __future__ import annotations


def storable(text: str) -> str:
    r"""The same text without halves of characters, which JSON can spell and UTF-8 cannot.

    >>> storable("caf\u00e9 \ud83d")
    'café ?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
