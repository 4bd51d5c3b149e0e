"""Marks the words that were asked for, and finds the piece of a text that has most of them.

FTS5 does it, in memory and for a few texts alone: to ask the index of all texts for thirty of them would mean thirty
searches through all the places of each word.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from mayfly.store.sights import BEGIN, END

_TOKENS = 40  # of a piece
_MOST_CHARACTERS = 30_000  # of a text that are looked at
_TABLE = "CREATE VIRTUAL TABLE some USING fts5 (title, text, tokenize = 'unicode61 remove_diacritics 2')"  # as `words`
_MARK = (
    f"SELECT rowid, highlight(some, 0, '{BEGIN}', '{END}'), snippet(some, 1, '{BEGIN}', '{END}', '…', {_TOKENS})"
    " FROM some WHERE some MATCH ?"
)


class Glimpses:
    """Used by one thread at a time."""

    def __init__(self) -> None:
        self._memory = apsw.Connection(":memory:")
        self._memory.execute(_TABLE)

    def of(self, texts: Sequence[tuple[str, str]], asked: Sequence[str]) -> dict[int, tuple[str, str]]:
        """Titles and pieces by place, marked; of texts that have none of the phrases nothing."""
        self._memory.execute("BEGIN")
        try:
            rows = [(place, title, text[:_MOST_CHARACTERS]) for place, (title, text) in enumerate(texts)]
            self._memory.executemany("INSERT INTO some (rowid, title, text) VALUES (?, ?, ?)", rows)
            found = self._memory.execute(_MARK, (" OR ".join(asked),)).fetchall()
        finally:
            self._memory.execute("ROLLBACK")
        return {int(place): (str(title), str(piece)) for place, title, piece in found}  # type: ignore[arg-type]
