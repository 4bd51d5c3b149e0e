"""What is true of the sources of a trace, as beliefs: what a plan needs, without learning. For `mayfly plan` only."""

from __future__ import annotations

import numpy as np

from mayfly.core.model import DAY, Beliefs, beliefs
from mayfly.core.quality import Interest
from mayfly.lab.trace import Trace


def true_beliefs(trace: Trace, interest: Interest) -> Beliefs:
    """λ, P and μ of each source over the whole trace. A page counts for the source that linked it first, so that no
    profit is planned twice; μ is one by the mean age of a source's clicks, or of all where it has fewer than twenty.
    """
    order = np.lexsort((trace.added, trace.link_page))
    page = trace.link_page[order]
    first = order[np.flatnonzero(np.diff(page, prepend=-1))]
    source_of = np.full(len(trace.page_ids), -1)
    source_of[trace.link_page[first]] = trace.link_source[first]
    sources = len(trace.source_ids)
    pages = np.bincount(trace.link_source[first], minlength=sources)
    linked = source_of[interest.page] >= 0
    source, number = source_of[interest.page[linked]], interest.number[linked]
    age = interest.at[linked] - trace.published[interest.page[linked]]
    clicks = np.bincount(source, number, sources)
    ages = np.bincount(source, number * age, sources)
    mean_age = float(ages.sum() / clicks.sum()) if clicks.sum() and ages.sum() else DAY
    own_age = np.divide(ages, clicks, out=np.full(sources, mean_age), where=clicks > 0)
    decay = 1 / np.where(clicks >= 20, np.maximum(own_age, 60.0), mean_age)
    return beliefs(pages / (trace.end - trace.start), clicks / np.maximum(pages, 1), decay)
