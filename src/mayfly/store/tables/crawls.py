"""What a crawl of a source brought: what is new, what came back, what is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import apsw
import numpy as np

from mayfly.core.model import IntArray, PageId, Seconds, SourceId
from mayfly.store.connection import Database
from mayfly.store.records import Crawled, FetchFailure, LandedCrawl, NewOnSource, ShownLink
from mayfly.store.tables import clicks, seen
from mayfly.store.tables.words import storable
from mayfly.urls import host_of


class _Before(NamedTuple):
    """Of the source, as the crawl found it."""

    last_crawl: Seconds | None
    shown: int


class _Change(NamedTuple):
    """Of what a source shows."""

    added: dict[int, ShownLink]  # by fingerprint, in page order
    shown: IntArray  # sorted
    gone: IntArray
    stayed: int


def land_crawl(database: Database, crawled: Crawled) -> LandedCrawl:
    """Keep a crawl and the pages it showed."""
    before = _before(database, crawled.source)
    if crawled.links is None:
        _log(database, crawled, stayed=before.shown, gone=0)
        _update_source(database, crawled, before.shown, 0)
        return LandedCrawl((), (), before.shown, 0)
    change = _compare(database, crawled.source, crawled.links)
    crawl = _log(database, crawled, change.stayed, len(change.gone))
    new, known = _add(database, crawl, crawled, change.added, before.last_crawl)
    if change.added or len(change.gone) or before.last_crawl is None:
        seen.save_shown(database, crawled.source, change.shown)
    _close(database, crawled.source, crawled.at, change.gone)
    _update_source(database, crawled, len(change.shown), len(new))
    return LandedCrawl(new, known, change.stayed, len(change.gone))


def land_failure(database: Database, failure: FetchFailure) -> None:
    """Keep that a source could not be crawled; that is no look at it."""
    _before(database, failure.id)
    reason = storable(failure.reason)
    database.execute(
        "INSERT INTO log (at, kind, source, status, outcome) VALUES (?, 'failure', ?, ?, ?)",
        (failure.at, failure.id, failure.status, reason),
    )
    database.execute("UPDATE sources SET failures = failures + 1, failure = ? WHERE id = ?", (reason, failure.id))


def _before(database: Database, source: SourceId) -> _Before:
    row = database.execute("SELECT last_crawl, shown FROM sources WHERE id = ?", (source,)).fetchone()
    if row is None:
        raise LookupError(f"there is no source {source}")
    return _Before(*row)


def _compare(database: Database, source: SourceId, links: Sequence[ShownLink]) -> _Change:
    """Sets of Python: most sources show some sixty links, and numpy's take ten times as long for so few."""
    hashes = seen.fingerprints(database, [link.url for link in links])
    last = set(seen.shown_by(database, source).tolist())
    now: dict[int, ShownLink] = {}
    for number, link in zip(hashes.tolist(), links, strict=True):
        now.setdefault(number, link)
    added = {number: link for number, link in now.items() if number not in last}
    gone = last.difference(now)
    shown = np.fromiter(now, np.int64, len(now))
    shown.sort()
    return _Change(added, shown, np.fromiter(gone, np.int64, len(gone)), len(last) - len(gone))


def _log(database: Database, crawled: Crawled, stayed: int, gone: int) -> int:
    database.execute(
        "INSERT INTO log (at, kind, source, status, seconds, bytes, outcome, stayed, gone, first, dated,"
        " dated_since) VALUES (?, 'crawl', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            crawled.at, crawled.source, crawled.status, crawled.seconds, crawled.wire_bytes,
            storable(crawled.note), stayed, gone, crawled.first, crawled.dated, crawled.dated_since,
        ),
    )  # fmt: skip
    return database.last_insert_rowid()


def _add(
    database: Database, crawl: int, crawled: Crawled, added: dict[int, ShownLink], looked_at: Seconds | None
) -> tuple[list[NewOnSource], list[PageId]]:
    """Rows for what was not on the source before."""
    if not added:
        return [], []
    seen_pages = seen.pages_of(database, np.fromiter(added, np.int64, len(added)))
    new: dict[int, NewOnSource] = {}
    known: list[PageId] = []
    rows: list[tuple[PageId, int, int | None]] = []  # page, rank, first
    unwanted: list[int] = []
    again: list[int] = []
    for number, link in added.items():
        page = seen_pages.get(number)
        if page:
            if any(page == other for other, _, _ in rows):
                continue  # by another of its addresses
            came_back = _linked(database, crawled.source, page)
            if not came_back:
                known.append(page)
            rows.append((page, link.rank, None if came_back else 0))
        elif page is None and link.wanted:
            page = _add_page(database, number, link, crawled.source, crawled.at, looked_at)
            new[number] = NewOnSource(page, link)
            rows.append((page, link.rank, 1))
        else:
            (unwanted if page is None else again).append(number)
    day = seen.day_of(crawled.at)
    database.executemany("INSERT INTO seen VALUES (?, ?, ?)", [(n, found.page, day) for n, found in new.items()])
    seen.remember(database, np.array(unwanted, np.int64), crawled.at)
    seen.touch(database, np.array(again, np.int64), crawled.at)
    database.executemany(
        "INSERT INTO links (crawl, place, source, page, added, rank, first) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (crawl, place, crawled.source, page, crawled.at, rank, first)
            for place, (page, rank, first) in enumerate(rows)
        ],
    )
    if new:
        clicks.found(database, {number: found.page for number, found in new.items()})
    database.execute(
        "UPDATE totals SET seen = seen + ?, links = links + ?, waiting = waiting + ?",
        (len(new) + len(unwanted), len(rows), len(new)),
    )
    return list(new.values()), known


def _add_page(
    database: Database, number: int, link: ShownLink, source: SourceId, at: Seconds, looked_at: Seconds | None
) -> PageId:
    database.execute(
        "INSERT INTO pages (hash, url, host, site, source, anchor, context, rank, found_at, looked_at,"
        " shown_published, published, published_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number, link.url, host_of(link.url), link.site, source, storable(link.anchor),
            storable(link.context), link.rank, at, looked_at, link.published, link.published,
            link.published_from,
        ),
    )  # fmt: skip
    return database.last_insert_rowid()


def _linked(database: Database, source: SourceId, page: PageId) -> bool:
    asked = database.execute("SELECT 1 FROM links WHERE page = ? AND source = ? LIMIT 1", (page, source))
    return asked.fetchone() is not None


def _close(database: Database, source: SourceId, at: Seconds, gone: IntArray) -> None:
    """Links that are gone; their addresses were shown until now."""
    if not len(gone):
        return
    database.execute(
        "UPDATE links SET removed = ? WHERE source = ? AND removed IS NULL AND page IN"
        " (SELECT page FROM carray(?) AS asked CROSS JOIN seen ON hash = asked.value WHERE page > 0)",
        (at, source, apsw.carray(gone)),
    )
    seen.touch(database, gone, at)


def _update_source(database: Database, crawled: Crawled, shown: int, new: int) -> None:
    memory = crawled.memory
    database.execute(
        "UPDATE sources SET crawls = crawls + 1, last_crawl = ?1, last_new = iif(?3, ?1, last_new), shown = ?2,"
        " new_links = new_links + ?3, failures = 0, failure = '', unchanged = iif(?4, unchanged + 1, 0),"
        " etag = ?5, last_modified = ?6, body_hash = ?7, unmodified = ?8, lie = ?9 WHERE id = ?10",
        (
            crawled.at, shown, new, crawled.links is None, storable(memory.etag),
            storable(memory.last_modified), memory.body_hash, memory.unmodified, memory.lie, crawled.source,
        ),
    )  # fmt: skip
