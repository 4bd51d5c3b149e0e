"""The index of words in PostgreSQL: a tsvector beside each text, made of plain words, so that it finds what FTS5 does.

Words are told apart and folded here, not by PostgreSQL: what is a word must not depend on the language a server was set
up for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from mayfly.core.model import IntArray
from mayfly.store.records import Page
from mayfly.store.sights import Candidates, Only
from mayfly.store.tables.pages import SELECT, read
from mayfly.store.tables.reading import COUNTED, LOOKED_AT, SPREAD, candidates, chosen, rarity, upto

_MOST_CHARACTERS = 200_000  # of a text that can be found: a tsvector holds a megabyte
_WORD = re.compile(r"[^\W_]+")
_KEEP = (
    "INSERT INTO texts (landed, kept, title, text, found) VALUES (?, ?, ?, ?,"
    " setweight(to_tsvector('simple', ?), 'A') || to_tsvector('simple', ?))"
)
_HAS = "found @@ CAST(CAST(? AS TEXT) AS tsquery)"
_MATCHES = f"SELECT landed FROM texts WHERE {_HAS} AND landed <= ? ORDER BY landed DESC LIMIT"
_SEARCH = f"{SELECT} WHERE t.{_HAS} AND p.outcome = 'fetched' ORDER BY p.landed DESC LIMIT ?"
_RANK = "CAST(? AS float8) * ts_rank('{0.2, 0.2, 0.2, 1.0}', found, CAST(CAST(? AS TEXT) AS tsquery))"


class TsVector:
    """Implements `database.Words`."""

    def keep(self, database: Any, texts: Sequence[tuple[int, str, str]]) -> None:
        rows = [(landed, text != "", title, text, folded(title), folded(text)) for landed, title, text in texts]
        database.executemany(_KEEP, rows)

    @staticmethod
    def keep_rows(database: Any, columns: Sequence[str], rows: Sequence[Any]) -> None:
        """Rows of `texts` as they stand in another store."""
        at = [columns.index(name) for name in ("landed", "kept", "title", "text")]
        texts = [[row[place] for place in at] for row in rows]
        database.executemany(_KEEP, [(*row, folded(row[2]), folded(row[3])) for row in texts])

    def search(self, database: Any, asked: Sequence[str], first: int) -> list[Page]:
        return read(database.execute(_SEARCH, (query(asked), first)))

    def matching(self, database: Any, asked: Sequence[str], first: int, only: Only) -> Candidates:
        most = first if only == Only(upto=only.upto) else LOOKED_AT
        found = candidates(chosen(database, f"{_MATCHES} {most}", (query(asked), upto(only)), first, only))
        close = _closeness(database, [query([phrase]) for phrase in asked], found.landed)
        return found._replace(closeness=np.array([close.get(one, 0.0) for one in found.landed.tolist()]))

    def wrong_counts(self, database: Any) -> list[tuple[str, int]]:
        return []  # a text and what it is found by are one row


def _closeness(database: Any, queries: Sequence[str], landed: IntArray) -> dict[int, float]:
    """How close these pages are to the phrases, by landing: a rare one counts for more."""
    ranks = " + ".join(_RANK for _ in queries)
    values = [value for one in queries for value in (_rarity(database, one) if len(queries) > 1 else 1.0, one)]
    sql = f"SELECT landed, {ranks} FROM texts WHERE landed IN (SELECT value FROM carray(?))"
    return dict(database.execute(sql, (*values, database.array(landed))).fetchall())


def _rarity(database: Any, phrase: str) -> float:
    newest = f"SELECT landed FROM texts WHERE {_HAS} ORDER BY landed DESC LIMIT {COUNTED}"
    return rarity(*database.execute(f"SELECT {SPREAD.format(key='landed')} FROM ({newest}) AS newest", (phrase,)).get)


def folded(text: str) -> str:
    """Plain words of a text, without accents and capitals.

    >>> folded("Die Große ÜBER-Straße, am 3.5.: naïve_words")
    'die grosse uber strasse am 3 5 naive words'
    """
    plain = text[:_MOST_CHARACTERS].casefold()
    if not plain.isascii():
        apart = unicodedata.normalize("NFKD", plain)
        plain = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return " ".join(_WORD.findall(plain))


def query(asked: Sequence[str]) -> str:
    """Phrases (`tables.words.phrases`) as a tsquery: all of them, the words of each one behind the other.

    >>> query(['"prime-minister"', '"said"'])
    "'prime' <-> 'minister' & 'said'"
    """
    phrases = [" <-> ".join(f"'{word}'" for word in folded(phrase).split()) for phrase in asked]
    return " & ".join(phrase for phrase in phrases if phrase)
