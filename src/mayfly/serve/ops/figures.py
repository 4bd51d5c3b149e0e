"""What the figures are drawn from: columns as small JSON. `null` is a gap: nothing was noted then."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path, Query

from mayfly.core.habits import clicks_by_age
from mayfly.core.model import DAY, HOUR, MINUTE, WEEK, FloatArray, Seconds
from mayfly.core.provisional import SETTLED, Dynamic, Profits, dynamic
from mayfly.serve.ops.harvest import SHOWN, Harvest, Pages, SourceClicks
from mayfly.serve.ops.overview import SPANS
from mayfly.serve.ops.watch import Watching
from mayfly.store.listings import Beat, Believed
from mayfly.store.records import Minute

router = APIRouter(prefix="/ops/data", include_in_schema=False)

_POINTS = 360  # of a figure, at most
_LEAST = 2  # minutes a point: they are noted a little more than a minute apart
_QUICK: Seconds = 10 * MINUTE  # so little time is drawn by the log itself,
_BEAT: Seconds = 5.0  # in parts of this length,
_FEWEST_BEATS = 12  # so many at least
_FIVE: Seconds = 5 * HOUR  # the paper's short window
_AGES = 60
_PARTS = 48  # of the time, that have percentiles of their own
_FEWEST = 3  # pages that have a percentile
_Span = Annotated[str, Query(max_length=10)]


@router.get("/rate")
async def rate(watch: Watching, span: _Span = "1d") -> dict[str, Any]:
    """Requests per second by kind, budget and price."""
    length, now, reader = SPANS.get(span, DAY), watch.now, watch.serving.reader
    minutes = await reader.minutes(now - length)
    if length > _QUICK:
        return rates(minutes, now - length, now, watch.budget)
    return beats(await reader.beats(now - length, _BEAT), minutes, now - length, now, watch.budget)


@router.get("/quality")
async def quality(watch: Watching) -> dict[str, Any]:
    """Dynamic quality of two weeks, by the hour; of a younger crawl in shorter steps."""
    now = watch.now
    await watch.harvest.follow(now)
    believed = await watch.plans.believed()
    return await asyncio.to_thread(_quality, watch.harvest, believed, now)


@router.get("/delay")
async def delay(watch: Watching, span: _Span = "1d") -> dict[str, Any]:
    """Percentiles of delays."""
    now = watch.now
    await watch.harvest.follow(now)
    return await asyncio.to_thread(delays, watch.harvest.pages, now - SPANS.get(span, DAY), now)


@router.get("/plan")
async def plan(watch: Watching) -> dict[str, Any]:
    """Share of the bound against budget."""
    points = await watch.plans.curve(watch.budget)
    return {name: [point[name] for point in points] for name in ("budget", "share")} | {"now": watch.budget}


@router.get("/clicks/{source}")
async def clicks(source: Annotated[int, Path(ge=0, le=2**53)], watch: Watching) -> dict[str, Any]:
    """Clicks by age of the pages of a source, and the fitted curve."""
    now = watch.now
    await watch.harvest.follow(now)
    seen = await asyncio.to_thread(watch.harvest.of_source, source, now)
    found = await watch.serving.reader.sources([source])
    estimate = found[0].estimate if found else None
    return aged(seen, estimate.page_profit if estimate else None, estimate.profit_decay if estimate else None)


def rates(minutes: list[Minute], since: Seconds, until: Seconds, budget: float) -> dict[str, Any]:
    """Means over equal parts of the time."""
    width = max(np.ceil((until - since) / _POINTS / MINUTE), _LEAST) * MINUTE
    begin = since // width * width
    count = int((until - begin) // width) + 1
    told = {"at": [begin + width * number for number in range(count)], "now": budget}
    rows = np.array(
        [(one.at, one.crawls, one.pages, one.others, one.failures, one.price, one.budget) for one in minutes], float
    ).reshape(-1, 7)
    place = ((rows[:, 0] - begin) // width).astype(int)
    many = np.bincount(place, minlength=count)[:count]
    for column, name in enumerate(("crawls", "pages", "others", "failures"), 1):
        told[name] = _mean(np.bincount(place, rows[:, column], count)[:count], many * MINUTE)
    for column, name in ((5, "price"), (6, "budget")):
        known = np.isfinite(rows[:, column])
        sums = np.bincount(place[known], rows[known, column], count)[:count]
        told[name] = _mean(sums, np.bincount(place[known], minlength=count)[:count])
    return told


def beats(counted: list[Beat], minutes: list[Minute], since: Seconds, until: Seconds, budget: float) -> dict[str, Any]:
    """The same of the last minutes, by the log itself. The last part is left out, for it is not over."""
    begin = since // _BEAT * _BEAT
    count = int((until - begin) // _BEAT)
    rows = {round((one.at - begin) / _BEAT): one for one in counted}
    first = min(rows, default=count)
    shown = range(max(min(first, count - _FEWEST_BEATS), 0), count)  # a young crawl fills the figure
    some = [rows.get(place, Beat(0.0, 0, 0, 0)) if place >= first else None for place in shown]
    told: dict[str, Any] = {"at": [begin + _BEAT * place for place in shown], "now": budget}
    for name, of in (("crawls", "crawls"), ("pages", "pages"), ("others", "failures"), ("failures", "failures")):
        told[name] = [None if one is None else round(getattr(one, of) / _BEAT, 3) for one in some]
    told["budget"] = [None if one is None else budget for one in some]
    prices = {int((one.at + MINUTE - begin) // _BEAT): one.price for one in minutes}  # known at the minute's end
    told["price"] = _carried([prices.get(place) for place in shown])
    return told


def _carried(values: list[float | None]) -> list[float | None]:
    """Each until the next is known."""
    kept: list[float | None] = []
    for value in values:
        kept.append(value if value is not None or not kept else kept[-1])
    return kept


def delays(pages: Pages, since: Seconds, until: Seconds) -> dict[str, Any]:
    """Median and 90th percentile of published → found, found → fetched and both, of pages by when they were fetched."""
    rows = np.flatnonzero((pages.fetched >= since) & (pages.fetched < until))
    many = min(max(len(rows) // (2 * _FEWEST), 1), _PARTS)  # fewer where pages are few, else most would have none
    width = max((until - since) / many, min(5 * MINUTE, (until - since) / _PARTS))
    order = rows[np.argsort(pages.fetched[rows], kind="stable")]
    edges = since + width * np.arange(int(np.ceil((until - since) / width)) + 1)
    bounds = np.searchsorted(pages.fetched[order], edges)
    spans = {
        "found": np.maximum(pages.found - pages.published, 0.0)[order],
        "fetched": np.maximum(pages.fetched - pages.found, 0.0)[order],
        "whole": pages.delay[order],
    }
    told: dict[str, Any] = {"at": (edges[:-1] + width / 2).tolist(), "pages": np.diff(bounds).tolist()}
    told["all"] = {name: _percentiles(values) for name, values in spans.items()}
    for name, values in spans.items():
        parts = [_percentiles(values[low:high]) for low, high in pairwise(bounds)]
        told[f"{name}_median"] = [part and part[0] for part in parts]
        told[f"{name}_p90"] = [part and part[1] for part in parts]
    return told


def aged(seen: SourceClicks, profit: float | None, decay: float | None) -> dict[str, Any]:
    """Cumulative clicks a page, by age in hours, as seen and as fitted: P(1 - e^(-μa))."""
    last = float(min(max(seen.seen_until.max(initial=0.0), 5 * HOUR), WEEK))
    if decay:
        last = min(last, max(8.0 / decay, 5 * HOUR))
    ages = np.linspace(0.0, last, _AGES + 1)
    curve = clicks_by_age(seen.seen_from, seen.seen_until, seen.click_age, seen.worth, ages)
    fitted = None if profit is None or decay is None else (profit * -np.expm1(-decay * ages)).tolist()
    return {
        "age": (ages / HOUR).tolist(),
        "seen": _gaps(curve) if len(seen.worth) else [None] * len(ages),
        "fitted": fitted or [None] * len(ages),
        "pages": seen.pages,
        "clicks": float(seen.worth.sum()),
    }


def _quality(harvest: Harvest, believed: Believed, now: Seconds) -> dict[str, Any]:
    profits: Profits = harvest.profits(believed)
    if not len(profits.fetched):
        return {"at": [], "settled": now - SETTLED}
    begin = max(now - SHOWN, float(profits.fetched.min()))
    step = HOUR if now - begin > 2 * DAY else max((now - begin) // 48 // _BEAT, 1.0) * _BEAT  # the first minutes, too
    times = np.append(np.arange(begin // step + 1, now // step + 1) * step, now)
    told: dict[str, Any] = {
        "at": times.tolist(),
        "settled": now - SETTLED,
        "since": float(profits.fetched.min()),
        "known_until": harvest.known_until if np.isfinite(harvest.known_until) else None,
    }
    for name, width in (("five", _FIVE), ("week", WEEK)):
        known: Dynamic = dynamic(profits, times, width, now)
        told[f"{name}_seen"] = _short(known.seen)
        told[f"{name}_whole"] = _short(known.whole)
    return told


def _mean(sums: Any, by: Any) -> list[float | None]:
    return [float(f"{total / count:.5g}") if count else None for total, count in zip(sums, by, strict=True)]


def _percentiles(values: FloatArray) -> tuple[float, float] | None:
    if len(values) < _FEWEST:
        return None
    middle, late = np.quantile(values, (0.5, 0.9))
    return round(float(middle), 1), round(float(late), 1)


def _short(values: FloatArray) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _gaps(values: FloatArray) -> list[float | None]:
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values]
