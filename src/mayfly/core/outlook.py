"""What would be fetched next and what is planned: for people, and for policies that only watch."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.model import Beliefs, Fetch, FloatArray, PageId, PerSecond
from mayfly.core.policies import Policy
from mayfly.core.policies.turns import Turn
from mayfly.core.polite import PolitePlan, polite_plan

HARDLY_EVER = 1e-15  # links per second: sources that were retired take no part in a plan


class Ranked(NamedTuple):
    """A thing that may be fetched, and how much it is wanted."""

    fetch: Fetch
    key: float


def ranked(
    keys: FloatArray, best_pages: Sequence[tuple[PageId, float]], policy: Policy, fetches: int, first: int
) -> list[Ranked]:
    """Sources by their keys (`-inf`: not now) and pages by their worths, as the policy lets them take turns."""
    order = [number for number in np.argsort(-keys, kind="stable")[:first].tolist() if keys[number] > -np.inf]
    sources = deque(Ranked(Fetch("source", number), float(keys[number])) for number in order)
    pages = deque(Ranked(Fetch("page", page), worth) for page, worth in best_pages)
    row: list[Ranked] = []
    while len(row) < first and (pages or sources):
        page, source = pages[0].key if pages else None, sources[0].key if sources else None
        turn = policy.turn(page, source, fetches + len(row))
        if turn is Turn.NOBODY:
            break
        row.append((pages if turn is Turn.PAGE else sources).popleft())
    return row


class Outlook(NamedTuple):
    """What is believed of the sources and planned for them. Columns by source number."""

    beliefs: Beliefs
    polite: PolitePlan
    keys: FloatArray  # how much each is wanted now
    seen: FloatArray  # when it was crawled last
    every: FloatArray  # pinned sources: at least so often; `inf`: not pinned


def outlook(beliefs: Beliefs, budget: PerSecond, row: Columns, most: FloatArray, keys: FloatArray) -> Outlook:
    """The best plan by these beliefs under the sites' limits (`most` by site, per second)."""
    some = slice(len(keys))  # sources added since the last plan have no beliefs yet
    rate = np.where(row.retired[some], HARDLY_EVER, beliefs.link_rate)
    polite = polite_plan(beliefs._replace(link_rate=rate), budget, row.site[some], most)
    return Outlook(beliefs, polite, keys, row.seen[some].copy(), row.every[some].copy())
