"""Seeded worlds: publishers with front pages, sections and feeds, and readers who click while it is news.

Worth is log-normal at three levels (host, section, page), pages come with the hour of the day and the day of the week,
stand on several sources of their host, and leave each as newer ones come. Clicks are Poisson, their ages exponential.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mayfly.core.model import DAY, HOUR, WEEK, FloatArray, IntArray, Seconds
from mayfly.core.quality import Interest
from mayfly.lab.trace import Trace

_START: Seconds = 1_700_000_000.0 - 1_700_000_000.0 % WEEK


@dataclass(frozen=True)
class Shape:
    """How a world is to be. Spreads are standard deviations of logarithms."""

    hosts: int = 12
    sources_per_host: int = 10
    pages: int = 12_000
    days: float = 9.0
    more_links: float = 1.5  # beside the section and, for most pages, the front page
    slots: int = 40  # links a source shows at a time
    clicks_per_page: float = 3.0
    rate_spread: float = 1.0
    host_spread: float = 1.8
    section_spread: float = 1.2
    page_spread: float = 1.3
    life: Seconds = 15 * HOUR  # 1/μ, half to twice of it by host


def make_world(shape: Shape, seed: int) -> Trace:
    """A world of this shape; the same seed gives the same world."""
    rng = np.random.default_rng(seed)
    end = _START + shape.days * DAY
    host = np.repeat(np.arange(shape.hosts), shape.sources_per_host)
    kinds = ["front", *(["category"] * (shape.sources_per_host - 2)), "feed"] * shape.hosts
    published = np.sort(_moments(shape, rng))
    page_host = rng.choice(shape.hosts, shape.pages, p=_shares(rng.lognormal(0, shape.rate_spread, shape.hosts)))
    section = _section(shape, rng)
    link_page, link_source = _links(shape, page_host, section, rng)
    delay = rng.exponential(5 * 60.0, len(link_page))
    delay[_first_of(link_page)] = 0.0  # a page is published when it is first linked
    added = published[link_page] + delay
    removed = _pushed_out(link_source, added, shape.slots)
    seen = added < end
    return Trace(
        name=f"synthetic-{seed}",
        start=_START,
        end=end,
        source_ids=[str(number) for number in range(len(host))],
        source_urls=[
            f"https://site-{h:03}.test/{kind}/{number}"
            for number, (h, kind) in enumerate(zip(host, kinds, strict=True))
        ],
        hosts=[f"site-{h:03}.test" for h in host],
        kinds=kinds,
        page_ids=[str(number) for number in range(shape.pages)],
        page_urls=[f"https://site-{h:03}.test/page/{number}" for number, h in enumerate(page_host)],
        published=published,
        link_source=link_source[seen],
        link_page=link_page[seen],
        added=added[seen],
        removed=removed[seen],
        rank=None,
        clicks=_clicks(shape, published, page_host, section, end, rng),
        about={"origin": "synthetic", "graph": "synthetic", "interest": "synthetic", "seed": seed},
    )


def _moments(shape: Shape, rng: np.random.Generator) -> FloatArray:
    """Publication times: by day three times as many as by night, at weekends half."""
    hours = np.arange(int(np.ceil(shape.days * 24)))
    busy = 1 - 0.5 * np.cos(2 * np.pi * (hours % 24 - 2) / 24)
    busy = np.where(hours // 24 % 7 >= 5, 0.5, 1.0) * busy
    hour = rng.choice(len(hours), shape.pages, p=_shares(busy))
    at = _START + (hour + rng.random(shape.pages)) * HOUR
    return np.minimum(at, _START + shape.days * DAY - 1.0)


def _section(shape: Shape, rng: np.random.Generator) -> IntArray:
    """Where on its host each page belongs: a few sections are large."""
    sections = max(shape.sources_per_host - 2, 1)
    return rng.choice(sections, shape.pages, p=_shares(1 / np.arange(1, sections + 1)))


def _links(shape: Shape, page_host: IntArray, section: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """(page, source) pairs: the section, often the front page, the feed, and some others."""
    pages, per_host = np.arange(shape.pages), shape.sources_per_host
    first = page_host * per_host
    front = rng.random(shape.pages) < 0.5
    fed = rng.random(shape.pages) < 0.3
    others = np.repeat(pages, rng.poisson(shape.more_links, shape.pages))
    page = np.concatenate([pages, pages[front], pages[fed], others])
    source = np.concatenate(
        [
            first + 1 % per_host + section,
            first[front],
            first[fed] + per_host - 1,
            first[others] + rng.integers(0, per_host, len(others)),
        ]
    )
    pairs = np.unique(page * (shape.hosts * per_host) + source)
    return pairs // (shape.hosts * per_host), pairs % (shape.hosts * per_host)


def _pushed_out(source: IntArray, added: FloatArray, slots: int) -> FloatArray:
    """A link leaves when as many newer ones as the source has slots have come."""
    order = np.lexsort((added, source))
    removed = np.full(len(source), np.inf)
    later = order[slots:]
    same = source[order[:-slots]] == source[later] if slots < len(order) else np.zeros(0, bool)
    removed[order[: len(same)][same]] = added[later[same]]
    return removed


def _clicks(
    shape: Shape,
    published: FloatArray,
    page_host: IntArray,
    section: IntArray,
    end: Seconds,
    rng: np.random.Generator,
) -> Interest:
    worth = (
        rng.lognormal(0, shape.host_spread, shape.hosts)[page_host]
        * rng.lognormal(0, shape.section_spread, (shape.hosts, shape.sources_per_host))[page_host, section]
        * rng.lognormal(0, shape.page_spread, shape.pages)
    )
    number = rng.poisson(worth * (shape.clicks_per_page / worth.mean()))
    life = shape.life * 2 ** rng.uniform(-1, 1, shape.hosts)
    page = np.repeat(np.arange(shape.pages), number)
    at = published[page] + rng.exponential(life[page_host[page]])
    kept = at < end + WEEK
    page, at = page[kept], at[kept]
    order = np.lexsort((page, at))
    return Interest(page[order], at[order], np.ones(len(order)))


def _shares(weights: FloatArray) -> FloatArray:
    return weights / weights.sum()


def _first_of(page: IntArray) -> IntArray:
    """Rows that begin a new page, in a sorted column."""
    return np.flatnonzero(np.diff(page, prepend=-1))
