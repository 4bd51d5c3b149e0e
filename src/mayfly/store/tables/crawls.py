"""What a crawl of a source brought: what is new, what came back, what is gone."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from mayfly.core.model import IntArray, PageId, Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.records import Crawled, FetchFailure, Hinted, LandedCrawl, NewOnSource, ShownLink
from mayfly.store.tables import clicks, handing, seen, totals
from mayfly.store.tables.words import storable
from mayfly.urls import host_of, same_page


class _Before(Enum):
    """Whether a link was on a source before."""

    NEVER = auto()
    STOOD = auto()
    STANDS = auto()


class _Row(NamedTuple):
    """Of `links`."""

    rank: int
    first: int | None


class _Known(NamedTuple):
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
    _close(database, crawled.source, crawled.at, change)
    _update_source(database, crawled, len(change.shown), len(new))
    return LandedCrawl(new, list(known), change.stayed, len(change.gone), tuple(known.values()))


def land_hint(database: Database, hinted: Hinted) -> LandedCrawl:
    """Keep that someone said so, and the pages nobody knows yet; they count as shown by the source."""
    _before(database, hinted.source)
    hashes = seen.fingerprints_of_keys(database, [link.key or same_page(link.url) for link in hinted.links])
    known = seen.pages_of(database, hashes)
    pairs = zip(hashes.tolist(), hinted.links, strict=True)
    added = {number: link for number, link in pairs if number not in known}
    if hinted.links and not added:
        return LandedCrawl((), (), 0, 0)
    seq = database.execute(
        "INSERT INTO log (at, kind, source, first) VALUES (?, 'hint', ?, ?) RETURNING seq",
        (hinted.at, hinted.source, hinted.calls),
    ).get
    new, _ = _add(database, seq, hinted, added, None)
    if hinted.leads:
        handing.note_leads(database, [one.page for one in new], hinted.leads)
    return LandedCrawl(new, (), 0, 0)


def land_failure(database: Database, failure: FetchFailure) -> None:
    """Keep that a source could not be crawled; that is no look at it."""
    _before(database, failure.id)
    reason = storable(failure.reason)
    database.execute(
        "INSERT INTO log (at, kind, source, status, outcome) VALUES (?, 'failure', ?, ?, ?)",
        (failure.at, failure.id, failure.status, reason),
    )
    database.execute(
        "UPDATE sources SET failures = failures + 1, failure = ?, retry_at = ? WHERE id = ?",
        (reason, failure.retry_at, failure.id),
    )


def _before(database: Database, source: SourceId) -> _Known:
    row = database.execute("SELECT last_crawl, shown FROM sources WHERE id = ?", (source,)).fetchone()
    if row is None:
        raise LookupError(f"there is no source {source}")
    return _Known(*row)


def _compare(database: Database, source: SourceId, links: Sequence[ShownLink]) -> _Change:
    """Sets of Python: most sources show some sixty links, and numpy's take ten times as long for so few."""
    hashes = seen.fingerprints_of_keys(database, [link.key or same_page(link.url) for link in links])
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
    seq: int = database.execute(
        "INSERT INTO log (at, kind, source, status, seconds, bytes, outcome, stayed, gone, first, dated,"
        " dated_since) VALUES (?, 'crawl', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
        (
            crawled.at, crawled.source, crawled.status, crawled.seconds, crawled.wire_bytes,
            storable(crawled.note), stayed, gone, crawled.first, crawled.dated, crawled.dated_since,
        ),
    ).get  # fmt: skip
    return seq


def _add(
    database: Database, crawl: int, crawled: Crawled | Hinted, added: dict[int, ShownLink], looked_at: Seconds | None
) -> tuple[list[NewOnSource], dict[PageId, int]]:
    """Rows for what was not on the source before: pages nobody had shown, and the ranks of those others had."""
    if not added:
        return [], {}
    seen_pages = seen.pages_of(database, np.fromiter(added, np.int64, len(added)))
    wanted = sum(1 for number, link in added.items() if number not in seen_pages and link.wanted)
    numbers = iter(database.page_numbers(wanted) if wanted else ())
    new: dict[int, NewOnSource] = {}
    rows: dict[PageId, _Row] = {}
    remembered: list[int] = []
    for number, link in added.items():
        page = seen_pages.get(number)
        if page and page not in rows:  # else: by another of its addresses
            before = _linked(database, crawled.source, page)
            if before is not _Before.STANDS:
                rows[page] = _Row(link.rank, None if before is _Before.STOOD else 0)
        elif page is None and link.wanted:
            page = next(numbers)
            new[number] = NewOnSource(page, link)
            rows[page] = _Row(link.rank, 1)
        elif not page:
            remembered.append(number)
    if new:
        _add_pages(database, new, crawled.source, crawled.at, looked_at)
    _remember(database, new, remembered, seen_pages, crawled.at)
    _link(database, crawl, crawled, rows)
    known = {page: row.rank for page, row in rows.items() if row.first == 0}
    return list(new.values()), known


def _remember(
    database: Database,
    new: dict[int, NewOnSource],
    others: list[int],
    seen_pages: dict[int, PageId],
    at: Seconds,
) -> None:
    """That these addresses were seen; `others` lead to no page."""
    if new:
        day = seen.day_of(at)
        database.executemany("INSERT INTO seen VALUES (?, ?, ?)", [(n, one.page, day) for n, one in new.items()])
        database.last(clicks.found, {number: one.page for number, one in new.items()})
        totals.add(database, seen=len(new), waiting=len(new))
    if others:
        seen.remember(database, np.array([number for number in others if number not in seen_pages], np.int64), at)
        seen.touch(database, np.array([number for number in others if number in seen_pages], np.int64), at)


def _link(database: Database, crawl: int, crawled: Crawled | Hinted, rows: dict[PageId, _Row]) -> None:
    if rows:
        database.executemany(
            "INSERT INTO links (crawl, place, source, page, added, rank, first) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (crawl, place, crawled.source, page, crawled.at, row.rank, row.first)
                for place, (page, row) in enumerate(rows.items())
            ],
        )
        totals.add(database, links=len(rows))


def _add_pages(
    database: Database, new: dict[int, NewOnSource], source: SourceId, at: Seconds, looked_at: Seconds | None
) -> None:
    database.executemany(
        "INSERT INTO pages (id, hash, url, host, site, source, anchor, context, rank, found_at, looked_at,"
        " shown_published, published, published_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                page, number, link.url, host_of(link.url), link.site, source, storable(link.anchor),
                storable(link.context), link.rank, at, looked_at, link.published, link.published,
                link.published_from,
            )
            for number, (page, link) in new.items()
        ],
    )  # fmt: skip


def _linked(database: Database, source: SourceId, page: PageId) -> _Before:
    """Whether a source has shown a page, and still does (by another address)."""
    stood = _Before.NEVER
    for (removed,) in database.execute("SELECT removed FROM links WHERE page = ? AND source = ?", (page, source)):
        if removed is None:
            return _Before.STANDS
        stood = _Before.STOOD
    return stood


def _close(database: Database, source: SourceId, at: Seconds, change: _Change) -> None:
    """Links that are gone; their addresses were shown until now."""
    if not len(change.gone):
        return
    pages = {page for page in seen.pages_of(database, change.gone).values() if page}
    pages -= seen.shown_elsewhere(database, pages, change.shown)
    if pages:
        database.executemany(
            "UPDATE links SET removed = ? WHERE page = ? AND source = ? AND removed IS NULL",
            [(at, page, source) for page in pages],
        )
    seen.touch(database, change.gone, at)


def _update_source(database: Database, crawled: Crawled, shown: int, new: int) -> None:
    memory = crawled.memory
    database.execute(
        "UPDATE sources SET crawls = crawls + 1, last_crawl = ?1, shown = ?2, new_links = new_links + ?3,"
        " last_new = CASE WHEN ?3 > 0 THEN ?1 ELSE last_new END, failures = 0, failure = '', retry_at = NULL,"
        " unchanged = (unchanged + 1) * ?4,"
        " etag = ?5, last_modified = ?6, body_hash = ?7, unmodified = ?8, lie = ?9 WHERE id = ?10",
        (
            crawled.at, shown, new, crawled.links is None, storable(memory.etag),
            storable(memory.last_modified), memory.body_hash, memory.unmodified, memory.lie, crawled.source,
        ),
    )  # fmt: skip
    if crawled.hub is not None:
        database.execute("UPDATE sources SET hub = ?, topic = ? WHERE id = ?", (*crawled.hub, crawled.source))
