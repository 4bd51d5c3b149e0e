"""When a source is given up, and why: it is gone, has moved, shows what another shows, or nothing new for long.

Never by the shape of its address. A pinned source stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from mayfly.core.model import DAY, Seconds
from mayfly.crawl.watched import Watched
from mayfly.fetch.answers import Response
from mayfly.fetch.reasons import Reason
from mayfly.urls import site_of

GONE_AFTER = 4  # answers of 404 or 410, one after the other, and never anything else between
MOVED_FOR: Seconds = DAY  # sites lead all there is to one page while they are mended, or to whom they take for a robot
MOVED = "moved to "
SILENT_AFTER: Seconds = 60 * DAY  # a sitemap that has not changed
SILENT_CRAWLS = 20
_ALIKE = 0.95  # of the links of two sources together
_FEW_LINKS = 5  # say nothing
_PERMANENT = (301, 308)


def gone(source: Watched, failure: str) -> str:
    """Why a source that failed once more is to be retired; empty: it is not."""
    if source.pinned or failure != Reason.NOT_FOUND or source.failure != failure:
        return ""
    return "gone: it is not found any more" if source.failures + 1 >= GONE_AFTER else ""


def moved(source: Watched, answer: Response) -> str | None:
    """Where a source has moved for good, on its own site."""
    if source.pinned or not answer.hops or any(hop.status not in _PERMANENT for hop in answer.hops):
        return None
    return answer.url if site_of(answer.url) == source.site and answer.url != source.url else None


def moved_for_good(source: Watched, there: str | None, now: Seconds) -> bool:
    """Whether a source is elsewhere for long enough; called after each crawl, with where that led."""
    if there != source.moved_to:
        source.moved_to, source.moved_since = there or "", now
    return bool(there) and now - source.moved_since >= MOVED_FOR


def silent(source: Watched, now: Seconds) -> str:
    """Why a sitemap that brings nothing is to be retired; feeds and pages are only crawled less."""
    if source.pinned or source.kind != "sitemap" or source.unchanged < SILENT_CRAWLS:
        return ""
    since = max(source.found_at, source.last_new or 0.0)
    days = round((now - since) / DAY)
    return f"nothing new in {days} days, and no change" if now - since > SILENT_AFTER else ""


def twins(shows: Mapping[int, frozenset[int]], sources: Mapping[int, Watched]) -> dict[int, int]:
    """Sources that show the same links as another of their site, each with that other.

    The one known longest stays; feeds before pages, for they are smaller and say when things appeared.
    """
    by_site: dict[str, list[int]] = {}
    for number in sorted(shows, key=lambda one: _standing(sources[one])):
        if len(shows[number]) >= _FEW_LINKS:
            by_site.setdefault(sources[number].site, []).append(number)
    same: dict[int, int] = {}
    for numbers in by_site.values():
        kept: list[int] = []
        for number in numbers:
            other = next((one for one in kept if _alike(shows[number], shows[one])), None)
            if other is None:
                kept.append(number)
            elif not sources[number].pinned:
                same[number] = other
    return same


def _standing(source: Watched) -> tuple[bool, int, int]:
    order = {"feed": 0, "front": 1, "category": 2, "sitemap": 3}
    return source.pinned is None, order.get(source.kind, 4), source.id


def _alike(some: frozenset[int], others: frozenset[int]) -> bool:
    return len(some & others) >= _ALIKE * len(some | others)
