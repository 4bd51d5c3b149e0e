"""Why, and what a budget would buy: the same that `mayfly why` and `mayfly plan` say."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query

from mayfly.core import buying
from mayfly.core.model import PerSecond
from mayfly.crawl.checkup import budget_of
from mayfly.crawl.telling import address
from mayfly.crawl.why import explain
from mayfly.errors import UsageError
from mayfly.serve.models import PlanAnswer, WhyAnswer
from mayfly.serve.parts import Refused, With, problems
from mayfly.store.listings import Believed

router = APIRouter(tags=["insight"])

_CURVE = np.geomspace(0.1, 10.0, 9)  # budgets of the curve, as multiples of the one that is asked for
_HOSTS = 100  # that are told, those that bring most
_Budget = Annotated[float | None, Query(ge=1e-6, le=1e6, allow_inf_nan=False, description="Fetches per second.")]


@router.get("/api/why", response_model=WhyAnswer, responses=problems())
async def why(url: Annotated[str, Query(max_length=4000)], serving: With) -> WhyAnswer:
    """Why a source is crawled when it is, what became of a page, or why an address is not fetched."""
    try:
        asked = address(url)
    except UsageError:
        raise Refused(422, "url must be a web address such as https://example.com/news/") from None
    told = await explain(serving.reader, asked, serving.settings, serving.agent, serving.clock())
    return WhyAnswer(**told.facts, says=told.says)


@router.get("/api/plan", response_model=PlanAnswer, responses=problems())
async def plan(serving: With, budget: _Budget = None) -> PlanAnswer:
    """What a budget would buy by what is believed of the sources now. Without one: that of the last crawl."""
    believed = await serving.reader.believed()
    asked = budget if budget is not None else budget_of(serving.home, serving.settings)
    return PlanAnswer(**await asyncio.to_thread(_plan, believed, asked))


def _plan(sources: Believed, budget: PerSecond) -> dict[str, Any]:
    believed, count = sources.beliefs(), len(sources.source)
    if buying.bound_of(believed) <= 0:  # nothing is believed of any source yet, so there is nothing to plan for
        nothing = {"exact": {}, "smallest_budget": {}, "no_source_refused": 0.0, "curve": []}
        more: dict[str, Any] = {
            "marginal_value": None,
            "smallest_budget_for_sources": {},
            "hosts": [],
            "hosts_total": 0,
        }
        return {"budget": budget, "upper_bound": 0.0, "sources": count} | nothing | more
    told = buying.offer(believed, budget, (_CURVE * budget).tolist(), sources.host)
    hosts = {"hosts": told["hosts"][:_HOSTS], "hosts_total": len(told["hosts"])}
    return told | hosts | {"sources": count, "curve": [_finite(point) for point in told["curve"]]}


def _finite(point: dict[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in point.items()}
