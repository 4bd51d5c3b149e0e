"""What a fetch of a page brought. A page is settled once, whatever comes later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.store.database import Database
from mayfly.store.records import Fetched, FetchFailure, LandedFetch, Outcome
from mayfly.store.tables import linked, seen, totals
from mayfly.store.tables.words import storable

_SMALL_BODY = 256  # bytes on the wire; empty answers and "please wait" are alike, but not the same page
_DULL = ("old", "duplicate", "soft-404", "log-in")
_SETTLED = ("fetched", *_DULL, "failed", "dropped")


class _Waiting(NamedTuple):
    """A page as the fetch found it."""

    source: SourceId
    outcome: Outcome
    duplicate_of: PageId | None
    found_at: Seconds
    looked_at: Seconds | None
    published: Seconds | None
    published_from: str

    def dated(self, fetched: Fetched) -> tuple[Seconds, str]:
        """When it was published, and who says so: the page, the link to it, or the middle of the gap."""
        if fetched.published is not None:
            return fetched.published, fetched.published_from
        if self.published is not None:
            return self.published, self.published_from
        before = self.found_at if self.looked_at is None else self.looked_at
        return (before + self.found_at) / 2, "gap"


def land_fetch(database: Database, fetched: Fetched) -> LandedFetch:
    """Keep a page; one that was settled before stays what it was."""
    if fetched.outcome not in _SETTLED:
        raise ValueError(f"a fetch cannot end as {fetched.outcome!r}")
    page = _page(database, fetched.page)
    if page.outcome != "waiting":
        return LandedFetch(page.outcome, page.duplicate_of)
    aliases = seen.fingerprints(database, [url for url in (fetched.final_url, fetched.canonical) if url])
    known = seen.pages_of(database, aliases)
    duplicate_of = None
    if fetched.outcome == "fetched":
        duplicate_of = _same_body(database, fetched) or _same_address(database, fetched.page, known.values())
    outcome: Outcome = fetched.outcome if duplicate_of is None else "duplicate"
    seq = _log(database, fetched, outcome)
    published, published_from = page.dated(fetched)
    database.execute(
        "UPDATE pages SET outcome = ?, reason = ?, retry_at = NULL, settled = ?, fetched_at = ?, delay = ?,"
        " published = ?, published_from = ?, status = ?, final_url = ?, canonical = ?, language = ?, body_hash = ?,"
        " duplicate_of = ?, warc = ? WHERE id = ?",
        (
            outcome, storable(fetched.reason), seq, fetched.at, max(fetched.at - published, 0.0),
            published, published_from, fetched.status, storable(fetched.final_url),
            storable(fetched.canonical), storable(fetched.language), fetched.body_hash, duplicate_of,
            fetched.warc, fetched.page,
        ),
    )  # fmt: skip
    title, text = storable(fetched.title), "" if outcome == "duplicate" else storable(fetched.text)
    _count(database, fetched.page, outcome, title, text)
    _credit(database, page.source, outcome)
    others = [number for number in dict.fromkeys(aliases.tolist()) if number not in known]
    seen.alias(database, others, duplicate_of or fetched.page, fetched.at)
    if outcome == "fetched" and fetched.linked:
        database.last(linked.note, linked.Linked(fetched.linked, page.source, fetched.at))
    return LandedFetch(outcome, duplicate_of)


def land_failure(database: Database, failure: FetchFailure) -> None:
    """Keep that a page could not be had: it waits for another try, or is given up."""
    if _page(database, failure.id).outcome != "waiting":
        return
    if failure.retry_at is not None:
        database.execute(
            "UPDATE pages SET retry_at = ?, tries = tries + 1, reason = ?, status = ? WHERE id = ?",
            (failure.retry_at, storable(failure.reason), failure.status, failure.id),
        )
    else:
        _give_up(database, failure.id, failure.at, "failed", failure.reason, failure.status)


def drop(database: Database, pages: Sequence[PageId], at: Seconds) -> None:
    """These will not be fetched."""
    for page in pages:
        if _page(database, page).outcome == "waiting":
            _give_up(database, page, at, "dropped")


def _page(database: Database, page: PageId) -> _Waiting:
    row = database.execute(
        "SELECT source, outcome, duplicate_of, found_at, looked_at, published, published_from FROM pages WHERE id = ?",
        (page,),
    ).fetchone()
    if row is None:
        raise LookupError(f"there is no page {page}")
    return _Waiting(*row)


def _same_body(database: Database, fetched: Fetched) -> PageId | None:
    if fetched.body_hash is None or fetched.wire_bytes < _SMALL_BODY:
        return None
    row = database.execute(
        "SELECT id FROM pages WHERE body_hash = ? AND outcome = 'fetched' ORDER BY id LIMIT 1", (fetched.body_hash,)
    ).fetchone()
    return None if row is None else row[0]


def _same_address(database: Database, page: PageId, there: Iterable[PageId]) -> PageId | None:
    """A page we have that lives where this one says it lives, or led to."""
    for other in there:
        if other not in (0, page) and _page(database, other).outcome == "fetched":
            return other
    return None


def _log(database: Database, fetched: Fetched, outcome: Outcome) -> int:
    seq: int = database.execute(
        "INSERT INTO log (at, kind, page, status, seconds, bytes, outcome) VALUES (?, 'fetch', ?, ?, ?, ?, ?)"
        " RETURNING seq",
        (fetched.at, fetched.page, fetched.status, fetched.seconds, fetched.wire_bytes, outcome),
    ).get
    return seq


def _give_up(
    database: Database, page: PageId, at: Seconds, outcome: Outcome, reason: str = "", status: int | None = None
) -> None:
    seq = database.execute(
        "INSERT INTO log (at, kind, page, status, outcome) VALUES (?, 'fetch', ?, ?, ?) RETURNING seq",
        (at, page, status, outcome),
    ).get
    database.execute(
        "UPDATE pages SET outcome = ?, reason = ?, status = ?, tries = tries + ?, retry_at = NULL, settled = ?"
        " WHERE id = ?",
        (outcome, storable(reason), status, outcome == "failed", seq, page),
    )
    _count(database, page, outcome)


def _count(database: Database, page: PageId, outcome: Outcome, title: str = "", text: str = "") -> None:
    """One page less waits, one more is settled. It is numbered last, so that numbers are in the order of commits."""
    totals.add(database, **{"waiting": -1, outcome.replace("-", "_"): 1})
    database.last(_number, (page, title, text))


def _number(database: Database, settled: list[tuple[PageId, str, str]]) -> None:
    """Number pages as they are settled, and keep their texts by these numbers."""
    first = totals.next_landed(database, len(settled))
    numbered = list(enumerate(settled, first))
    database.executemany("UPDATE pages SET landed = ? WHERE id = ?", [(landed, one[0]) for landed, one in numbered])
    texts = [(landed, title, text) for landed, (_, title, text) in numbered if title or text]
    if texts:
        database.words.keep(database, texts)


def _credit(database: Database, source: SourceId, outcome: Outcome) -> None:
    if outcome == "fetched":
        database.execute("UPDATE sources SET good_pages = good_pages + 1 WHERE id = ?", (source,))
    elif outcome in _DULL:
        database.execute("UPDATE sources SET dull_pages = dull_pages + 1 WHERE id = ?", (source,))
