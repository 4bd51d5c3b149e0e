"""What a body is, and what it shows. One door to all readers: it never raises.

Servers often say the wrong type, so a body is looked at: its first bytes, then the name of its first element. The type
in the header decides only where the body does not tell.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal, TypeAlias

from mayfly.core.model import Seconds
from mayfly.fetch.charset import decoded
from mayfly.fetch.document import READ_LIMITS, Document, Kind, ReadLimits
from mayfly.fetch.gzipped import unzipped
from mayfly.fetch.html import read_html
from mayfly.urls import canonical

_Form: TypeAlias = Literal["html", "feed", "sitemap", "opml", "robots", "json", "xml", "text", "binary", "empty"]

_LOOKED_AT = 4_000  # bytes
_ROBOTS_BYTES = 500 * 1024  # as RFC 9309 allows
_MOST_SITEMAPS = 1_000
_BEFORE_ROOT = re.compile(
    r"\s+|<\?.{0,1000}?\?>|<!--.{0,3000}?-->|<![^>\[]{0,1000}(?:\[[^\]]{0,3000}\]\s*)?>", re.DOTALL
)
_ROOT = re.compile(r"<(?:[\w-]{1,30}:)?([A-Za-z][\w-]{0,40})")
_ROOTS: dict[str, _Form] = {
    "rss": "feed", "feed": "feed", "rdf": "feed", "channel": "feed",
    "urlset": "sitemap", "sitemapindex": "sitemap", "opml": "opml", "html": "html",
}  # fmt: skip
_MAGIC = (
    (b"%PDF", "a PDF"), (b"\x89PNG", "a PNG image"), (b"\xff\xd8\xff", "a JPEG image"), (b"GIF8", "a GIF image"),
    (b"PK\x03\x04", "a zip archive"), (b"RIFF", "a WebP image or other media"), (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"), (b"\x00\x00\x01\x00", "an icon"), (b"wOF", "a font"), (b"\x7fELF", "a program"),
    (b"\x1f\x8b", "gzip in gzip"), (b"BZh", "bzip2"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ", "xz"),
)  # fmt: skip
_ROBOTS_LINE = re.compile(
    r"(?:\s*#[^\n]*\n)*\s*(?:user-?\s?agent|disallow|allow|sitemap|crawl-delay)\s*:", re.IGNORECASE
)
_SITEMAP_LINE = re.compile(r"^[ \t]*site-?map[ \t]*:[ \t]*(\S{1,2000})", re.IGNORECASE | re.MULTILINE)
_HTML_SIGNS = re.compile(
    r"<(?:!doctype html|html|head|body|title|meta|script|style|div|p|a|h1|table|span|img|br|ul)\b", re.IGNORECASE
)
_KINDS: dict[_Form, Kind] = {"html": "html", "feed": "feed", "sitemap": "sitemap", "robots": "robots"}


def read(
    body: bytes,
    url: str,
    *,
    content_type: str = "",
    now: Seconds,
    limits: ReadLimits = READ_LIMITS,
    with_text: bool = False,
    outward: bool = False,
) -> Document:
    """What a body found at `url` (canonical) is and shows; what goes wrong is said in `error`.

    A page has its main text if it is asked for; and if so asked, of its links only where those to other hosts lead.

    >>> read(b"<urlset><url><loc>https://example.com/a</loc></url></urlset>", "https://example.com/s", now=0.0).kind
    'sitemap'
    """
    kind: Kind = "other"
    try:
        body, cut = unzipped(body, limits.body_bytes)
        form = _form_of(body, url, content_type)
        kind = _KINDS.get(form, "other")
        document = _read_as(form, body, url, content_type, now, limits, with_text, outward)
    except Exception as error:  # the last wall: whatever a body does to a reader, the crawl goes on
        return Document(kind=kind, url=url, error=f"unreadable: {type(error).__name__}: {str(error)[:200]}")
    return replace(document, truncated=True) if cut else document


def _read_as(
    form: _Form,
    body: bytes,
    url: str,
    content_type: str,
    now: Seconds,
    limits: ReadLimits,
    with_text: bool,
    outward: bool,
) -> Document:
    match form:
        case "html":
            return read_html(
                body, url, content_type=content_type, now=now, limits=limits, with_text=with_text, outward=outward
            )
        case "feed":
            from mayfly.fetch.feeds import read_feed  # its parsers take as long to load as all else together

            return read_feed(body, url, content_type=content_type, now=now, limits=limits)
        case "sitemap":
            from mayfly.fetch.sitemaps import read_sitemap

            return read_sitemap(body, url, content_type=content_type, now=now, limits=limits)
        case "opml":
            from mayfly.fetch.opml import read_opml

            return read_opml(body, url, limits=limits)
        case "robots":
            return _read_robots(body, url, content_type)
        case "empty":
            return Document(kind="html" if "html" in content_type else "other", url=url, error="empty")
        case _:
            return Document(kind="other", url=url, error=f"not a page, feed or sitemap, but {_what(form, body)}")


def _form_of(body: bytes, url: str, content_type: str) -> _Form:
    """What a body is, by looking at it."""
    if url.partition("?")[0].endswith("/robots.txt") and url.count("/") == 3:
        return "robots"
    if body[:100].lstrip()[:14].lower() == b"<!doctype html":
        return "html"
    if not body.strip(b"\0 \t\r\n"):
        return "empty"
    start, _ = decoded(body[:_LOOKED_AT], content_type if "charset" in content_type else "")
    start = start.lstrip("\ufeff\0 \t\r\n")
    if start.startswith("<"):
        return _form_of_markup(start, body, content_type)
    if (
        any(body.startswith(magic) for magic, _ in _MAGIC)
        or start.count("\0") + start.count("\ufffd") > len(start) / 10
    ):
        return "binary"
    if start.startswith("{"):
        return "feed" if _is_json_feed(body) else "json"
    if start[:8].lower().startswith(("http://", "https://")):
        return "sitemap"
    if _ROBOTS_LINE.match(start) and "html" not in content_type:
        return "robots"
    return "html" if "html" in content_type or _HTML_SIGNS.search(start) else "text"


def _form_of_markup(start: str, body: bytes, content_type: str) -> _Form:
    """By the first element behind declarations and comments."""
    at = 0
    doctype = start[:14].lower() == "<!doctype html"
    while skipped := _BEFORE_ROOT.match(start, at):
        at = skipped.end()
    root = _ROOT.match(start, at)
    name = root[1].lower() if root else ""
    if name in _ROOTS and not doctype:
        return _ROOTS[name]
    if doctype:
        return "html"
    if "rss" in content_type or "atom" in content_type:
        return "feed"  # too broken to tell, but someone meant one
    if start.startswith("<?xml") or "xml" in content_type.replace("xhtml", ""):
        form = _form_within(body)
        return "html" if form == "xml" and _HTML_SIGNS.search(start, at) else form
    return "html"


def _form_within(body: bytes) -> _Form:
    """XML whose beginning is lost or odd: by what is in it."""
    if re.search(rb"<(?:item|entry)[\s>]", body[:100_000]):
        return "feed"
    return "sitemap" if b"<loc>" in body[:100_000] else "xml"


def _is_json_feed(body: bytes) -> bool:
    start = body[:_LOOKED_AT]
    return b"jsonfeed.org" in start or (b'"items"' in body and b'"version"' in start)


def _read_robots(body: bytes, url: str, content_type: str) -> Document:
    """A robots.txt as a list of sitemaps; its rules are read elsewhere."""
    text, charset = decoded(body[:_ROBOTS_BYTES], content_type)
    found = (canonical(address, url) for address in _SITEMAP_LINE.findall(text.replace("\r", "\n")))
    sitemaps = dict.fromkeys(address for address in found if address)
    return Document(
        kind="robots",
        url=url,
        charset=charset,
        sitemaps=tuple(sitemaps)[:_MOST_SITEMAPS],
        truncated=len(body) > _ROBOTS_BYTES or len(sitemaps) > _MOST_SITEMAPS,
    )


def _what(form: _Form, body: bytes) -> str:
    if form == "binary":
        return next((name for magic, name in _MAGIC if body.startswith(magic)), "binary")
    return {"json": "JSON", "xml": "XML of another kind", "text": "plain text"}.get(form, form)
