"""What others say of sources: "this one changed", "this page is new". A hint is evidence, never an order.

How far a source's hints are believed is learned from how often one was right: a crawl after it found something new, a
page it named was worth its fetch. A pending hint adds what it promises, by that trust, to what a crawl is worth. Who
calls whenever there is something says something by silence, too: the rate of what comes unannounced is that much lower,
so the source is crawled less while nobody calls. What we only read somewhere (a feed's ttl, a sitemap's lastmod) does
not call: it says when, and the source's own rate says how much.
"""

from __future__ import annotations

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.model import FloatArray, PageId, SourceId

_MOST_PENDING = 20.0  # pages that hints may promise at once
_MOST_NAMED = 100  # pages of a source that hints may name and nobody has fetched yet
_BELIEVED = 0.25  # trust below which the pages that hints name are not fetched on their word
_FIRST_TRUST = 0.5  # of the first hint of a source,
_PRIOR = 2.0  # which weighs as much as so many
_KEPT = 50.0  # hints and links that are remembered: then all counts are halved
_FEW_LINKS = 5.0  # say little of how many are announced


class Hints:
    """Columns by source.

    >>> hints = Hints()
    >>> hints.grow(1)
    >>> hints.hint(0)
    >>> hints.promised(np.zeros(1)).tolist()
    [0.5]
    >>> hints.crawled(0, new=1)
    >>> hints.promised(np.zeros(1)).tolist(), hints.trust().round(2).tolist()
    ([0.0], [0.67])
    """

    def __init__(self) -> None:
        self._row = Columns(pending=0.0, read=False, named=0, right=0.0, wrong=0.0, announced=0.0, links=0.0)
        self._named: dict[PageId, SourceId] = {}
        self.given = False  # whether there ever was one

    def grow(self, sources: int) -> None:
        self._row.grow(sources)

    def hint(self, source: SourceId, calls: bool = True) -> None:
        """Someone says that it changed."""
        self.given = True
        if calls:
            self._row.pending[source] = min(self._row.pending[source] + 1.0, _MOST_PENDING)
        else:
            self._row.read[source] = True

    def believes(self, source: SourceId) -> bool:
        """Whether a page may be fetched because someone names it."""
        if not self.given:
            return True
        row = self._row
        return bool(row.named[source] < _MOST_NAMED and self.trust()[source] >= _BELIEVED)

    def name(self, page: PageId, source: SourceId) -> None:
        """Someone says that this page of it is new."""
        self.given = True
        self._named[page] = source
        self._row.named[source] += 1
        self._row.links[source] += 1.0
        self._row.announced[source] += 1.0

    def proved(self, page: PageId, right: bool) -> None:
        """The page was worth its fetch, or not."""
        source = self._named.pop(page, None)
        if source is not None:
            self._row.named[source] -= 1
            self._judge(source, right)

    def crawled(self, source: SourceId, new: int) -> None:
        """A crawl shows whether the hints before it were right."""
        row = self._row
        if row.pending[source] or row.read[source]:
            self._judge(source, new > 0)
        if row.pending[source]:
            row.announced[source] += new
        row.links[source] += new
        row.pending[source], row.read[source] = 0.0, False

    def _judge(self, source: SourceId, right: bool) -> None:
        row = self._row
        (row.right if right else row.wrong)[source] += 1.0
        if row.right[source] + row.wrong[source] > _KEPT:
            row.right[source] /= 2
            row.wrong[source] /= 2
        if row.links[source] > _KEPT:
            row.links[source] /= 2
            row.announced[source] /= 2

    def trust(self) -> FloatArray:
        """How probable it is that a hint is right."""
        row = self._row
        return np.asarray((row.right + _FIRST_TRUST * _PRIOR) / (row.right + row.wrong + _PRIOR))

    def promised(self, expected: FloatArray) -> FloatArray:
        """New pages that hints promise, as far as they are believed; so many are `expected` of the first sources."""
        row, first = self._row, len(expected)
        return np.asarray((row.pending[:first] + row.read[:first] * np.minimum(expected, 1.0)) * self.trust()[:first])

    def unannounced(self) -> FloatArray:
        """The share of a source's new links that comes without a call."""
        row = self._row
        return np.asarray(1 - self.trust() * row.announced / (row.links + _FEW_LINKS))
