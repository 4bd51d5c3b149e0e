"""What is foreseen of a page before its fetch, and which of its features say so; from the weights the store keeps."""

from __future__ import annotations

import math
from typing import NamedTuple

from mayfly.core.estimates.pagevalue import PageValue
from mayfly.core.features import Features, slot_of
from mayfly.store.records import Page
from mayfly.store.store import Store

_FEW = 4  # features that are named
_SLIGHT = 0.03  # weights below are not worth a word


class Foreseen(NamedTuple):
    """What a page was held to be worth, as a multiple of what its sources let expect."""

    times: float
    features: list[tuple[str, float]]  # the strongest, each with what it multiplies by


async def foreseen(store: Store, page: Page) -> Foreseen | None:
    """None: nothing was learned yet."""
    kept, value = await store.page_values(page.site), PageValue()
    if kept is None or not value.load(kept):
        return None
    names = Features().names(page.url, page.anchor, page.context, page.source, page.found_at, page.rank or None)
    times = value.merit([slot_of(name) for name in names])
    weights = [(name, value.temper * float(value.weight[slot_of(name)])) for name in names]
    strongest = sorted(weights, key=lambda one: -abs(one[1]))[:_FEW]
    return Foreseen(
        times, [(_said(name, page), math.exp(weight)) for name, weight in strongest if abs(weight) > _SLIGHT]
    )


def _said(name: str, page: Page) -> str:
    """A feature in words."""
    return f"first shown by {page.source_url}" if name.startswith("first on ") else name
