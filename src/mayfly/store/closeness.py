"""How well a text fits the words that were asked for: BM25, as FTS5 has it, but told how rare each phrase is.

FTS5's own counts every text that has a phrase before the first score, and of the commonest word that is all of them.
"""

from __future__ import annotations

from typing import Any

import apsw

_K1, _B = 1.2, 0.75
_TITLE = 5.0  # a word in the title counts as so many in the text


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
