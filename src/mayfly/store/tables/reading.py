"""Pages for people: the freshest, and the newest that have some words. However many there are, few are looked at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mayfly.store.database import Database
from mayfly.store.sights import Candidates, Only, Sight
from mayfly.store.tables.pages import SELECT, read

LOOKED_AT = 10_000  # matches, to find those of a host or a source
COUNTED = 500  # matches of a phrase, to guess how many there are
SPREAD = "count(*), coalesce(min({key}), 0), coalesce(max({key}), 0)"
_BEGINNING = 300  # characters of a text, where no words were asked for
_LAST = (1 << 62) - 1
COLUMNS = "p.landed, p.source, coalesce(p.published, p.found_at), e.page_profit, e.profit_decay"
BELIEVED = "LEFT JOIN estimates AS e ON e.source = p.source"
_NEWEST = "SELECT landed FROM pages WHERE {which} AND landed <= ? ORDER BY landed DESC LIMIT ?"


def freshest(database: Database, first: int, only: Only) -> Candidates:
    """The pages that landed last."""
    given: list[Any] = []
    which = "outcome = 'fetched'"
    if only.source is not None:
        which, given = "source = ?", [only.source]
    elif only.host is not None:
        which, given = "host = ?", [only.host]
    within = _NEWEST.format(which=which)
    return candidates(chosen(database, within, (*given, upto(only), first), first, only))


def matching(database: Database, asked: Sequence[str], first: int, only: Only) -> Candidates:
    """The pages that landed last and have all these phrases, with how close they are."""
    return database.words.matching(database, asked, first, only) if asked else candidates([])


def sights(database: Database, landed: Sequence[int], asked: Sequence[str]) -> list[Sight]:
    """These pages, in this order, as a person sees them."""
    if not landed:
        return []
    numbers = database.array(np.array(landed, np.int64))
    found = read(database.execute(f"{SELECT} WHERE p.landed IN (SELECT value FROM carray(?))", (numbers,)))
    by_landing = {page.landed: page for page in found}
    pages = [by_landing[one] for one in landed if one in by_landing]
    plain = [(page.title or page.anchor or page.url, page.text) for page in pages]
    marked = database.glimpses.of(plain, asked) if asked else {}
    return [
        Sight(page, *marked.get(place, (title, text[:_BEGINNING])))
        for place, (page, (title, text)) in enumerate(zip(pages, plain, strict=True))
    ]


def chosen(database: Database, within: str, given: Sequence[Any], first: int, only: Only) -> list[Any]:
    """Rows of the pages among `within` that may be chosen, in its order: SQLite takes the outer table as it comes."""
    where, how, values = ["p.landed = one.landed", "p.outcome = 'fetched'"], "pages_to_read", list(given)
    if only.since is not None:
        where.append("coalesce(p.published, p.found_at) >= ?")
        values.append(only.since)
    if only.host is not None:
        where.append("p.host = ?")
        values.append(only.host)
        how = "pages_by_host"
    if only.source is not None:
        where.append("p.source = ?")
        values.append(only.source)
        how = "pages_by_source"
    sql = (
        f"SELECT {COLUMNS} FROM ({within}) AS one CROSS JOIN pages AS p INDEXED BY {how} {BELIEVED}"
        f" WHERE {' AND '.join(where)} ORDER BY one.landed DESC LIMIT ?"
    )
    return database.execute(sql, (*values, first)).fetchall()


def rarity(number: int, low: int, high: int) -> float:
    """The logarithm of how few texts have a phrase (idf), guessed from how densely the newest of them lie."""
    having = number if number < COUNTED else high * number / (high - low + 1)
    return math.log1p((max(high - having, 0) + 0.5) / (having + 0.5))


def upto(only: Only) -> int:
    return _LAST if only.upto is None else only.upto


def candidates(rows: Iterable[Any]) -> Candidates:
    """Rows of `COLUMNS`, as columns."""
    table = np.array(list(rows), float).reshape(-1, 5)  # None becomes NaN
    order = np.argsort(-table[:, 0], kind="stable")
    landed, source, published, profit, decay = (column.copy() for column in table[order].T)
    return Candidates(landed.astype(np.int64), source.astype(np.int64), published, profit, decay, np.zeros(len(landed)))
