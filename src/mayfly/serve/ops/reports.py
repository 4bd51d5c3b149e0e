"""The health report, and what another budget would do."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from mayfly.crawl.health import Finding
from mayfly.serve.ops.plans import LEAST, MOST, Compared
from mayfly.serve.ops.show import show
from mayfly.serve.ops.watch import Watch, Watching
from mayfly.store.records import Source

router = APIRouter(prefix="/ops", include_in_schema=False)

_MOST_FINDINGS = 200
_BRIEF = 4
_NAMED = 15  # sources that come in, and that drop out


@router.get("/health")
async def health(watch: Watching) -> HTMLResponse:
    """What `mayfly health` says."""
    found, watched = await watch.checkup()
    shown = found[:_MOST_FINDINGS]
    ids = {source.url: source.id for source in await _sources_at(watch, shown)}
    return show(
        "ops-health.html",
        "health",
        watch.now,
        findings=shown,
        left_out=len(found) - len(shown),
        wrong=sum(finding.attention for finding in found),
        watched=watched,
        ids=ids,
    )


@router.get("/health/brief")
async def brief(watch: Watching) -> HTMLResponse:
    """The gravest of it, for the first page."""
    found, watched = await watch.checkup()
    wrong = [finding for finding in found if finding.attention]
    return show("ops-brief.html", "health", watch.now, findings=wrong[:_BRIEF], wrong=len(wrong), watched=watched)


@router.get("/what-if")
async def what_if(watch: Watching, budget: Annotated[str, Query(max_length=40)] = "") -> HTMLResponse:
    """The present budget beside another."""
    now = watch.budget
    asked, problem = _budget(budget, now)
    compared = await watch.plans.compare(now, asked)
    coming, leaving = await _named(watch, compared)
    return show(
        "ops-what-if.html",
        "what-if",
        watch.now,
        budget=asked,
        present=now,
        place=round(100 * math.log10(asked / now)),
        problem=problem,
        compared=compared,
        coming=coming,
        leaving=leaving,
    )


async def _sources_at(watch: Watch, findings: list[Finding]) -> list[Source]:
    """Sources the findings are of, so that they can be linked."""
    places = {finding.where for finding in findings if "://" in finding.where}
    found = [await watch.serving.reader.source_at(place) for place in places]
    return [source for source in found if source is not None]


async def _named(watch: Watch, compared: Compared | None) -> tuple[list[Source], list[Source]]:
    if compared is None:
        return [], []
    reader = watch.serving.reader
    return (
        await reader.sources(compared.coming[:_NAMED].tolist()),
        await reader.sources(compared.leaving[:_NAMED].tolist()),
    )


def _budget(given: str, now: float) -> tuple[float, str]:
    """What was asked for, or the present one and what is wrong with the other."""
    if not given.strip():
        return now, ""
    try:
        asked = float(given)
    except ValueError:
        asked = math.nan
    if not LEAST <= asked <= MOST:
        return now, f"A budget is a number of fetches per second between {LEAST:g} and {MOST:,.0f}."
    return asked, ""
