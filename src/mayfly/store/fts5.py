"""The index of words in SQLite: FTS5, which gives matches by row, and rows are numbered as pages land: so the newest
matches come first, and the others are never touched.

How well a text fits is BM25, as FTS5 has it, but told how rare each phrase is: FTS5's own counts every text that has a
phrase before the first score, and of the commonest word that is all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np

from mayfly.core.model import IntArray
from mayfly.store.records import Page
from mayfly.store.sights import Candidates, Only
from mayfly.store.tables.pages import FROM_PAGES, PAGE_COLUMNS, read
from mayfly.store.tables.reading import BELIEVED, COLUMNS, COUNTED, LOOKED_AT, SPREAD, candidates, chosen, rarity, upto

_K1, _B = 1.2, 0.75
_TITLE = 5.0  # a word in the title counts as so many in the text
_MATCHES = f"SELECT rowid AS landed FROM words WHERE words MATCH ? AND rowid <= ? ORDER BY rowid DESC LIMIT {LOOKED_AT}"
# Words come first, so that the newest are found without looking at all that have them.
_SEARCH = (
    f"{PAGE_COLUMNS} FROM words CROSS JOIN pages AS p {FROM_PAGES} WHERE p.landed = words.rowid"
    " AND words MATCH ? AND p.outcome = 'fetched' ORDER BY words.rowid DESC LIMIT ?"
)


class Fts5:
    """Implements `database.Words`. Triggers of the tables write the index."""

    def keep(self, database: Any, texts: Sequence[tuple[int, str, str]]) -> None:
        rows = [(landed, text != "", title, text) for landed, title, text in texts]
        database.executemany("INSERT INTO texts (landed, kept, title, text) VALUES (?, ?, ?, ?)", rows)

    def search(self, database: Any, asked: Sequence[str], first: int) -> list[Page]:
        return read(database.execute(_SEARCH, (" ".join(asked), first)))

    def matching(self, database: Any, asked: Sequence[str], first: int, only: Only) -> Candidates:
        rare = [1.0] if len(asked) == 1 else [_rarity(database, phrase) for phrase in asked]
        if only == Only(upto=only.upto):
            scored = _scored(database, asked, rare, "rowid <= ? ORDER BY rowid DESC LIMIT ?", upto(only), first)
            landed = np.fromiter(scored, np.int64, len(scored))
            found = candidates(_believed(database, landed))
        else:
            found = candidates(chosen(database, _MATCHES, (" ".join(asked), upto(only)), first, only))
            within = "rowid BETWEEN ? AND ? AND +rowid IN (SELECT value FROM carray(?))"  # +: no search for each page
            some = len(found.landed) > 0
            ends = (int(found.landed[-1]), int(found.landed[0])) if some else ()
            scored = _scored(database, asked, rare, within, *ends, found.landed) if some else {}
        return found._replace(closeness=np.array([scored.get(one, 0.0) for one in found.landed.tolist()]))

    def wrong_counts(self, database: Any) -> list[tuple[str, int]]:
        number = database.execute("SELECT abs((SELECT count(*) FROM texts) - (SELECT count(*) FROM words_docsize))").get
        return [("texts that cannot be searched", number)] if number else []


def register(database: apsw.Connection) -> None:
    """Let SQL call `closeness(words, rarity of the first phrase, …)`."""
    database.register_fts5_function("closeness", _closeness)


def _closeness(api: Any, *rarity: Any) -> float:
    if api.aux_data is None:  # the first match of a query
        average = max(api.column_total_size() / max(api.row_count, 1), 1.0)
        api.aux_data = average, range(min(api.phrase_count, len(rarity)))
    average, phrases = api.aux_data
    shrunk = _K1 * (1 - _B + _B * api.column_size() / average)
    score = 0.0
    for phrase in phrases:
        title, text = api.phrase_locations(phrase)
        often = _TITLE * len(title) + len(text)
        score += rarity[phrase] * often * (_K1 + 1) / (often + shrunk)
    return score


def _scored(database: Any, asked: Sequence[str], rare: Sequence[float], within: str, *given: Any) -> dict[int, float]:
    """How close matches are, by landing."""
    weights = ", ".join("?" for _ in rare)
    sql = f"SELECT rowid, closeness(words, {weights}) FROM words WHERE words MATCH ? AND {within}"
    values = [database.array(one) if isinstance(one, np.ndarray) else one for one in given]
    return dict(database.execute(sql, (*rare, " ".join(asked), *values)).fetchall())


def _believed(database: Any, landed: IntArray) -> list[Any]:
    """Rows of these pages, of those that are kept."""
    if not len(landed):
        return []
    sql = (
        f"SELECT {COLUMNS} FROM carray(?) AS one CROSS JOIN pages AS p INDEXED BY pages_to_read"
        f" {BELIEVED} WHERE p.landed = one.value AND p.outcome = 'fetched'"
    )
    rows: list[Any] = database.execute(sql, (database.array(landed),)).fetchall()
    return rows


def _rarity(database: Any, phrase: str) -> float:
    newest = f"SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT {COUNTED}"
    return rarity(*database.execute(f"SELECT {SPREAD.format(key='rowid')} FROM ({newest})", (phrase,)).get)
