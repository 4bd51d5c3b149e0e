"""Pages for people: the freshest, and the newest that have some words. However many there are, few are looked at.

FTS5 gives matches by row, and rows are numbered as pages land: so the newest matches come first, and the others are
never touched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

import apsw
import numpy as np

from mayfly.store.connection import Database
from mayfly.store.records import Page
from mayfly.store.sights import BEGIN, END, Candidates, Only, Sight
from mayfly.store.tables.pages import SELECT, read

_LOOKED_AT = 10_000  # texts or matches, to find those of a host or a source
_COUNTED = 2000  # matches of a phrase, to guess how many there are
_TOKENS = 40  # of a snippet
_BEGINNING = 300  # characters of a text, where no words were asked for
_LAST = (1 << 62) - 1
_COLUMNS = "p.landed, p.source, coalesce(p.published, p.found_at), e.page_profit, e.profit_decay"
_BELIEVED = "LEFT JOIN estimates AS e ON e.source = p.source"
# All that have a text, without reading it.
_NEWEST = "SELECT id AS landed FROM words_docsize WHERE id <= :upto ORDER BY id DESC LIMIT :looked_at"
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
    found = _candidates(_chosen(database, _MATCHES, first, only, " ".join(asked)))
    return found._replace(closeness=_closeness(database, asked, found.landed)) if len(found.landed) else found


def sights(database: Database, landed: Sequence[int], asked: Sequence[str]) -> list[Sight]:
    """These pages, in this order, as a person sees them."""
    if not landed:
        return []
    numbers = apsw.carray(np.array(landed, np.int64))
    found = read(database.execute(f"{SELECT} WHERE p.landed IN (SELECT value FROM carray(?))", (numbers,)))
    by_landing = {page.landed: page for page in found}
    return [_sight(database, by_landing[one], " ".join(asked)) for one in landed if one in by_landing]


def _chosen(database: Database, within: str, first: int, only: Only, asked: str = "") -> list[Any]:
    """Rows of the pages among `within` that may be chosen, in its order: SQLite takes the outer table as it comes."""
    where, how = "p.outcome = 'fetched'", "pages_by_landing"
    if only.since is not None:
        where += " AND coalesce(p.published, p.found_at) >= :since"
    if only.host is not None:
        where, how = where + " AND p.host = :host", "pages_by_host"
    if only.source is not None:
        where, how = where + " AND p.source = :source", "pages_by_source"
    named = only._asdict() | {
        "first": first,
        "asked": asked,
        "upto": _LAST if only.upto is None else only.upto,
        "looked_at": _LOOKED_AT,
    }
    sql = (
        f"SELECT {_COLUMNS} FROM ({within}) AS one CROSS JOIN pages AS p INDEXED BY {how} ON p.landed = one.landed"
        f" {_BELIEVED} WHERE {where} LIMIT :first"
    )
    return database.execute(sql, named).fetchall()


def _candidates(rows: Iterable[Any]) -> Candidates:
    table = np.array(list(rows), float).reshape(-1, 5)  # None becomes NaN
    order = np.argsort(-table[:, 0], kind="stable")
    landed, source, published, profit, decay = (column.copy() for column in table[order].T)
    return Candidates(landed.astype(np.int64), source.astype(np.int64), published, profit, decay, np.zeros(len(landed)))


def _closeness(database: Database, asked: Sequence[str], landed: Any) -> Any:
    """Of these pages, which all match."""
    rarity = [1.0] if len(asked) == 1 else [_rarity(database, phrase) for phrase in asked]
    given = ", ".join("?" for _ in rarity)
    rows = database.execute(
        f"SELECT rowid, closeness(words, {given}) FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
        " AND +rowid IN (SELECT value FROM carray(?))",  # +: a look at each match, not a search for each page
        (*rarity, " ".join(asked), int(landed.min()), int(landed.max()), apsw.carray(landed)),
    )
    score: dict[Any, Any] = dict(cast(Any, rows.fetchall()))
    return np.array([score.get(one, 0.0) for one in landed.tolist()])


def _rarity(database: Database, phrase: str) -> float:
    """The logarithm of how few texts have it (idf), guessed from how densely the newest lie."""
    number, low, high = database.execute(
        "SELECT count(*), coalesce(min(rowid), 0), coalesce(max(rowid), 0)"
        " FROM (SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)",
        (phrase, _COUNTED),
    ).get
    having = number if number < _COUNTED else high * number / (high - low + 1)
    return math.log1p((max(high - having, 0) + 0.5) / (having + 0.5))


def _sight(database: Database, page: Page, asked: str) -> Sight:
    title = page.title or page.anchor or page.url
    if not asked:
        return Sight(page, title, page.text[:_BEGINNING])
    row = database.execute(
        f"SELECT highlight(words, 0, '{BEGIN}', '{END}'), snippet(words, 1, '{BEGIN}', '{END}', '…', {_TOKENS})"
        " FROM words WHERE words MATCH ? AND rowid = ?",
        (asked, page.landed),
    ).fetchone()
    marked, snippet = row or ("", page.text[:_BEGINNING])
    return Sight(page, marked or title, snippet)
