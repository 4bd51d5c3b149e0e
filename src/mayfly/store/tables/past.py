"""What happened, in the order it did, to rebuild what a crawler knew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.store.database import NONE, Database
from mayfly.store.past import ClockStep, Past, PastClicks, PastCrawl, PastFetch, PastHanded, PastHint, PastPage
from mayfly.store.records import LinkSpan, WaitingPage
from mayfly.store.tables import clicks, handing, meta

_CHUNK = 1000  # things that happened
_LINKS = 5000
IDLE = -1  # as the end of a telling: it told nothing to one of many, see `Told.again`
_SOME = f"SELECT {{columns}} FROM {{rows}} AND {{seq}} > ?1 AND {{seq}} <= ?2 ORDER BY {{seq}} LIMIT {_CHUNK}"


class Told:
    """How far the readers of clicks were told of them, while the past is gone through. Each clicks is told again once:
    of shards to one process when the last of them was, as each was told of its own pages; to a shard what it was told,
    and what one process was.
    """

    def __init__(self, upto: int, shards: Iterable[int]) -> None:
        self.upto = upto  # what was told again
        self._of = dict.fromkeys(shards, upto)
        self._times = 0  # that anybody was told anything again,
        self._heard: dict[int | None, int] = {}  # and how often that was when each was told last

    def copy(self) -> Told:
        """As it stands: what is read may have to be read again."""
        made = Told(self.upto, ())
        made._of, made._times, made._heard = dict(self._of), self._times, dict(self._heard)
        return made

    def again(self, reader: int | None, upto: int) -> tuple[int, int] | None:
        """What is told again as this reader was told up to there; None: nothing. Where it adds nothing, time passes all
        the same, and of many readers one is enough: one since whose last telling nobody was told.
        """
        behind, now = self._more(reader, upto)
        told = behind < now or self._heard.get(reader, 0) == self._times
        self._times += told
        self._heard[reader] = self._times
        return (behind, now) if told else None

    def _more(self, reader: int | None, upto: int) -> tuple[int, int]:
        """A reader (None: one process) was told up to there; what that adds to what is told again."""
        if reader is None:
            self._of = {shard: max(upto, before) for shard, before in self._of.items()}
        else:
            self._of[reader] = max(upto, self._of.get(reader, 0))
        behind, self.upto = self.upto, max(self.upto, upto if reader is None else min(self._of.values()))
        return behind, self.upto


class Span(NamedTuple):
    """Of sequence numbers: behind the first, up to the last."""

    behind: int
    upto: int
    told: Told


def span_since(database: Database, since: Seconds) -> Span:
    """From the first thing that happened to us at or after that time to the last."""
    own = database.past[0]
    first: int | None = database.execute(f"SELECT seq FROM {own.rows} AND at >= ? ORDER BY seq LIMIT 1", (since,)).get
    if first is None:
        return Span(0, 0, Told(0, ()))
    last = max(database.execute(f"SELECT max({part.seq}) FROM {part.rows}").get or 0 for part in database.past)
    begin = database.execute("SELECT coalesce(min(behind), 0) FROM tellings WHERE seq >= ?", (first,)).get
    return Span(first - 1, last, Told(begin, meta.readers(database, "told")))


def chunk(database: Database, span: Span) -> tuple[list[Past], Span]:
    """The first part of what happened, and the rest of the span."""
    parts = " UNION ALL ".join(f"SELECT * FROM ({_SOME.format(**part._asdict())}) AS part" for part in database.past)
    rows: list[Any] = database.execute(f"{parts} ORDER BY 1 LIMIT {_CHUNK}", (span.behind, span.upto)).fetchall()
    if not rows:
        return [], span._replace(behind=span.upto)
    shown = _shown(database, [row[0] for row in rows if row[2] in ("crawl", "hint")])
    fetched = [row[4] for row in rows if row[2] == "fetch"]
    handed = _handed(database, [*fetched, *(page for links in shown.values() for page in links.handed)])
    past: list[Past] = []
    told = span.told.copy()
    for row in rows:
        past += _past(database, row, shown.get(row[0], _Shown()), handed, told)
    return past, Span(rows[-1][0], span.upto, told)


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


class _Shown:
    """What a crawl showed that was not there before."""

    def __init__(self) -> None:
        self.new: list[PastPage] = []
        self.known: list[PageId] = []  # pages that another source had shown,
        self.ranks: list[int] = []  # and where they stand here
        self.handed: list[PageId] = []  # those that another crawler found


def _past(database: Database, row: Any, links: _Shown, handed: Mapping[PageId, PastHanded], told: Told) -> list[Past]:
    seq, at, kind, source, page, outcome, stayed, gone, first, dated, dated_since, was_read, reader = row
    found = [handed[one] for one in (*links.handed, page) if one in handed]
    if kind == "crawl":
        new, known, ranks = links.new, links.known, tuple(links.ranks)
        return [*found, PastCrawl(at, source, new, known, stayed, gone, bool(first), dated, dated_since, ranks)]
    if kind == "hint":
        return [*found] or [PastHint(at, source, links.new, bool(first))]
    if kind == "fetch":
        return [*found, PastFetch(at, page, outcome, bool(was_read))]
    if kind == "step":
        return [ClockStep(at, database.execute('SELECT "by" FROM steps WHERE seq = ?', (seq,)).get)]
    if kind == "told":
        upto = database.execute("SELECT upto FROM tellings WHERE seq = ?", (seq,)).get
        span = None if upto == IDLE else told.again(reader, upto)
        return [] if span is None else [PastClicks(at, clicks.between(database, *span, seq))]
    return []  # a failure was no look at the source


def _shown(database: Database, crawls: list[int]) -> dict[int, _Shown]:
    shown: defaultdict[int, _Shown] = defaultdict(_Shown)
    if not crawls:
        return shown
    for crawl, page, is_first, rank, by_others, is_open, *more in database.execute(
        f"SELECT crawl, page, first, links.rank, {database.by_others}, settled IS NULL OR settled > crawl,"
        " site, shown_published, url, anchor, context"
        " FROM carray(?) AS asked CROSS JOIN links JOIN pages ON pages.id = page"
        " WHERE crawl = asked.value AND first IS NOT NULL ORDER BY crawl, place",
        (database.array(np.array(crawls, np.int64)),),
    ):
        links = shown[crawl]
        if by_others:
            links.handed += [page] if is_open else []
        elif is_first:
            site, published, *text = more
            links.new.append(PastPage(page, site, published, rank, *text))
        if not is_first:
            links.known.append(page)
            links.ranks.append(rank)
    return shown


def _handed(database: Database, pages: list[PageId]) -> dict[PageId, PastHanded]:
    """Those of some pages that another crawler found."""
    if not pages or database.by_others == NONE:
        return {}
    return {
        one.page: PastHanded(
            one.found_at,
            one.source,
            [PastPage(one.page, one.site, one.appeared, one.rank, one.url, one.anchor, one.context)],
        )
        for one in handing.some(database, pages, database.by_others)
    }
