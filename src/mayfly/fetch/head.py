"""What a page says of itself: title, language, where it truly lives, its feeds and dates, what robots may do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from resiliparse.parse.html import DOMNode, HTMLTree
from resiliparse.parse.lang import detect_fast

from mayfly.core.model import Seconds
from mayfly.fetch.dates import page_dates
from mayfly.fetch.document import Date
from mayfly.urls import canonical, site_of

FEED_TYPES = {
    "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml",
    "application/x.atom+xml", "application/x-atom+xml", "application/x-rss+xml", "text/rss+xml",
}  # fmt: skip
_SELECTOR = 'meta,link,base,time,h1,script[type="application/ld+json"],input[type="password"]'
_MOST = 2_000  # elements of these; no honest page has more
_MOST_FEEDS = 100
_MOST_TIMES = 8  # a page with more of them is a list, and the first is not its own
_TITLE_CHARS = 500
_REFRESH = re.compile(r"\s*(\d{1,9})[\d.]*\s*(?:[;,]\s*)?(?:url\s*=\s*)?(.*)", re.IGNORECASE | re.DOTALL)
_PATIENCE: Seconds = 30.0  # a page that refreshes later than this is meant to be read
_LANGUAGE = re.compile(r"[a-z]{2,3}(?=$|[-_,; ])", re.IGNORECASE)
_GUESSED_FROM = 800  # characters


@dataclass(slots=True)
class Head:
    """The elements that describe a page, sorted, as they are written."""

    base: str
    meta: dict[str, str] = field(default_factory=dict)  # by small-lettered name, property or http-equiv; the first wins
    links: list[tuple[str, str, str]] = field(default_factory=list)  # rel, href, type
    times: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    heading: str = ""
    has_password: bool = False


def read_head(tree: HTMLTree, url: str) -> Head:
    """Gather what `url` says of itself, in one walk over the page: pages put it in the body, too."""
    head = Head(url)
    marked: list[str] = []
    for node in list(tree.document.query_selector_all(_SELECTOR))[:_MOST]:
        tag = node.tag
        if tag == "meta":
            _note_meta(node, head)
        elif tag == "link":
            rel, href = node.getattr("rel"), node.getattr("href")
            if rel and href:
                head.links.append((rel.lower(), href, (node.getattr("type") or "").lower()))
        elif tag == "time":
            text = node.getattr("datetime") or node.text[:100]
            is_marked = node.getattr("itemprop") == "datePublished" or node.getattr("pubdate") is not None
            (marked if is_marked else head.times).append(text)
        elif tag == "script":
            head.scripts.append(node.text)
        elif tag == "h1":
            head.heading = head.heading or " ".join(node.text[:_TITLE_CHARS].split())
        elif tag == "input":
            head.has_password = True
        elif head.base == url and (href := node.getattr("href")):
            head.base = canonical(href, url) or url
    head.times = marked + (head.times if len(head.times) <= _MOST_TIMES else [])
    return head


def _note_meta(node: DOMNode, head: Head) -> None:
    content = node.getattr("content")
    if content:
        for attribute in ("property", "name", "http-equiv", "itemprop"):
            if name := node.getattr(attribute):
                head.meta.setdefault(name.lower(), content)


def title_of(tree: HTMLTree, head: Head) -> str:
    """The title of a page, in one line."""
    title = tree.title or head.meta.get("og:title") or head.heading
    return " ".join(title[:_TITLE_CHARS].split())


def language_of(tree: HTMLTree, head: Head) -> str:
    """The language of a page as its short name (`en`, `de`): as said, else as guessed from some of its text."""
    root = tree.document.first_element_child
    said = (root.getattr("lang") or root.getattr("xml:lang")) if root else None
    for name in (said, head.meta.get("content-language"), head.meta.get("og:locale"), head.meta.get("language")):
        if name and (match := _LANGUAGE.match(name.strip())):
            return match[0].lower()
    text = _some_text(tree)
    if not text:
        return ""
    guess = detect_fast(text)[0]
    return "" if guess == "unknown" else str(guess)


def _some_text(tree: HTMLTree) -> str:
    """Text of paragraphs, some of it: scripts and styles would mislead the guess."""
    texts: list[str] = []
    size = 0
    for node in tree.document.query_selector_all("p,h1,h2,h3,a"):
        if size > _GUESSED_FROM:
            break
        texts.append(node.text[:_GUESSED_FROM])
        size += len(texts[-1])
    text = " ".join(" ".join(texts).split())
    return text[:_GUESSED_FROM] if len(text) > 50 else ""


def canonical_of(head: Head, url: str) -> str | None:
    """The address a page says it has. Believed on its own site only, and a page is no front page."""
    said = next((href for rel, href, _ in head.links if "canonical" in rel.split()), None) or head.meta.get("og:url")
    found = canonical(said, head.base) if said else None
    if found is None or site_of(found) != site_of(url) or (_is_front(found) and not _is_front(url)):
        return None
    return found


def _is_front(url: str) -> bool:
    return url.count("/") == 3 and url.endswith("/")


def refresh_of(head: Head, url: str) -> str | None:
    """Where a meta refresh leads soon, if not back here."""
    match = _REFRESH.match(head.meta.get("refresh", "")[:4_000])
    if match is None or int(match[1]) > _PATIENCE or not match[2].strip():
        return None
    target = match[2].strip()
    if target[0] in "\"'":
        target = target[1:].partition(target[0])[0]
    found = canonical(target, head.base)
    return None if found == url else found


def feeds_of(head: Head) -> tuple[str, ...]:
    """Feeds a page names, each once."""
    named = (href for rel, href, kind in head.links if "alternate" in rel.split() and _is_feed(kind))
    return _each_once(canonical(href, head.base) for href in named)


def _is_feed(kind: str) -> bool:
    return kind.partition(";")[0].strip() in FEED_TYPES


def _each_once(urls: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(url for url in urls if url))[:_MOST_FEEDS]


def robots_of(head: Head) -> tuple[bool, bool]:
    """Whether the page may be indexed, and whether its links may be followed."""
    said = head.meta.get("robots")
    if not said:
        return True, True
    words = set(re.split(r"[\s,]+", said[:300].lower()))
    return not words & {"noindex", "none"}, not words & {"nofollow", "none"}


def dates_of(head: Head, url: str, now: Seconds) -> tuple[Date, ...]:
    """The dates a page gives of itself."""
    return page_dates(url, now, json_ld=head.scripts, meta=head.meta, times=head.times)
