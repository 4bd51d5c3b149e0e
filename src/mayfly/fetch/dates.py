"""Dates a page gives of itself, with where it says so.

Trusted in this order: JSON-LD, meta elements, <time>, the URL. A date in the future is a mistake or a promise, one from
before the web is a default: both are dropped. A time without a zone is taken as UTC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from mayfly.core.model import MINUTE, Seconds
from mayfly.fetch.document import Date

SLACK = 10 * MINUTE  # clocks of publishers may be ahead of ours by so much
_OLDEST = datetime(1990, 1, 1, tzinfo=UTC).timestamp()
_LONGEST = 100  # characters of a date
_JSON_LD_CHARS = 500_000  # of all scripts of a page together
_JSON_LD_NODES = 2_000

_ISO = re.compile(
    r"(\d{4})-?(\d\d)(?:-?(\d\d))?"
    r"(?:(?:\s*T\s*|\s+)(\d\d?):?(\d\d)(?::?(\d\d)(?:[.,]\d{1,9})?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\b(\d{1,2}):(\d\d)(?::(\d\d))?\s*([ap])?\.?(?:m\b)?", re.IGNORECASE)
_ZONE = re.compile(r"(?:UTC|GMT|(?<=\d))\s?([+-])(\d\d):?(\d\d)\b")
_DAY_FIRST = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:de\s+)?([^\W\d_]{3,12})\.?,?\s+(?:de\s+)?(\d{4})\b")
_MONTH_FIRST = re.compile(r"\b([^\W\d_]{3,12})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b")
_DOTTED = re.compile(r"\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b")
_SLASHED = re.compile(r"\b(\d{4})/(\d{1,2})/(\d{1,2})\b")
_RFC_ZONE = re.compile(r"(?:[+-]\d{4}|\b(?:GMT|UTC|UT|Z|[ECMP][SD]T))\s*(?:\(.*\))?$")
_EAST_ASIAN = re.compile(r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]")
_IN_URL = re.compile(r"/((?:19|20)\d\d)[/-]?(0[1-9]|1[0-2])[/-]?(0[1-9]|[12]\d|3[01])(?=[/_.-]|$)")

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jänner janvier enero gennaio janeiro januari",
            "feb february februar fév février febrero febbraio fevereiro februari",
            "mar march märz mrz mär mars marzo março maart",
            "apr april avr avril abril aprile",
            "may mai mayo maggio maio mei maj",
            "jun june juni juin junio giugno junho",
            "jul july juli juil juillet julio luglio julho",
            "aug august août agosto augustus augusti",
            "sep sept september septembre septiembre settembre setembro",
            "oct october okt oktober octobre octubre ottobre outubro",
            "nov november novembre noviembre novembro",
            "dec december dez dezember déc décembre diciembre dicembre dezembro",
        ),
        start=1,
    )
    for name in names.split()
}

_PUBLISHED_META = (
    "article:published_time", "og:article:published_time", "og:published_time", "datepublished", "date.published",
    "rnews:datepublished", "article.published", "parsely-pub-date", "sailthru.date", "cxenseparse:recs:publishtime",
    "weibo:article:create_at", "publishdate", "publish-date", "pubdate", "publication_date",
    "citation_publication_date", "dc.date.issued", "dcterms.issued", "dcterms.created", "dc.date.created", "dc.date",
    "dcterms.date", "date",
)  # fmt: skip
_MODIFIED_META = (
    "article:modified_time", "og:updated_time", "article:updated_time", "datemodified", "article.updated",
    "dcterms.modified", "dc.date.modified", "last-modified", "lastmod", "revised",
)  # fmt: skip
_ARTICLES = re.compile(r"Article|Posting|Report|Review|Recipe|VideoObject|Podcast|Event|CreativeWork|Statement")
_JSON_JUNK = re.compile(r"<!--|-->|(?://|/\*)?\s{0,20}(?:<!\[CDATA\[|\]\]>)\s{0,20}(?:\*/)?")
_TRAILING_COMMA = re.compile(r",(?=\s{0,200}[}\]])")
_LISTS = re.compile(r'"(?:itemListElement|comment|hasPart)"')
_JSON_DATE = re.compile(r'"(datePublished|dateModified)"\s{0,20}:\s{0,20}"([^"\\]{1,100})"')


def page_dates(
    url: str,
    now: Seconds,
    *,
    json_ld: Iterable[str] = (),
    meta: Mapping[str, str] | None = None,
    times: Iterable[str] = (),
) -> tuple[Date, ...]:
    """All dates of a page, the most trusted first; each of `what` and `origin` once.

    `meta` is by small-lettered name or property. `times` are what <time> elements say, the likeliest first.

    >>> page_dates("https://example.com/2026/11/15/a", 1.8e9, meta={"date": "2026-11-15 10:30"})[0].origin
    'meta'
    """
    found: dict[tuple[str, str], Date] = {}

    def add(what: Literal["published", "modified"], text: object, origin: str) -> None:
        if (what, origin) not in found and isinstance(text, str) and (at := parse_date(text, now)) is not None:
            found[what, origin] = Date(what, at, origin)

    for published, modified in _of_json_ld(json_ld):
        add("published", published, "json-ld")
        add("modified", modified, "json-ld")
    if meta:
        for name in _PUBLISHED_META:
            if name in meta:
                add("published", meta[name], "meta")
        for name in _MODIFIED_META:
            if name in meta:
                add("modified", meta[name], "meta")
    for text in times:
        add("published", text, "time")
    if match := _IN_URL.search(url):
        add("published", "-".join(match.groups()), "url")
    return tuple(found.values())


def parse_date(text: str, now: Seconds) -> Seconds | None:
    """When a text says it is: ISO 8601, RFC 2822, or as people write it; None if it says nothing one can believe.

    >>> parse_date("Sun, 15 Nov 2026 10:30:00 +0100", now=1.8e9) == parse_date("2026-11-15T09:30Z", now=1.8e9)
    True
    >>> parse_date("Nov 15, 2026", now=0.0) is None
    True
    """
    text = text[:_LONGEST].strip()
    moment = _read(text) if any(sign.isdigit() for sign in text) else None
    if moment is None:
        return None
    try:
        at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None
    return at if _OLDEST <= at <= now + SLACK else None


def _read(text: str) -> datetime | None:
    try:
        if match := _ISO.match(text):
            return _iso(match)
        if _RFC_ZONE.search(text) and (moment := _rfc(text)):
            return moment
        return _written(text)
    except (ValueError, OverflowError):
        return None


def _iso(match: re.Match[str]) -> datetime | None:
    year, month, day, hour, minute, second, zone = match.groups()
    if day is None and match.string[4:5] != "-":
        return None  # six digits in a row may be anything
    moment = datetime(int(year), int(month), int(day or 1), int(hour or 0), int(minute or 0), min(int(second or 0), 59))
    return moment.replace(tzinfo=_zone(zone)) if zone else moment


def _zone(text: str) -> timezone:
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _rfc(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None


def _written(text: str) -> datetime | None:
    day = _day(text)
    if day is None:
        return None
    clock = _CLOCK.search(text)
    if clock is None:
        return day
    hour, minute, second = int(clock[1]), int(clock[2]), min(int(clock[3] or 0), 59)
    if clock[4]:
        hour = hour % 12 + (12 if clock[4] in "pP" else 0)
    if hour > 23 or minute > 59:
        return day
    zone = _ZONE.search(text, clock.start())
    return day.replace(hour=hour, minute=minute, second=second, tzinfo=_zone("".join(zone.groups())) if zone else None)


def _day(text: str) -> datetime | None:
    if (match := _DAY_FIRST.search(text)) and (month := _month(match[2])):
        return datetime(int(match[3]), month, int(match[1]))
    if (match := _MONTH_FIRST.search(text)) and (month := _month(match[1])):
        return datetime(int(match[3]), month, int(match[2]))
    if match := _DOTTED.search(text):
        return datetime(int(match[3]), int(match[2]), int(match[1]))
    if match := _SLASHED.search(text) or _EAST_ASIAN.search(text):
        return datetime(int(match[1]), int(match[2]), int(match[3]))
    return None  # 3/4/2026 means two days, so none


def _month(name: str) -> int | None:
    return _MONTHS.get(name.lower())


def _of_json_ld(scripts: Iterable[str]) -> Iterator[tuple[object, object]]:
    """Dates of publication and change in the scripts of a page: those of articles first, then those of others."""
    others: list[tuple[object, object]] = []
    left = _JSON_LD_CHARS
    for script in scripts:
        left -= len(script)
        if left < 0:
            break
        if '"date' not in script and '"uploadDate"' not in script:
            continue  # most say who publishes, not when; reading them would cost more than the page's links
        for node in _at_a_glance(script) or _nodes(_loaded(script)):
            dates = (
                node.get("datePublished") or node.get("dateCreated") or node.get("uploadDate"),
                node.get("dateModified"),
            )
            if not any(dates):
                continue
            if _ARTICLES.search(str(node.get("@type"))[:200]):
                yield dates
            else:
                others.append(dates)
    yield from others


def _at_a_glance(script: str) -> list[dict[str, Any]]:
    """What a script says without reading it as JSON: enough if it names one date only and lists nothing."""
    dates = {*_JSON_DATE.findall(script)}
    names = {name for name, _ in dates}
    if "datePublished" not in names or len(names) < len(dates) or _LISTS.search(script):
        return []
    kind = _ARTICLES.search(script)
    return [{**dict(dates), "@type": kind[0] if kind else ""}]


def _nodes(data: Any) -> Iterator[dict[str, Any]]:
    """The things a script is about; not what they list or mention, which has dates of its own."""
    waiting = [data]
    for thing in waiting:
        room = max(0, _JSON_LD_NODES - len(waiting))
        if isinstance(thing, list):
            waiting += thing[:room]
        elif isinstance(thing, dict):
            yield thing
            waiting += [thing[key] for key in ("@graph", "mainEntity", "mainEntityOfPage") if key in thing][:room]


def _loaded(script: str) -> Any:
    """The JSON in a script, mended if need be: people write it by hand, and wrap it in comments."""
    for text in (script, _TRAILING_COMMA.sub("", _JSON_JUNK.sub("", script))):
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
    dates: dict[str, str] = {}
    for name, value in _JSON_DATE.findall(script):
        dates.setdefault(name, value)
    return dates
