"""What kind of page a source is: the main page of its host, a category one hop from it, or deeper (section 3.1)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

import numpy as np

from mayfly.core.model import IntArray
from mayfly.lab.study.visits import NONE, Visits
from mayfly.urls import canonical, host_of

Kind: TypeAlias = Literal["main", "category", "deeper"]
KINDS: tuple[Kind, ...] = ("main", "category", "deeper")
PAPER: dict[Kind, float] = {"main": 0.42, "category": 0.44, "deeper": 0.14}
_INDEX = re.compile(r"(?:index|default|home)\.\w{3,5}", re.IGNORECASE)


def kind_of(url: str, linked_from_main: bool = False) -> Kind:
    """The kind of a source. One hop: its path has one segment, or somebody came to it from the main page of its host.

    >>> [kind_of(f"https://a.example/{path}") for path in ("", "index.html", "?utm_source=x", "sport/", "2026/11/16")]
    ['main', 'main', 'main', 'category', 'deeper']
    """
    _, _, path = url.partition("#")[0].partition("://")[2].partition("/")
    path, _, query = path.partition("?")
    segments = [segment for segment in path.split("/") if segment]
    root = not segments or (len(segments) == 1 and _INDEX.fullmatch(segments[0]))
    if root and (not query or "?" not in (canonical(url) or "?")):  # nothing is left of the query but tracking
        return "main"
    return "category" if linked_from_main or len(segments) == 1 else "deeper"


def kinds_of(urls: Sequence[str], linked: Collection[str]) -> list[Kind | None]:
    """The kind of each source; what is no web address has none."""
    return [kind_of(url, url in linked) if host_of(url) else None for url in urls]


def linked_from_main(visits: Visits, sources: IntArray) -> set[str]:
    """Those of these sources that visitors reached from the main page of the same host."""
    names, pages = list(visits.sources), list(visits.pages)
    wanted = np.zeros(len(pages), bool)
    wanted[[visits.pages[name] for name in (names[number] for number in sources) if name in visits.pages]] = True
    rows = np.flatnonzero(wanted[visits.page] & (visits.source != NONE))
    pairs = np.unique(visits.source[rows].astype(np.int64) * len(pages) + visits.page[rows])
    links = ((names[pair // len(pages)], pages[pair % len(pages)]) for pair in pairs.tolist())
    return {page for source, page in links if kind_of(source) == "main" and host_of(source) == host_of(page)}
