"""Sources and pages as people name them and programs are told of them: the same at the keyboard and over HTTP."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from mayfly.errors import UsageError
from mayfly.store.records import Estimate, Page, Source, SourceKind
from mayfly.urls import canonical, host_of

UNSEEN = 1e9  # worth of a crawl of what was never looked at
_FEED_ENDS = (".rss", ".atom", ".rdf", "/feed", "/rss", "/atom", "/feed.xml", "/rss.xml", "/atom.xml", "/index.xml")


def source_told(source: Source) -> dict[str, Any]:
    """For programs: all that is kept of it, and the estimates beside it."""
    told = asdict(source)
    del told["memory"], told["estimate"]
    names = ("link_rate", "page_profit", "profit_decay", "interval", "worth", "next_due", "note")
    return told | {name: getattr(source.estimate, name, None) for name in names}


def page_told(page: Page) -> dict[str, Any]:
    """For programs: all that is kept of a page."""
    return asdict(page)


def outcome_of(page: Page) -> str:
    """What it turned out to be, with the reason where there is one."""
    return f"{page.outcome} ({page.reason})" if page.reason else page.outcome


def known_worth(estimate: Estimate) -> float | None:
    """What a crawl is worth; None: it was never looked at, so it goes before all others."""
    return estimate.worth if estimate.worth < UNSEEN else None


def address(given: str) -> str:
    """The one spelling of an address people typed; https where they did not say."""
    url = canonical(given if "://" in given else f"https://{given}")
    if url is None:
        raise UsageError(f"'{given}' is no web address; write it as https://example.com/news/")
    return url


def kind_of(url: str) -> SourceKind:
    """What an address looks like.

    >>> kind_of("https://example.com/"), kind_of("https://example.com/a/feed.xml"), kind_of("https://example.com/a/")
    ('front', 'feed', 'category')
    """
    path = urlsplit(url).path.lower().rstrip("/")
    if not path:
        return "front"
    if "sitemap" in path:
        return "sitemap"
    return "feed" if path.endswith(_FEED_ENDS) else "category"


def nearest(url: str, known: Sequence[str]) -> str | None:
    """The known address most like this one: of its host, or of the host most like it."""
    hosts = list(dict.fromkeys(host_of(one) for one in known))
    host = difflib.get_close_matches(host_of(url), hosts, n=1, cutoff=0.0)
    near = [one for one in known if host_of(one) in host]
    return next(iter(difflib.get_close_matches(url, near, n=1, cutoff=0.0)), None)
