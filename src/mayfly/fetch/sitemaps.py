"""Sitemaps: lists of pages or of other sitemaps, as XML or one address a line.

Read element by element, each forgotten when it is read, so that fifty thousand addresses take no more memory than one.
Entities are not resolved and nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any, NamedTuple

from lxml import etree

from mayfly.core.model import Seconds
from mayfly.fetch.charset import decoded
from mayfly.fetch.dates import parse_date
from mayfly.fetch.document import READ_LIMITS, Document, Link, Links, ReadLimits
from mayfly.fetch.gzipped import unzipped
from mayfly.urls import canonical

_MOST_LINES = 100_000
_BARE_AMPERSAND = re.compile(rb"&(?!(?:[a-zA-Z]{1,8}|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")  # many forget to escape them


class _Entry(NamedTuple):
    """One <url> or <sitemap>."""

    is_sitemap: bool
    loc: str
    title: str = ""
    date: str = ""


def read_sitemap(
    body: bytes,
    url: str,
    *,
    content_type: str = "",
    now: Seconds,
    limits: ReadLimits = READ_LIMITS,
) -> Document:
    """What the sitemap at `url` (canonical) lists: pages as links, in its order, and other sitemaps."""
    body, truncated = unzipped(body, limits.body_bytes)
    body = body.lstrip()
    entries = _xml_entries(body) if b"<" in body[:1000] else _text_entries(body, content_type)
    links: dict[str, Link] = {}
    sitemaps: dict[str, None] = {}
    count, error = 0, None
    try:
        for entry in entries:
            if count == limits.entries:
                truncated = True
                break
            count += 1
            address = canonical(entry.loc, url)
            if address is None:
                continue
            if entry.is_sitemap:
                sitemaps[address] = None
            elif address not in links:
                anchor = entry.title[: limits.anchor_chars]
                date = parse_date(entry.date, now) if entry.date else None
                links[address] = Link(address, anchor, rank=len(links) + 1, date=date)
    except (etree.LxmlError, ValueError) as problem:
        error = f"broken XML: {str(problem)[:200]}"
    if not count and error is None:
        error = "no address in it"
    return Document(
        kind="sitemap",
        url=url,
        links=Links.of(links.values()),
        sitemaps=tuple(sitemaps),
        entries=count,
        truncated=truncated,
        error=error if not links and not sitemaps else None,
    )


def _xml_entries(body: bytes) -> Iterator[_Entry]:
    """Entries as they end. Names are taken without their namespaces, which are often wrong."""
    steps = etree.iterparse(
        BytesIO(_BARE_AMPERSAND.sub(b"&amp;", body)),
        events=("end",),
        recover=True,
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
    )
    fields: dict[str, str] = {}
    for _, element in steps:
        name = _name(element)
        if name in ("url", "sitemap"):
            if loc := fields.get("loc") or _bare_address(element):
                yield _Entry(name == "sitemap", loc, fields.get("title", ""), _date(fields))
            fields = {}
            _forget(element)
        elif name in ("loc", "title", "lastmod", "publication_date"):
            # Images and videos have a title and an address of their own, with a parent of their own.
            if _name(element.getparent()) in ("url", "sitemap", "news"):
                fields.setdefault(name, " ".join((element.text or "").split()))
        elif name not in ("news", "publication", "name", "language") and len(element) == 0:
            _forget(element)


def _bare_address(element: Any) -> str:
    """Some forget the <loc>."""
    text = (element.text or "").strip()
    return text if text.startswith("http") else ""


def _date(fields: dict[str, str]) -> str:
    return fields.get("publication_date") or fields.get("lastmod") or ""


def _name(element: Any) -> str:
    tag = getattr(element, "tag", None)
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(tag, str) else ""


def _forget(element: Any) -> None:
    """Free an element and those before it; their parents would keep them."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _text_entries(body: bytes, content_type: str) -> Iterator[_Entry]:
    text, _ = decoded(body, content_type)
    for line in re.split(r"[\r\n]+", text)[:_MOST_LINES]:
        if line.strip().lower().startswith(("http://", "https://")):
            yield _Entry(False, line.strip())
