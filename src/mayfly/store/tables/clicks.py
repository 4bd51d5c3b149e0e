"""What people clicked and were shown, by page and span of time. Who they were is never kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mayfly.core.model import HOUR, PageId, Seconds
from mayfly.store.database import Database
from mayfly.store.records import ClickRow, Clicks, ClicksTaken
from mayfly.store.tables import meta, seen

_Key: TypeAlias = tuple[str, float, float, str, int]  # url, beginning and width of the bin, kind, position
_WIDE = 2 * HOUR  # of a wider bin only the part behind the fetch is told
_MOST_ROWS = 500_000  # told at once
_CHUNK = 50_000
_MOST_BATCHES = 1_000_000  # whose ids are kept
# The share of a day's clicks that came after the fetch: as if they had come evenly since the page was published.
_SEEN = (
    f"CASE WHEN width > {_WIDE} AND bin < fetched_at THEN"
    " (bin + width - fetched_at) / (bin + width - max(bin, min(coalesce(published, bin), fetched_at))) ELSE 1 END"
)
_INTO_CLICKS = "INSERT INTO clicks (id, page, bin, width, kind, position, count) VALUES (?, ?, ?, ?, ?, ?, ?)"
_INTO_UNKNOWN = "INSERT INTO clicks_unknown (hash, bin, width, kind, position, count) VALUES (?, ?, ?, ?, ?, ?)"


class Binned(NamedTuple):
    """Rows of a log, added up."""

    counts: dict[_Key, float]
    rows: dict[str, int]  # how many there were, by URL


def binned(rows: Iterable[ClickRow], width: Seconds) -> Binned:
    """Add up what falls into one span of time. Needs no database, so no lock is held meanwhile."""
    counts: dict[_Key, float] = {}
    number_of: dict[str, int] = {}
    for url, at, number, kind, position, span in rows:
        key = (url, at // width * width, width, kind, position) if span is None else (url, at, span, kind, position)
        counts[key] = counts.get(key, 0.0) + number
        number_of[url] = number_of.get(url, 0) + 1
    return Binned(counts, number_of)


def add(database: Database, told: Binned, at: Seconds, batch: str) -> ClicksTaken:
    """Keep them, a named batch only once: the second time what was answered the first time is answered again."""
    database.in_turn()
    if not batch:
        return _add(database, told)
    before = database.execute("SELECT known, unknown FROM batches WHERE id = ?", (batch,)).fetchone()
    if before is not None:
        return ClicksTaken(*before)
    taken = _add(database, told)
    sql = "INSERT INTO batches (id, at, known, unknown) VALUES (?, ?, ?, ?) RETURNING number"
    number = database.execute(sql, (batch, at, *taken)).get
    database.execute("DELETE FROM batches WHERE number <= ?", (number - _MOST_BATCHES,))
    return taken


def _add(database: Database, told: Binned) -> ClicksTaken:
    """With their page, or by fingerprint until it is found."""
    urls = list(told.rows)
    hashes = seen.fingerprints(database, urls)
    pages = seen.pages_of(database, hashes)
    hash_of = dict(zip(urls, hashes.tolist(), strict=True))
    page_of = {url: page for url, number in hash_of.items() if (page := pages.get(number))}
    known, unknown = [], []
    last = _last(database)
    for (url, bin, width, kind, position), count in told.counts.items():
        page = page_of.get(url)
        if page is None:
            unknown.append((hash_of[url], bin, width, kind, position, count))
        else:
            last += 1
            known.append((last, page, bin, width, kind, position, count))
    database.executemany(_INTO_CLICKS, known)
    database.executemany(_INTO_UNKNOWN, unknown)
    _save_last(database, last)
    taken = sum(number for url, number in told.rows.items() if url in page_of)
    return ClicksTaken(taken, sum(told.rows.values()) - taken)


def has_batch(database: Database, batch: str) -> bool:
    return bool(database.execute("SELECT EXISTS (SELECT 1 FROM batches WHERE id = ?)", (batch,)).get)


def found(database: Database, new: Sequence[Mapping[int, PageId]]) -> None:
    """Move what waited for these pages (by fingerprint) to them."""
    pages = {number: page for some in new for number, page in some.items()}
    asked = database.array(np.fromiter(pages, np.int64, len(pages)))
    rows: Sequence[Any] = database.execute(
        "SELECT id, hash, bin, width, kind, position, waiting.count FROM carray(?) AS asked"
        " CROSS JOIN clicks_unknown AS waiting WHERE hash = asked.value ORDER BY id",
        (asked,),
    ).fetchall()
    if rows:
        database.in_turn()
        last = _last(database)
        database.executemany(
            _INTO_CLICKS, [(number, pages[row[1]], *row[2:]) for number, row in enumerate(rows, last + 1)]
        )
        _save_last(database, last + len(rows))
        database.executemany("DELETE FROM clicks_unknown WHERE id = ?", [(row[0],) for row in rows])


def since(database: Database, cursor: int, most: int = _MOST_ROWS) -> tuple[Clicks, int]:
    """Clicks and shows of fetched pages behind the cursor, and the next cursor; so many rows at most."""
    first, last = database.execute("SELECT coalesce(min(id), 1), coalesce(max(id), 0) FROM clicks").get
    behind = max(cursor, first - 1)
    upto = max(behind, min(last, behind + most))
    return between(database, behind, upto), upto


def between(database: Database, behind: int, upto: int, seq: int | None = None) -> Clicks:
    """Those behind one cursor up to another, of pages that were settled before `seq`."""
    parts = [np.empty((0, 6))]
    for low in range(behind, upto, _CHUNK):
        rows = database.execute(
            f"SELECT page, bin + width / 2, count * {_SEEN}, width, kind = 'show', position"
            " FROM clicks JOIN pages ON pages.id = page"
            f" WHERE {database.mine_or_found} AND clicks.id > ? AND clicks.id <= ? AND outcome = 'fetched'"
            " AND bin + width > fetched_at AND settled < ? ORDER BY clicks.id",
            (low, min(low + _CHUNK, upto), (1 << 62) if seq is None else seq),
        ).fetchall()
        if rows:
            parts.append(np.array(rows, float))
    table = np.concatenate(parts)
    page, at, number, width, show, position = (column.copy() for column in table.T)
    return Clicks(page.astype(np.int64), at, number, width, show > 0, position.astype(np.int64))


def tell(database: Database, at: Seconds, cursor: int) -> None:
    """Note that the crawler was told all up to the cursor."""
    behind = told(database)
    seq = database.execute("INSERT INTO log (at, kind) VALUES (?, 'told') RETURNING seq", (at,)).get
    database.execute("INSERT INTO tellings VALUES (?, ?, ?)", (seq, behind, cursor))
    meta.put(database, database.name("told"), cursor)


def told(database: Database) -> int:
    return meta.cursor(database, "told")


def _last(database: Database) -> int:
    """The last number that was given to a row, whether it is still there or not."""
    kept, there = database.execute(
        "SELECT (SELECT value FROM meta WHERE name = 'clicks'), (SELECT max(id) FROM clicks)"
    ).get
    return max(kept or 0, there or 0)


def _save_last(database: Database, last: int) -> None:
    meta.put(database, "clicks", last)
