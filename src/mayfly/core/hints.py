"""What others say of sources: "this one changed". A hint is evidence, never an order.

How far a source's hints are believed is learned from how often a crawl after one found something new. A pending hint
adds what it promises, by that trust, to what a crawl is worth. And where hints announce most of what appears, silence
says something too: the rate of what comes unannounced is that much lower, so the source is crawled less while nobody
calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.model import FloatArray, SourceId

_MOST_PENDING = 20.0  # pages that hints may promise at once
_FIRST_TRUST = 0.5  # of the first hint of a source,
_PRIOR = 2.0  # which weighs as much as so many
_KEPT = 50.0  # hints and links that are remembered: then all counts are halved
_FEW_LINKS = 5.0  # say little of how many are announced


class Hints:
    """Columns by source.

    >>> hints = Hints()
    >>> hints.grow(1)
    >>> hints.hint([0])
    >>> hints.promised().tolist()
    [0.5]
    >>> hints.crawled(0, new=1)
    >>> hints.promised().tolist(), hints.trust().round(2).tolist()
    ([0.0], [0.67])
    """

    def __init__(self) -> None:
        self._row = Columns(pending=0.0, right=0.0, wrong=0.0, announced=0.0, links=0.0)
        self.given = False  # whether there ever was one

    def grow(self, sources: int) -> None:
        self._row.grow(sources)

    def hint(self, sources: Sequence[SourceId]) -> None:
        """Someone says that these changed."""
        self.given = True
        for source in sources:
            self._row.pending[source] = min(self._row.pending[source] + 1.0, _MOST_PENDING)

    def crawled(self, source: SourceId, new: int) -> None:
        """A crawl shows whether the hints before it were right."""
        row = self._row
        if row.pending[source]:
            (row.right if new else row.wrong)[source] += 1.0
            row.announced[source] += new
            row.pending[source] = 0.0
        row.links[source] += new
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

    def promised(self) -> FloatArray:
        """New pages that pending hints promise, as far as they are believed."""
        return np.asarray(self._row.pending * self.trust())

    def unannounced(self) -> FloatArray:
        """The share of a source's new links that comes without a hint."""
        row = self._row
        return np.asarray(1 - self.trust() * row.announced / (row.links + _FEW_LINKS))
