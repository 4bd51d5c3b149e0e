"""Alive, well, and in numbers: `/health`, `/health/crawl`, `/metrics`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

import mayfly
from mayfly.core.model import HOUR, MINUTE, Seconds
from mayfly.crawl.checkup import crawled_by, look
from mayfly.serve.models import AliveAnswer, HealthAnswer
from mayfly.serve.pages import landed
from mayfly.serve.parts import Serving, With, problems
from mayfly.store.records import Minute

router = APIRouter(tags=["vitals"])

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_ALL_TOLD: Seconds = 5.0  # after a minute's end every shard has noted it
_OUTCOMES = ("waiting", "fetched", "old", "duplicate", "soft-404", "log-in", "failed", "dropped")
_COUNTERS = {  # what is counted, by the first word of its key: help and labels
    "requests": ("requests to this API", ("method", "status")),
    "clicks": ("rows of clicks that came in", ("result",)),
    "hints": ("hints that came in", ("via",)),
    "webhook": ("batches of pages sent to the webhook", ("result",)),
}


@router.get("/health", response_model=AliveAnswer, responses=problems())
async def alive() -> AliveAnswer:
    """That this process answers."""
    return AliveAnswer(version=mayfly.__version__)


@router.get(
    "/health/crawl",
    response_model=HealthAnswer,
    responses=problems() | {503: {"model": HealthAnswer, "description": "Something needs attention."}},
)
async def crawl(serving: With, response: Response) -> HealthAnswer:
    """Whether the crawl really yields: the findings of `mayfly health`."""
    found, watched = await look(serving.reader, serving.home, serving.settings, serving.clock())
    healthy = not any(finding.attention for finding in found)
    if not healthy:
        response.status_code = 503
    return HealthAnswer.model_validate(
        {"healthy": healthy, "watched": watched, "findings": [asdict(finding) for finding in found]}
    )


@router.get("/metrics", response_class=PlainTextResponse, responses=problems(plain=True))
async def metrics(serving: With) -> Response:
    """For Prometheus."""
    found = [*_counted(serving), *await _gauges(serving)]

    class Found:
        def collect(self) -> Iterator[Metric]:
            return iter(found)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Found())
    return Response(generate_latest(registry), media_type=_TEXT)


def _counted(serving: Serving) -> Iterator[Metric]:
    for name, (said, labels) in _COUNTERS.items():
        family = CounterMetricFamily(f"mayfly_api_{name}", f"Since it was started: {said}.", labels=labels)
        for (what, *values), number in sorted(serving.counted.items()):
            if what == name:
                family.add_metric(values, number)
        yield family


async def _gauges(serving: Serving) -> list[Metric]:
    stats = await serving.reader.stats()
    minutes = await serving.reader.minutes(serving.clock() - HOUR)
    last, sent = await landed(serving), await serving.reader.sent()
    crawls = await crawled_by(serving.reader, serving.home)
    pages = GaugeMetricFamily("mayfly_pages", "Pages that are kept, by what became of them.", labels=["outcome"])
    for outcome in _OUTCOMES:
        pages.add_metric([outcome], stats[outcome])
    kept = GaugeMetricFamily("mayfly_kept", "How much else is kept.", labels=["what"])
    for what in ("sources", "hosts", "links", "seen", "clicks", "clicks_unknown"):
        kept.add_metric([what], stats[what])
    space = GaugeMetricFamily("mayfly_store_bytes", "Size of the database.", labels=["part"])
    for part in ("bytes", "free_bytes", "wal_bytes"):
        space.add_metric([part.removesuffix("_bytes").replace("bytes", "all")], stats[part])
    return [
        pages,
        kept,
        space,
        *_of_minute([one for one in minutes if one.at <= serving.clock() - MINUTE - _ALL_TOLD]),
        _gauge(
            "mayfly_crawling",
            "1 if a crawl works on this home.",
            float(bool(crawls)),
        ),
        _gauge("mayfly_landed", "Cursor of the page that landed last.", last),
        _gauge("mayfly_webhook_behind", "Pages that landed and were not sent yet.", 0 if sent is None else last - sent),
        _gauge("mayfly_api_streams", "Streams that are open.", serving.streams),
    ]


def _of_minute(minutes: list[Minute]) -> Iterator[Metric]:
    """Of the last minute that was noted; nothing if there was none in an hour."""
    if not minutes:
        return
    last = minutes[-1]
    requests = GaugeMetricFamily("mayfly_minute_requests", "Requests of the last minute noted.", labels=["kind"])
    for kind, number in (("crawl", last.crawls), ("page", last.pages), ("other", last.others)):
        requests.add_metric([kind], number)
    yield requests
    yield _gauge("mayfly_minute_failures", "Failures of the last minute noted.", last.failures)
    yield _gauge("mayfly_minute_found", "New pages found in the last minute noted.", last.found)
    yield _gauge("mayfly_minute_at", "When that minute began.", last.at)
    if last.price is not None:
        yield _gauge("mayfly_price", "What a fetch has to earn, in clicks.", last.price)


def _gauge(name: str, said: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, said, value=value)
