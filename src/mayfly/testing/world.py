"""A made-up world of the lab as it is served: in served time, under the addresses of the loopback web.

The whole world is pressed into served time, dates and all: with a factor of 3600 an hour of it takes a second, a page
lives for seconds, and a date on a page is the moment it appeared to whoever looked. A crawler needs no other clock.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from mayfly.core.model import DAY, FloatArray, IntArray, Seconds
from mayfly.core.quality import Interest
from mayfly.lab.shapes import Publishers, Shape
from mayfly.lab.synthetic import make_world
from mayfly.lab.trace import Trace
from mayfly.testing.prose import slug

NEWS_SITEMAP_KEEPS = 2 * DAY  # as search engines ask for
_TAGS = ("weather", "harbour", "letters", "archive", "sport", "people", "railways", "science", "markets", "gardens")


@dataclass(frozen=True, slots=True)
class Times:
    """How the world's time becomes served time."""

    begin: Seconds  # served time at which the web opens
    factor: float = 1.0  # seconds of the world in a served second
    head_start: Seconds = 2 * DAY  # how much of the world has happened by then, so that sources are full


def small_shape(hosts: int, days: float = 9.0, pages_per_day: float = 60.0) -> Shape:
    """A handful of newspapers."""
    kind = Publishers(
        hosts, pages_per_day, sections=4, others=3, rate_spread=0.6, host_spread=1.0, on_front=0.6, in_feed=0.8,
        slots=30, other_slots=20, loyalty=0.3,
    )  # fmt: skip
    return Shape({"site": kind}, days, clicks_per_second=0.01 * hosts)


def served_world(shape: Shape, seed: int, times: Times) -> Trace:
    """The world of this shape and seed, with a second feed and two sitemaps for each host."""
    world = make_world(shape, seed, "loopback")
    names = {name: _served_name(name) for name in world.hosts}

    def served(at: FloatArray) -> FloatArray:
        return times.begin + (at - world.start - times.head_start) / times.factor

    hosts = [names[host] for host in world.hosts]
    page_hosts = [names[url.split("/")[2]] for url in world.page_urls]
    published = served(world.published)
    trace = replace(
        world,
        start=float(served(np.array(world.start))),
        end=float(served(np.array(world.end))),
        hosts=hosts,
        source_urls=_source_urls(hosts, world.kinds),
        page_urls=[
            f"http://{host}/{_day(at)}/{slug(seed, page)}"
            for page, (host, at) in enumerate(zip(page_hosts, published.tolist(), strict=True))
        ],
        published=published,
        added=served(world.added),
        removed=served(world.removed),
        clicks=_at(world.clicks, served(world.clicks.at)),
        shows=None if world.shows is None else _at(world.shows, served(world.shows.at)),
        about={**world.about, "begin": times.begin, "factor": times.factor, "head_start": times.head_start},
    )
    return _with_more_sources(trace, page_hosts, NEWS_SITEMAP_KEEPS / times.factor)


def _served_name(name: str) -> str:
    """Numbers people count by.

    >>> _served_name("site-000.test")
    'site-01.test'
    """
    kind, number = name.removesuffix(".test").rsplit("-", 1)
    return f"{kind}-{int(number) + 1:02}.test"


def _at(interest: Interest, at: FloatArray) -> Interest:
    return interest._replace(at=at)


def _day(at: Seconds) -> str:
    return str(np.datetime64(int(at), "s").astype("datetime64[D]")).replace("-", "/")


def _source_urls(hosts: list[str], kinds: list[str]) -> list[str]:
    """Front page, sections, feed and tags of each host, in the world's order."""
    urls, so_far = [], Counter[tuple[str, str]]()
    for host, kind in zip(hosts, kinds, strict=True):
        so_far[host, kind] += 1
        number = so_far[host, kind]
        tag = _TAGS[(number - 1) % len(_TAGS)] + (f"-{number}" if number > len(_TAGS) else "")
        path = {"front": "", "category": f"section-{number}/", "feed": "feed.xml", "other": f"tag/{tag}/"}[kind]
        urls.append(f"http://{host}/{path}")
    return urls


def _with_more_sources(trace: Trace, page_hosts: list[str], news_keeps: Seconds) -> Trace:
    """An Atom feed like the other feed; a sitemap of the last two days, and one of everything."""
    hosts = list(dict.fromkeys(trace.hosts))
    number = {host: at for at, host in enumerate(hosts)}
    first = len(trace.hosts)
    atom = first + 3 * np.arange(len(hosts))
    host_of_source = np.array([number[host] for host in trace.hosts])
    in_feed = np.array([kind == "feed" for kind in trace.kinds])[trace.link_source]
    of_page = np.array([number[host] for host in page_hosts], dtype=int)
    pages = np.arange(len(of_page))
    copied = host_of_source[trace.link_source[in_feed]]
    everything = np.full(len(pages), np.inf)

    def joined(*parts: FloatArray | IntArray) -> FloatArray:
        return np.concatenate(parts)

    return replace(
        trace,
        source_ids=[*trace.source_ids, *(str(first + at) for at in range(3 * len(hosts)))],
        source_urls=[
            *trace.source_urls,
            *(f"http://{host}/{file}" for host in hosts for file in ("atom.xml", "news.xml", "articles.xml.gz")),
        ],
        hosts=[*trace.hosts, *(host for host in hosts for _ in range(3))],
        kinds=[*trace.kinds, *(kind for _ in hosts for kind in ("feed", "sitemap", "sitemap"))],
        link_source=joined(trace.link_source, atom[copied], atom[of_page] + 1, atom[of_page] + 2).astype(int),
        link_page=joined(trace.link_page, trace.link_page[in_feed], pages, pages).astype(int),
        added=joined(trace.added, trace.added[in_feed], trace.published, trace.published),
        removed=joined(trace.removed, trace.removed[in_feed], trace.published + news_keeps, everything),
    )
