"""What is in a trace, in figures; and what the paper says of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from mayfly.core.model import DAY, HOUR
from mayfly.lab.trace import Trace

# Section 5.1, and Table 1's upper bound.
PAPER_FACTS = {
    "days": 21.0,
    "hosts": 150,
    "sources": 3_000,
    "pages": 415_000,
    "page_rate": 0.2287,
    "links": 2_400_000,
    "links_per_page": 5.8,
    "clicks_per_second": 0.72,
    "clicked_share": 0.20,
}

# Table 1 as shares of its upper bound, by policy, at N = .05, .10 and .20.
PAPER_BUDGETS = (0.05, 0.10, 0.20)
PAPER_SHARES = {
    "frequency": (0.02, 0.54, 0.85),
    "bfs": (0.33, 0.64, 0.86),
    "fixed-quota": (0.60, 0.82, 0.96),
    "echo-greedy": (0.83, 0.94, 0.96),
    "echo-schedule": (0.72, 0.96, 0.99),
    "echo-newpages": (0.86, 0.96, 0.99),
}
PAPER_POLICIES_IN_ORDER = tuple(PAPER_SHARES)


def describe(trace: Trace) -> dict[str, Any]:
    """Figures of a trace, under the names `lab info --json` prints."""
    clicks = np.bincount(trace.clicks.page, trace.clicks.number, len(trace.page_ids))
    links = np.bincount(trace.link_page, minlength=len(trace.page_ids))
    age = trace.clicks.at - trace.published[trace.clicks.page]
    order = np.argsort(age)
    half = np.searchsorted(np.cumsum(trace.clicks.number[order]), trace.clicks.number.sum() / 2)
    top = np.sort(clicks)[::-1][: max(1, len(clicks) // 100)].sum()
    stay = np.minimum(trace.removed, trace.end) - trace.added
    return {
        "trace": trace.name,
        "days": (trace.end - trace.start) / DAY,
        "hosts": len(set(trace.hosts)),
        "sources": len(trace.source_ids),
        "pages": len(trace.page_ids),
        "page_rate": trace.page_rate,
        "links": len(trace.added),
        "links_per_page": float(links.mean()) if len(links) else 0.0,
        "link_stays_hours": float(np.median(stay) / HOUR) if len(stay) else None,
        "pages_never_linked": int((links == 0).sum()),
        "clicks": float(trace.clicks.number.sum()),
        "clicks_per_second": float(trace.clicks.number.sum() / (trace.end - trace.start)),
        "clicked_share": float((clicks > 0).mean()) if len(clicks) else 0.0,
        "clicks_of_top_percent": float(top / clicks.sum()) if clicks.sum() else 0.0,
        "half_of_clicks_within_hours": float(age[order[min(half, len(order) - 1)]] / HOUR) if len(order) else None,
        "shows": None if trace.shows is None else float(trace.shows.number.sum()),
        "ranks": trace.rank is not None,
    }
