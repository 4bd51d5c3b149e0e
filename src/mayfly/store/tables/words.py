"""Text as a database can hold it, and as it can be asked for."""

from __future__ import annotations

import re

_MOST_WORDS, _MOST_CHARACTERS = 12, 300


def storable(text: str) -> str:
    r"""The same text without halves of characters, which UTF-8 cannot spell, and zeros, which PostgreSQL cannot keep.

    >>> storable("caf\u00e9 \ud83d")
    'café ?'
    """
    if "\0" in text:
        text = text.replace("\0", " ")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def phrases(words: str) -> list[str]:
    """What people type, as phrases of FTS5: every word as it stands, words between quotes as a phrase.

    >>> phrases('prime-minister "said NOT" or')
    ['"prime-minister"', '"said NOT"', '"or"']
    """
    plain = storable(words[:_MOST_CHARACTERS]).replace("\0", " ")
    apart = [quoted or word.replace('"', "") for quoted, word in re.findall(r'"([^"]*)"|(\S+)', plain)]
    return [f'"{one}"' for one in apart if any(map(str.isalnum, one))][:_MOST_WORDS]
