"""Which of the links a source shows may lead to new pages (DESIGN §6)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from fnmatch import translate
from typing import NamedTuple
from urllib.parse import urlsplit

from mayfly.core.model import DAY, Seconds
from mayfly.fetch.document import Document, Link
from mayfly.store.records import ShownLink, SourceKind
from mayfly.urls import same_page, site_of

NEW_AT_FIRST: Seconds = DAY  # entries of a feed or sitemap read for the first time are new if they are younger
_FEW = 5  # entries for other sites that a feed may always have
_ASSET = re.compile(
    r"\.(?:jpe?g|png|gif|webp|avif|svg|ico|bmp|tiff?|css|js|mjs|json|woff2?|ttf|eot|mp[34]|m4[av]|webm|ogg|wav|avi|mov|"
    r"pdf|docx?|xlsx?|pptx?|zip|gz|rar|7z|exe|dmg|apk|torrent|ics|vcf|rss|atom|xml|rdf)$",
    re.IGNORECASE,
)
_DULL = re.compile(
    r"/(?:log-?in|log-?out|sign-?in|sign-?up|sign-?out|register|registration|account|my-?account|cart|basket|checkout|"
    r"share|sharer|sharearticle|intent/tweet|print|wp-login\.php|wp-admin|cdn-cgi|unsubscribe|password)(?:[/?]|\.php|\.html?|$)|"
    r"[?&](?:share|replytocom|print|login|action=(?:login|logout|register|edit|print))(?:=|&|$)",
    re.IGNORECASE,
)


class Patterns:
    """What a person said about which URLs are wanted: `*` stands for anything, the rest for itself.

    >>> patterns = Patterns(only=("*/news/*",), never=("*sport*",))
    >>> patterns.source("https://a.test/news/x"), patterns.source("https://a.test/b"), patterns.page("https://a.test/b")
    (True, False, True)
    """

    def __init__(self, only: Iterable[str] = (), never: Iterable[str] = ()) -> None:
        self._only = _any_of(only)
        self._never = _any_of(never)

    def source(self, url: str) -> bool:
        """Whether this may be a source."""
        return self.page(url) and (self._only is None or self._only.match(url) is not None)

    def page(self, url: str) -> bool:
        """Whether this may be fetched."""
        return self._never is None or self._never.match(url) is None


def _any_of(patterns: Iterable[str]) -> re.Pattern[str] | None:
    parts = [translate(pattern) for pattern in patterns]
    return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE) if parts else None


def is_dull(url: str) -> bool:
    """Whether an address is none of a page people read: a file, a way to log in, to share, to print.

    >>> is_dull("https://a.test/logo.png"), is_dull("https://a.test/login?next=/"), is_dull("https://a.test/x?print=1")
    (True, True, True)
    """
    path = urlsplit(url).path
    return _ASSET.search(path) is not None or _DULL.search(url) is not None


def is_front(url: str) -> bool:
    """Whether an address is the front page of its host."""
    parts = urlsplit(url)
    return parts.path in ("", "/") and not parts.query


class Shown(NamedTuple):
    """What a source shows, sorted out."""

    links: list[ShownLink]
    dated: int  # entries with dates, at a first crawl
    dated_since: Seconds | None


def shown_by(
    document: Document,
    url: str,
    kind: SourceKind,
    *,
    first: bool,
    now: Seconds,
    sources: Container[str],
    patterns: Patterns,
    other_hosts: float,
) -> Shown:
    """The links of a source that may be pages; at its first crawl those that were there before are not wanted."""
    listed = kind in ("feed", "sitemap") or document.kind in ("feed", "sitemap")
    home = site_of(url)
    links = [link for link in document.links if _may_be_page(link, url, sources, patterns)]
    sites = {link.url: site_of(link.url) for link in links}
    links = _of_home(links, sites, home, other_hosts if listed else 0.0)
    origin = "sitemap" if document.kind == "sitemap" else "feed"
    shown = [
        ShownLink(
            url=link.url,
            site=sites[link.url],
            anchor=link.anchor,
            rank=link.rank,
            context=link.context,
            published=min(link.date, now) if listed and link.date is not None else None,
            published_from=origin if listed and link.date is not None else "",
            wanted=not first or (listed and link.date is not None and link.date > now - NEW_AT_FIRST),
        )
        for link in links
    ]
    dates = [link.date for link in links if link.date is not None and link.date <= now] if first and listed else []
    return Shown(shown, len(dates), min(dates) if len(dates) > 1 else None)


def _may_be_page(link: Link, source: str, sources: Container[str], patterns: Patterns) -> bool:
    url = link.url
    return url != source and url not in sources and not is_front(url) and not is_dull(url) and patterns.page(url)


def _of_home(links: Sequence[Link], sites: dict[str, str], home: str, share: float) -> list[Link]:
    """Links of the source's own site; and of others up to a share of all."""
    most = int(share * len(links)) + (_FEW if share else 0)
    kept: list[Link] = []
    for link in links:
        if sites[link.url] != home:
            if most <= 0:
                continue
            most -= 1
        kept.append(link)
    return list({same_page(link.url): link for link in reversed(kept)}.values())[::-1]
