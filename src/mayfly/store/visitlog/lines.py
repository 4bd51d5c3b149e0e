"""Visit logs of lines: JSON, access logs of web servers, extended logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from mayfly.store.clicklog import access, jsonl, w3c
from mayfly.store.clicklog.rows import BadRow, Dropped, Memo, Reading, is_number, why_bad
from mayfly.store.clicklog.tables import COUNTS, TIMES
from mayfly.store.clicklog.visits import Request
from mayfly.store.visitlog.rows import PAGES, REFERRERS, VISITORS, Row, Visited, Wanted, gathered, moments, told
from mayfly.urls import canonical

Requests: TypeAlias = Iterable[Request | BadRow | Dropped]


def read_jsonl(lines: Iterable[bytes], how: Reading, wanted: Wanted) -> Iterator[Visited]:
    """Visits, a JSON object each, by the names that columns have."""
    return gathered(_of_objects(lines, how, wanted))


def read_access(lines: Iterable[bytes], how: Reading, wanted: Wanted) -> Iterator[Visited]:
    """Visits by the lines of an access log, those of bots and of assets left out."""
    return gathered(_of_requests(access.requests(lines), access.moment, how, wanted))


def read_w3c(lines: Iterable[bytes], how: Reading, wanted: Wanted) -> Iterator[Visited]:
    """The same of an extended log."""
    return gathered(_of_requests(w3c.requests(lines), w3c.moment, how, wanted))


def _of_objects(lines: Iterable[bytes], how: Reading, wanted: Wanted) -> Iterator[Row | BadRow | Dropped]:
    moment = moments(how)
    times = TIMES if wanted.times else ()
    for number, said in jsonl.objects(lines):
        if isinstance(said, BadRow):
            yield said
            continue
        page = _first(said, PAGES)
        if page is None:
            yield BadRow(number, f"has no {PAGES[0]}")
            continue
        try:
            at = moment(_first(said, times)) if times else 0.0
            count = _first(said, COUNTS)
            yield (
                str(page),
                at,
                told(_first(said, REFERRERS)) if wanted.referrers else "",
                told(_first(said, VISITORS)) if wanted.visitors else "",
                1.0 if count is None else how.counts[count if is_number(count) else str(count)],
            )
        except ValueError as wrong:
            yield why_bad(number, wrong)


def _of_requests(
    asked: Requests, moment: Callable[[str], datetime], how: Reading, wanted: Wanted
) -> Iterator[Row | BadRow | Dropped]:
    times = Memo(lambda text: how.moment(moment(text))[0])
    addresses = Memo(lambda where: access.address(*where))
    # In one spelling, as the pages are: or a page would not be known when it is where somebody came from.
    referrers = Memo(lambda text: canonical(text) or "")
    for one in asked:
        if not isinstance(one, Request):
            yield one
            continue
        try:
            page = addresses[access.site_of(one, how), one.path]
            at = times[one.time] if wanted.times else 0.0
            yield page, at, referrers[one.referrer] if one.referrer else "", one.visitor, 1.0
        except ValueError as wrong:
            yield why_bad(one.line, wrong)


def _first(said: dict[str, Any], names: Sequence[str]) -> Any:
    for name in names:
        if (given := said.get(name)) is not None:
            return given
    return None
