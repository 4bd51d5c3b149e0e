"""What happened, in the order it did, to rebuild what a crawler knew."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.past import ClockStep, Past, PastClicks, PastCrawl, PastFetch, PastHint, PastPage
from mayfly.store.records import LinkSpan, WaitingPage
from mayfly.store.tables import clicks

_CHUNK = 1000  # things that happened
_LINKS = 5000


class Span(NamedTuple):
    """Of sequence numbers: behind the first, up to the last."""

    behind: int
    upto: int


def span_since(database: Database, since: Seconds) -> Span:
    """From the first thing that happened at or after that time to the last."""
    first, last = database.execute(
        f"SELECT (SELECT seq FROM log WHERE {database.mine} AND at >= ? ORDER BY seq LIMIT 1),"
        f" (SELECT max(seq) FROM log WHERE {database.mine})",
        (since,),
    ).get
    return Span(0, 0) if first is None else Span(first - 1, last)


def chunk(database: Database, span: Span) -> tuple[list[Past], Span]:
    """The first part of what happened, and the rest of the span."""
    rows: list[Any] = database.execute(
        "SELECT seq, at, kind, source, page, outcome, stayed, gone, first, dated, dated_since FROM log"
        f" WHERE {database.mine} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (*span, _CHUNK),
    ).fetchall()
    if not rows:
        return [], Span(span.upto, span.upto)
    shown = _shown(database, [row[0] for row in rows if row[2] in ("crawl", "hint")])
    told = [_past(database, row, shown) for row in rows if row[2] != "failure"]
    return told, Span(rows[-1][0], span.upto)


def step(database: Database, step: ClockStep) -> None:
    seq = database.execute("INSERT INTO log (at, kind) VALUES (?, 'step') RETURNING seq", (step.at,)).get
    database.execute("INSERT INTO steps VALUES (?, ?)", (seq, step.by))


def waiting(database: Database) -> list[WaitingPage]:
    """Pages that are to be fetched, in the order they were found."""
    sources: defaultdict[PageId, dict[SourceId, None]] = defaultdict(dict)
    for page, source in database.execute(
        "SELECT links.page, links.source FROM pages JOIN links ON links.page = pages.id"
        f" WHERE {database.mine} AND pages.outcome = 'waiting' ORDER BY pages.id, links.crawl"
    ):
        sources[page][source] = None
    return [
        WaitingPage(row[0], row[1], row[2], list(sources[row[0]]) or [row[3]], row[4], row[5], None, *row[6:])
        for row in database.execute(
            "SELECT id, url, site, source, published, found_at, rank, retry_at, tries FROM pages"
            f" WHERE {database.mine} AND outcome = 'waiting' ORDER BY id"
        )
    ]


def links(database: Database, behind: tuple[int, int]) -> tuple[list[LinkSpan], tuple[int, int] | None]:
    """Some links, and where to go on."""
    rows: list[Any] = database.execute(
        "SELECT crawl, place, source, page, added, removed, rank FROM links WHERE (crawl, place) > (?, ?)"
        " ORDER BY crawl, place LIMIT ?",
        (*behind, _LINKS),
    ).fetchall()
    return [LinkSpan(*row[2:]) for row in rows], (rows[-1][0], rows[-1][1]) if rows else None


def crawl_gaps(database: Database) -> dict[SourceId, Seconds]:
    """The median time between two crawls of each source."""
    rows: list[Any] = database.execute(
        "SELECT source, median(gap) FROM (SELECT source, at - lag(at) OVER (PARTITION BY source ORDER BY at) AS gap"
        " FROM log WHERE kind = 'crawl') AS gaps WHERE gap IS NOT NULL GROUP BY source"
    ).fetchall()
    return dict(rows)


def _past(database: Database, row: Any, shown: dict[int, Any]) -> Past:
    seq, at, kind, source, page, outcome, stayed, gone, first, dated, dated_since = row
    if kind == "crawl":
        new, known, ranks = shown.get(seq, ([], [], []))
        return PastCrawl(at, source, new, known, stayed, gone, bool(first), dated, dated_since, tuple(ranks))
    if kind == "hint":
        return PastHint(at, source, shown.get(seq, ([],))[0], bool(first))
    if kind == "fetch":
        return PastFetch(at, page, outcome == "fetched")
    if kind == "step":
        return ClockStep(at, database.execute('SELECT "by" FROM steps WHERE seq = ?', (seq,)).get)
    behind, upto = database.execute("SELECT behind, upto FROM tellings WHERE seq = ?", (seq,)).get
    return PastClicks(at, clicks.between(database, behind, upto, seq, database.told_to(seq)))


def _shown(database: Database, crawls: list[int]) -> dict[int, Any]:
    """What these crawls showed, by crawl: pages that were new, those new on it only and their ranks."""
    shown: dict[int, Any] = {}
    if not crawls:
        return shown
    for crawl, page, is_first, rank, *more in database.execute(
        "SELECT crawl, page, first, links.rank, site, shown_published, url, anchor, context"
        " FROM carray(?) AS asked CROSS JOIN links JOIN pages ON pages.id = page"
        " WHERE crawl = asked.value AND first IS NOT NULL ORDER BY crawl, place",
        (database.array(np.array(crawls, np.int64)),),
    ):
        new, known, ranks = shown.setdefault(crawl, ([], [], []))
        if is_first:
            site, published, *text = more
            new.append(PastPage(page, site, published, rank, *text))
        else:
            known.append(page)
            ranks.append(rank)
    return shown
