"""Feeds: RSS, Atom, RDF, CDF and JSON Feed, the broken ones too.

The quick parser reads nearly all. What it refuses, or where it sees fewer entries than are written, the thorough one
gets: it is fifty times as slow, so it is given a bounded piece. Neither is ever given text, which they might take for
an address to fetch; entities and other files are not read by either.
"""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import fastfeedparser
import feedparser
from w3lib.encoding import http_content_type_encoding

from mayfly.core.model import DAY, HOUR, MINUTE, WEEK, Seconds
from mayfly.fetch.charset import decoded
from mayfly.fetch.dates import parse_date
from mayfly.fetch.document import READ_LIMITS, Document, Link, Links, ReadLimits
from mayfly.fetch.gzipped import unzipped
from mayfly.urls import absolute, canonical

_THOROUGH_BYTES = 2_000_000
_THOROUGH_TAGS = 40_000  # it needs a second for them
_HEAD_BYTES = 64_000
_MOST_HUBS = 10
_ENTRY = re.compile(rb"<(?:item|entry)[\s>]")
_LANGUAGE = re.compile(rb"<(?:dc:)?language>\s{0,20}([A-Za-z]{2,3})|\bxml:lang\s?=\s?[\"']([A-Za-z]{2,3})")
_LINK = re.compile(rb"<(?:\w{1,20}:)?link\b[^<>]{0,2000}>")
_TTL = re.compile(rb"<ttl>\s*(\d{1,6})\s*</ttl>", re.IGNORECASE)
_PERIOD = re.compile(rb"<sy:updatePeriod>\s*(hourly|daily|weekly|monthly|yearly)\s*</", re.IGNORECASE)
_FREQUENCY = re.compile(rb"<sy:updateFrequency>\s*(\d{1,6})\s*</", re.IGNORECASE)
_PERIODS = {b"hourly": HOUR, b"daily": DAY, b"weekly": WEEK, b"monthly": 30 * DAY, b"yearly": 365 * DAY}
_REL = re.compile(rb"\brel\s?=\s?[\"']([^\"']{1,100})[\"']")
_HREF = re.compile(rb"\bhref\s?=\s?[\"']([^\"']{1,2000})[\"']")
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_MARKUP = re.compile(r"<[^<>]{0,500}>")


class _Parsed(NamedTuple):
    """What either parser gives."""

    title: str = ""
    language: str = ""
    entries: Sequence[Mapping[str, Any]] = ()


def read_feed(
    body: bytes,
    url: str,
    *,
    content_type: str = "",
    now: Seconds,
    limits: ReadLimits = READ_LIMITS,
) -> Document:
    """What the feed at `url` (canonical) shows; dates of entries are never in the future."""
    body, truncated = unzipped(body, limits.body_bytes)
    body, starts = _first_entries(_in_declared_charset(body.lstrip(), content_type), limits.links)
    parsed, error = _parse(body, content_type, written=min(len(starts), limits.links))
    head = body[: starts[0] if starts else _HEAD_BYTES][:_HEAD_BYTES]
    entries = parsed.entries[: limits.links]
    hubs, topic = _hubs(body, head, url)
    return Document(
        kind="feed",
        url=url,
        title=_line(parsed.title, limits),
        language=_language(parsed.language, head),
        links=_links(entries, url, now, limits),
        entries=len(entries),
        hubs=hubs,
        topic=topic,
        ttl=_ttl(head),
        truncated=truncated or max(len(parsed.entries), len(starts)) > limits.links,
        error=error,
    )


def _in_declared_charset(body: bytes, content_type: str) -> bytes:
    """As UTF-8 if only the header says in which charset it is: the parsers do not see headers."""
    charset = http_content_type_encoding(content_type or None)
    if charset in (None, "utf-8") or b"encoding=" in body[:200] or body.startswith(_MARKS):
        return body
    return decoded(body, content_type)[0].encode("utf-8", "replace")


def _first_entries(body: bytes, most: int) -> tuple[bytes, list[int]]:
    """A body without the entries that are too many, and where its entries begin (one more at most)."""
    starts = [entry.start() for entry in islice(_ENTRY.finditer(body), most + 1)]
    return (body[: starts[most]] if len(starts) > most else body), starts


def _parse(body: bytes, content_type: str, written: int) -> tuple[_Parsed, str | None]:
    """What the quick parser reads, or the thorough one if it reads more; and what is wrong if neither reads it."""
    quick, error = _quick(body)
    if body.startswith(b"{") or (quick is not None and len(quick.entries) >= max(written, 1)):
        return quick or _Parsed(), error
    thorough = _thorough(body[:_THOROUGH_BYTES], content_type)
    if thorough is None or (quick is not None and len(quick.entries) >= len(thorough.entries)):
        return quick or _Parsed(), error
    return thorough, None


def _quick(body: bytes) -> tuple[_Parsed | None, str | None]:
    try:
        found = fastfeedparser.parse(
            body, include_content=False, include_tags=False, include_media=False, include_enclosures=False
        )
    except Exception as error:  # it raises many kinds, and says in words what is wrong
        return None, f"not a feed: {' '.join(str(error).split())[:200] or type(error).__name__}"
    about = found.get("feed") or {}
    return _Parsed(about.get("title") or "", about.get("language") or "", found.get("entries") or ()), None


def _thorough(body: bytes, content_type: str) -> _Parsed | None:
    body = b"<".join(body.split(b"<", _THOROUGH_TAGS)[:_THOROUGH_TAGS])
    headers = {"content-type": content_type} if content_type else {}
    try:
        found = feedparser.parse(
            io.BytesIO(body), response_headers=headers, sanitize_html=False, resolve_relative_uris=False
        )
    except Exception:  # as above; broken input finds broken corners of a parser
        return None
    if not found.entries and not found.get("version"):
        return None
    entries = [dict(entry) for entry in found.entries]  # its own dictionaries warn of old names
    return _Parsed(found.feed.get("title") or "", found.feed.get("language") or "", entries)


def _links(entries: Sequence[Mapping[str, Any]], base: str, now: Seconds, limits: ReadLimits) -> Links:
    links: dict[str, Link] = {}
    for entry in entries:
        link = entry.get("link")
        url = canonical(link.strip(), base) if isinstance(link, str) and link.strip() else None
        if url is not None and url not in links:
            date = _date(entry, now)
            links[url] = Link(url, _line(entry.get("title"), limits), rank=len(links) + 1, date=date)
    return Links.of(links.values())


def _date(entry: Mapping[str, Any], now: Seconds) -> Seconds | None:
    for name in ("published", "updated", "created"):
        if isinstance(text := entry.get(name), str) and (at := parse_date(text, now)) is not None:
            return at
    return None


def _line(text: object, limits: ReadLimits) -> str:
    """A title in one line, without markup."""
    if not isinstance(text, str):
        return ""
    text = text[: 10 * limits.anchor_chars]
    if "<" in text:
        text = _MARKUP.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    text = " ".join(text.split())[: limits.anchor_chars]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()  # JSON can hold half letters


def _language(said: object, head: bytes) -> str:
    if isinstance(said, str) and said[:2].isalpha():
        return re.split("[-_]", said)[0].lower()[:3]
    match = _LANGUAGE.search(head)
    return (match[1] or match[2]).decode().lower() if match else ""


def _ttl(head: bytes) -> Seconds | None:
    """How long a feed says it stays as it is: minutes of `ttl`, or so many times in a period.

    >>> _ttl(b"<ttl>60</ttl>"), _ttl(b"<sy:updatePeriod>daily</sy:updatePeriod>")
    (3600.0, 86400.0)
    """
    minutes = _TTL.search(head)
    if minutes is not None:
        return float(minutes[1]) * MINUTE or None
    period = _PERIOD.search(head)
    if period is None:
        return None
    times = _FREQUENCY.search(head)
    return _PERIODS[period[1].lower()] / max(float(times[1]) if times is not None else 1.0, 1.0)


def _hubs(body: bytes, head: bytes, base: str) -> tuple[tuple[str, ...], str]:
    """Its hubs and the address it gives itself, as they are written: a hub compares them letter by letter."""
    hubs, topics = (
        _json_hubs(body) if body.startswith(b"{") else (_xml_linked(head, b"hub"), _xml_linked(head, b"self"))
    )
    found = tuple(dict.fromkeys(url for hub in hubs if (url := absolute(hub, base))))
    return found[:_MOST_HUBS], next((url for topic in topics if (url := absolute(topic, base))), "")


def _xml_linked(head: bytes, rel: bytes) -> Iterator[str]:
    for link in _LINK.findall(head):
        said = _REL.search(link)
        if said and rel in said[1].lower().split() and (href := _HREF.search(link)):
            yield html.unescape(href[1].decode("utf-8", "replace"))


def _json_hubs(body: bytes) -> tuple[list[str], list[str]]:
    if b'"hubs"' not in body:
        return [], []
    try:
        said = json.loads(body)
        hubs, topic = said.get("hubs"), said.get("feed_url")
    except (ValueError, RecursionError, AttributeError):
        return [], []
    urls = [hub.get("url") for hub in hubs if isinstance(hub, dict)] if isinstance(hubs, list) else []
    return [url for url in urls if isinstance(url, str)], [topic] if isinstance(topic, str) else []
