"""OPML: lists of feeds that people exchange."""

from __future__ import annotations

from io import BytesIO

from lxml import etree

from mayfly.fetch.document import READ_LIMITS, Document, ReadLimits
from mayfly.fetch.gzipped import unzipped
from mayfly.urls import canonical


def read_opml(body: bytes, url: str, *, limits: ReadLimits = READ_LIMITS) -> Document:
    """The feeds an OPML file names, each once, in its order; broken ones up to where they break and beyond."""
    body, truncated = unzipped(body, limits.body_bytes)
    feeds: dict[str, None] = {}
    title, error = "", None
    try:
        for _, element in etree.iterparse(
            BytesIO(body.lstrip()), events=("start",), recover=True, resolve_entities=False, no_network=True
        ):
            name = element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""
            if name == "outline":
                feed = next((value for key, value in element.attrib.items() if key.lower() == "xmlurl"), None)
                if feed and (address := canonical(feed.strip(), url)):
                    feeds[address] = None
            elif name == "body":
                head = element.getparent()
                title = (head.findtext("head/title") or "").strip() if head is not None else ""
            if len(feeds) == limits.entries:
                truncated = True
                break
    except etree.LxmlError as problem:
        error = f"broken XML: {str(problem)[:200]}" if not feeds else None
    return Document(
        kind="other",
        url=url,
        title=" ".join(title.split())[: limits.anchor_chars],
        feeds=tuple(feeds),
        entries=len(feeds),
        truncated=truncated,
        error=error,
    )
