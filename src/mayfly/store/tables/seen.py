"""Addresses any source has shown, by fingerprint, and what each source shows now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xxhash import xxh3_64_intdigest

from mayfly.core.model import DAY, IntArray, PageId, Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.tables import totals
from mayfly.urls import same_page

_NONE = np.empty(0, np.int64)


def fingerprints(database: Database, urls: Sequence[str]) -> IntArray:
    """Of canonical URLs, the same for spellings of one page (`urls.same_page`); signed, as SQLite's numbers are."""
    return fingerprints_of_keys(database, [same_page(url) for url in urls])


def fingerprints_of_keys(database: Database, keys: Sequence[str]) -> IntArray:
    seed = database.seed
    return np.fromiter([xxh3_64_intdigest(key.encode(), seed) for key in keys], np.uint64, len(keys)).view(np.int64)


def pages_of(database: Database, hashes: IntArray) -> dict[int, PageId]:
    """By fingerprint, for those that were seen; 0: seen, but there is no page."""
    if not len(hashes):
        return {}
    return dict(
        database.execute(
            "SELECT hash, page FROM carray(?) AS asked CROSS JOIN seen WHERE hash = asked.value",
            (database.array(hashes),),
        ).fetchall()
    )


def remember(database: Database, hashes: IntArray, at: Seconds) -> None:
    """That these were seen, without a page."""
    if len(hashes):
        database.execute(
            "INSERT INTO seen SELECT value, 0, CAST(? AS BIGINT) FROM carray(?) ORDER BY value",
            (day_of(at), database.array(hashes)),
        )
        totals.add(database, seen=len(hashes))


def alias(database: Database, hashes: Sequence[int], page: PageId, at: Seconds) -> None:
    """These, which were not seen before, are other addresses of a page: a link to one of them is not new."""
    if not hashes:
        return
    day = day_of(at)
    database.executemany("INSERT INTO seen VALUES (?, ?, ?)", [(number, page, day) for number in hashes])
    totals.add(database, seen=len(hashes))
    database.executemany("INSERT INTO addresses VALUES (?, ?)", [(page, number) for number in hashes])
    database.execute("INSERT INTO addresses SELECT id, hash FROM pages WHERE id = ? ON CONFLICT DO NOTHING", (page,))


def shown_elsewhere(database: Database, pages: set[PageId], shown: IntArray) -> set[PageId]:
    """Those of some pages that have several addresses, one of which is shown; `shown` is sorted."""
    if not pages:
        return set()
    rows: list[Any] = database.execute(
        "SELECT page, hash FROM carray(?) AS asked CROSS JOIN addresses WHERE page = asked.value",
        (database.array(np.fromiter(pages, np.int64, len(pages))),),
    ).fetchall()
    return {page for page, number in rows if _has(shown, number)}


def _has(ordered: IntArray, number: int) -> bool:
    at = int(np.searchsorted(ordered, number))
    return at < len(ordered) and int(ordered[at]) == number


def touch(database: Database, hashes: IntArray, at: Seconds) -> None:
    """A source was known to show these at that time."""
    if len(hashes):
        database.execute(
            "UPDATE seen SET day = ?1 WHERE day < ?1 AND hash IN (SELECT value FROM carray(?2))",
            (day_of(at), database.array(hashes)),
        )


def shown_by(database: Database, source: SourceId) -> IntArray:
    """Fingerprints of what it showed at its last crawl, sorted."""
    row = database.execute("SELECT hashes FROM shows WHERE source = ?", (source,)).fetchone()
    return _NONE if row is None else np.frombuffer(row[0], np.int64)


def save_shown(database: Database, source: SourceId, hashes: IntArray) -> None:
    database.execute(
        "INSERT INTO shows VALUES (?, ?) ON CONFLICT (source) DO UPDATE SET hashes = excluded.hashes",
        (source, hashes.tobytes()),
    )


def shows(database: Database, sources: Sequence[SourceId]) -> dict[SourceId, frozenset[int]]:
    return {source: frozenset(shown_by(database, source).tolist()) for source in sources}


def unseen(database: Database, urls: Sequence[str]) -> list[str]:
    """Those no source has shown, in order."""
    hashes = fingerprints(database, urls)
    seen = pages_of(database, hashes)
    return [url for url, number in zip(urls, hashes.tolist(), strict=True) if number not in seen]


def day_of(at: Seconds) -> int:
    return int(at // DAY)
