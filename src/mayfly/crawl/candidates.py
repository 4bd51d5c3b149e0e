"""Which of the links a source shows may lead to new pages (DESIGN §6)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from mayfly.core.model import DAY, Seconds
from mayfly.fetch.document import Document
from mayfly.store.records import ShownLink, SourceKind
from mayfly.urls import same_page, site_of

NEW_AT_FIRST: Seconds = DAY  # entries of a feed or sitemap read for the first time are new if they are younger
_SCHEME_CHARS = len("https://")
_FEW = 5  # entries for other sites that a feed may always have
_FILES = """jpg jpeg png gif webp avif svg ico bmp tif tiff css js mjs json woff woff2 ttf eot mp3 mp4 m4a m4v webm ogg
    wav avi mov pdf doc docx xls xlsx ppt pptx zip gz rar 7z exe dmg apk torrent ics vcf rss atom xml rdf"""
_DULL_WORDS = """login log-in logout log-out signin sign-in signup sign-up signout sign-out register registration
    account myaccount my-account cart basket checkout share sharer sharearticle intent print wp-login wp-admin cdn-cgi
    unsubscribe password"""
_FILE_ENDS = frozenset(_FILES.split())
_IN_DULL = frozenset(_DULL_WORDS.split())  # one is in every path that _DULL matches; asked first, four times as quick
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
        unwanted = _any_of(never)
        self.banned = None if unwanted is None else unwanted.match  # says of a URL whether nobody may fetch it

    def source(self, url: str) -> bool:
        """Whether this may be a source."""
        return self.page(url) and (self._only is None or self._only.match(url) is not None)

    def page(self, url: str) -> bool:
        """Whether this may be fetched."""
        return self.banned is None or self.banned(url) is None


def _any_of(patterns: Iterable[str]) -> re.Pattern[str] | None:
    parts = [re.escape(pattern).replace(r"\*", ".*") for pattern in patterns]
    return re.compile(f"(?:{'|'.join(parts)})$", re.IGNORECASE) if parts else None


def is_dull(url: str) -> bool:
    """Whether an address is none of a page people read: a file, a way to log in, to share, to print.

    >>> is_dull("https://a.test/logo.png"), is_dull("https://a.test/login?next=/"), is_dull("https://a.test/x?print=1")
    (True, True, True)
    """
    path, mark, _ = url.partition("?")
    words = path.lower().replace(".", "/").split("/")
    if words[-1] in _FILE_ENDS and path[-1 - len(words[-1])] == "." and path.count("/") > 2:
        return True
    return bool(mark or "&" in path or not _IN_DULL.isdisjoint(words)) and _DULL.search(url) is not None


def is_front(url: str) -> bool:
    """Whether an address is the front page of its host."""
    return url.count("/") == 3 and url.endswith("/")


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
    named_by: str = "",
) -> Shown:
    """The links of a source that may be pages; at its first crawl those that were there before are not wanted.

    `named_by` is the site of the page that named it: a feed may lie with a service, and list that site's pages.
    """
    listed = kind in ("feed", "sitemap") or document.kind in ("feed", "sitemap")
    homes = {site_of(url), named_by} if listed else {site_of(url)}
    origin = "sitemap" if document.kind == "sitemap" else "feed"
    shown = document.links
    links: list[ShownLink] = []
    dates: list[Seconds] = []
    for place, site, key in _places(shown.urls, url, homes, sources, patterns, other_hosts if listed else 0.0):
        address, date = shown.urls[place], shown.dates.get(place) if listed else None
        anchor, context = shown.anchors[place], shown.contexts.get(place, "")
        if date is None:
            links.append(ShownLink(address, site, anchor, place + 1, context, None, "", not first, key))
            continue
        dates.append(date)
        wanted = not first or date > now - NEW_AT_FIRST
        links.append(ShownLink(address, site, anchor, place + 1, context, min(date, now), origin, wanted, key))
    past = [date for date in dates if date <= now] if first else []
    return Shown(links, len(past), min(past) if len(past) > 1 else None)


class _Place(NamedTuple):
    """Of a link that may be a page, among all that a source shows."""

    place: int
    site: str
    key: str  # the same for spellings of one page


def _places(
    urls: Sequence[str],
    source: str,
    homes: Container[str],
    sources: Container[str],
    patterns: Patterns,
    share: float,
) -> list[_Place]:
    """The links that may be pages: of the source's own sites; and of others, up to a share of all."""
    most = int(share * len(urls)) + (_FEW if share else 0)
    keys, banned = set[str](), patterns.banned
    sites: dict[str, str] = {}  # by what stands before the path: most links of a source lead to one host
    places: list[_Place] = []
    for place, url in enumerate(urls):
        if is_dull(url) or is_front(url) or url == source or url in sources or (banned is not None and banned(url)):
            continue
        key = same_page(url)
        if key in keys:
            continue
        root = url[: url.find("/", _SCHEME_CHARS)]
        site = sites.get(root)
        if site is None:
            site = sites[root] = site_of(url)
        if site not in homes:
            if most <= 0:
                continue
            most -= 1
        keys.add(key)
        places.append(_Place(place, site, key))
    return places
