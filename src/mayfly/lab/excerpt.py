"""A part of a world: what there was to be seen from one moment to another."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import compress

import numpy as np

from mayfly.core.model import Seconds
from mayfly.core.quality import Interest
from mayfly.lab.trace import Trace


def from_then_on(
    trace: Trace, start: Seconds, end: Seconds, sources: Collection[int] | None = None, old: bool = True
) -> Trace:
    """The world from `start` to `end`, on these sources (None: all). Clicks of its pages go on after the end.

    What stood on a source before is there at once, as if it were new; not so without `old`: for a crawler that knows
    what it saw at its first look to be old.
    """
    number = np.arange(len(trace.source_ids))
    keep = np.ones(len(number), bool) if sources is None else np.isin(number, list(sources))
    links = (trace.removed > start) & (trace.added < end) & (trace.published[trace.link_page] < end)
    links &= keep[trace.link_source]
    if not old:
        links &= trace.published[trace.link_page] >= start
    pages = (trace.published >= start) & (trace.published < end)
    pages[trace.link_page[links]] = True
    page, source = np.cumsum(pages) - 1, np.cumsum(keep) - 1

    def of_pages(interest: Interest) -> Interest:
        counts = pages[interest.page] & (interest.at >= start)
        return Interest(page[interest.page[counts]], interest.at[counts], interest.number[counts])

    return replace(
        trace,
        start=start,
        end=end,
        source_ids=list(compress(trace.source_ids, keep)),
        source_urls=list(compress(trace.source_urls, keep)),
        hosts=list(compress(trace.hosts, keep)),
        kinds=list(compress(trace.kinds, keep)),
        page_ids=list(compress(trace.page_ids, pages)),
        page_urls=list(compress(trace.page_urls, pages)),
        published=np.maximum(trace.published[pages], start),
        link_source=source[trace.link_source[links]],
        link_page=page[trace.link_page[links]],
        added=np.maximum(trace.added[links], start),
        removed=trace.removed[links],
        rank=None if trace.rank is None else trace.rank[links],
        clicks=of_pages(trace.clicks),
        shows=None if trace.shows is None else of_pages(trace.shows),
    )
