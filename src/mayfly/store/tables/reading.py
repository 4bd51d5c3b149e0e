"""Pages for people: the freshest, and the newest that have some words. However many there are, few are looked at.

FTS5 gives matches by row, and rows are numbered as pages land: so the newest matches come first, and the others are
never touched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import apsw
import numpy as np

from mayfly.core.model import IntArray
from mayfly.store.connection import Database
from mayfly.store.sights import Candidates, Only, Sight
from mayfly.store.tables.pages import SELECT, read

_LOOKED_AT = 10_000  # matches, to find those of a host or a source
_COUNTED = 2000  # matches of a phrase, to guess how many there are
_BEGINNING = 300  # characters of a text, where no words were asked for
_LAST = (1 << 62) - 1
_COLUMNS = "p.landed, p.source, coalesce(p.published, p.found_at), e.page_profit, e.profit_decay"
_BELIEVED = "LEFT JOIN estimates AS e ON e.source = p.source"
_NEWEST = "SELECT landed FROM pages WHERE outcome = 'fetched' AND landed <= :upto ORDER BY landed DESC LIMIT :first"
_MATCHES = (
    "SELECT rowid AS landed FROM words WHERE words MATCH :asked AND rowid <= :upto ORDER BY rowid DESC LIMIT :looked_at"
)


def freshest(database: Database, first: int, only: Only) -> Candidates:
    """The pages that landed last."""
    if only.source is not None:
        within = "SELECT landed FROM pages WHERE source = :source AND landed <= :upto ORDER BY landed DESC LIMIT :first"
    elif only.host is not None:
        within = "SELECT landed FROM pages WHERE host = :host AND landed <= :upto ORDER BY landed DESC LIMIT :first"
    else:
        within = _NEWEST
    return _candidates(_chosen(database, within, first, only))


def matching(database: Database, asked: Sequence[str], first: int, only: Only) -> Candidates:
    """The pages that landed last and have all these phrases, with how close they are."""
    if not asked:
        return _candidates([])
    rarity = [1.0] if len(asked) == 1 else [_rarity(database, phrase) for phrase in asked]
    if only == Only(upto=only.upto):
        scored = _scored(database, asked, rarity, "rowid <= ? ORDER BY rowid DESC LIMIT ?", _upto(only), first)
        landed = np.fromiter(scored, np.int64, len(scored))
        found = _candidates(_believed(database, landed))
    else:
        found = _candidates(_chosen(database, _MATCHES, first, only, " ".join(asked)))
        within = "rowid BETWEEN ? AND ? AND +rowid IN (SELECT value FROM carray(?))"  # +: no search for each page
        some = len(found.landed) > 0
        ends = (int(found.landed[-1]), int(found.landed[0])) if some else ()
        scored = _scored(database, asked, rarity, within, *ends, found.landed) if some else {}
    return found._replace(closeness=np.array([scored.get(one, 0.0) for one in found.landed.tolist()]))


def sights(database: Database, landed: Sequence[int], asked: Sequence[str]) -> list[Sight]:
    """These pages, in this order, as a person sees them."""
    if not landed:
        return []
    numbers = apsw.carray(np.array(landed, np.int64))
    found = read(database.execute(f"{SELECT} WHERE p.landed IN (SELECT value FROM carray(?))", (numbers,)))
    by_landing = {page.landed: page for page in found}
    pages = [by_landing[one] for one in landed if one in by_landing]
    plain = [(page.title or page.anchor or page.url, page.text) for page in pages]
    marked = database.glimpses.of(plain, asked) if asked else {}
    return [
        Sight(page, *marked.get(place, (title, text[:_BEGINNING])))
        for place, (page, (title, text)) in enumerate(zip(pages, plain, strict=True))
    ]


def _chosen(database: Database, within: str, first: int, only: Only, asked: str = "") -> list[Any]:
    """Rows of the pages among `within` that may be chosen, in its order: SQLite takes the outer table as it comes."""
    where, how = "p.outcome = 'fetched'", "pages_to_read"
    if only.since is not None:
        where += " AND coalesce(p.published, p.found_at) >= :since"
    if only.host is not None:
        where, how = where + " AND p.host = :host", "pages_by_host"
    if only.source is not None:
        where, how = where + " AND p.source = :source", "pages_by_source"
    named = only._asdict() | {
        "first": first,
        "asked": asked,
        "upto": _upto(only),
        "looked_at": _LOOKED_AT,
    }
    sql = (
        f"SELECT {_COLUMNS} FROM ({within}) AS one CROSS JOIN pages AS p INDEXED BY {how} ON p.landed = one.landed"
        f" {_BELIEVED} WHERE {where} LIMIT :first"
    )
    return database.execute(sql, named).fetchall()


def _upto(only: Only) -> int:
    return _LAST if only.upto is None else only.upto


def _candidates(rows: Iterable[Any]) -> Candidates:
    table = np.array(list(rows), float).reshape(-1, 5)  # None becomes NaN
    order = np.argsort(-table[:, 0], kind="stable")
    landed, source, published, profit, decay = (column.copy() for column in table[order].T)
    return Candidates(landed.astype(np.int64), source.astype(np.int64), published, profit, decay, np.zeros(len(landed)))


def _scored(
    database: Database, asked: Sequence[str], rarity: Sequence[float], within: str, *given: Any
) -> dict[int, float]:
    """How close matches are, by landing."""
    weights = ", ".join("?" for _ in rarity)
    sql = f"SELECT rowid, closeness(words, {weights}) FROM words WHERE words MATCH ? AND {within}"
    values = [apsw.carray(one) if isinstance(one, np.ndarray) else one for one in given]
    rows: Any = database.execute(sql, (*rarity, " ".join(asked), *values)).fetchall()
    return dict(rows)


def _believed(database: Database, landed: IntArray) -> list[Any]:
    """Rows of these pages, of those that are kept."""
    if not len(landed):
        return []
    sql = (
        f"SELECT {_COLUMNS} FROM carray(?) AS one CROSS JOIN pages AS p INDEXED BY pages_to_read"
        f" ON p.landed = one.value {_BELIEVED} WHERE p.outcome = 'fetched'"
    )
    return database.execute(sql, (apsw.carray(landed),)).fetchall()


def _rarity(database: Database, phrase: str) -> float:
    """The logarithm of how few texts have it (idf), guessed from how densely the newest lie."""
    number, low, high = database.execute(
        "SELECT count(*), coalesce(min(rowid), 0), coalesce(max(rowid), 0)"
        " FROM (SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)",
        (phrase, _COUNTED),
    ).get
    having = number if number < _COUNTED else high * number / (high - low + 1)
    return math.log1p((max(high - having, 0) + 0.5) / (having + 0.5))
