"""Seeded worlds: publishers with front pages, sections, feeds and archives, and readers who click while it is news.

Worth is log-normal at three levels (host, section, page). Pages come with the hour of the day and the day of the week,
stand on several sources of their host, the promising ones on more, and leave each as newer ones come. Clicks are
Poisson, their ages exponential. Hosts are drawn by strata, so that worlds of different seeds are alike.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from mayfly.core.model import DAY, HOUR, WEEK, FloatArray, IntArray, Seconds
from mayfly.core.quality import Interest
from mayfly.lab.shapes import Shape
from mayfly.lab.trace import Trace

_START: Seconds = 1_700_000_000.0 - 1_700_000_000.0 % WEEK + 4 * DAY  # a Monday
_SHOWN_TOGETHER = 5  # shows come in batches: of one row of the table


def make_world(shape: Shape, seed: int, name: str = "synthetic") -> Trace:
    """A world of this shape; the same seed gives the same world."""
    rng = np.random.default_rng(seed)
    end = _START + shape.days * DAY
    hosts = _Hosts(shape, rng)
    pages = _Pages(hosts, shape.days, rng)
    link_page, link_source, late = _links(hosts, pages, rng)
    added = pages.published[link_page] + late
    removed = _pushed_out(link_source, added, hosts.stay(pages, link_page, link_source))
    seen = added < end
    clicks, shows = _interest(shape, pages, end, rng)
    names = [f"{kind}-{number:03}.test" for kind, number in zip(hosts.kind, hosts.number, strict=True)]
    return Trace(
        name=f"{name}-{seed}",
        start=_START,
        end=end,
        source_ids=[str(number) for number in range(len(hosts.of_source))],
        source_urls=[
            f"https://{names[host]}/{role}/{number}"
            for number, (host, role) in enumerate(zip(hosts.of_source.tolist(), hosts.roles, strict=True))
        ],
        hosts=[names[host] for host in hosts.of_source.tolist()],
        kinds=hosts.roles,
        page_ids=[str(number) for number in range(len(pages.host))],
        page_urls=[f"https://{names[host]}/page/{number}" for number, host in enumerate(pages.host.tolist())],
        published=pages.published,
        link_source=link_source[seen],
        link_page=link_page[seen],
        added=added[seen],
        removed=removed[seen],
        rank=None,
        clicks=clicks,
        shows=shows,
        about={
            "origin": "synthetic",
            "graph": "synthetic",
            "interest": "synthetic",
            "seed": seed,
            "shape": asdict(shape),
        },
    )


class _Hosts:
    """Columns by host; and which sources each has: a front page, sections, a feed, others."""

    def __init__(self, shape: Shape, rng: np.random.Generator) -> None:
        kinds = shape.publishers
        counts = [kind.hosts for kind in kinds.values()]
        self.kind = np.repeat(list(kinds), counts).tolist()
        self.number = np.concatenate([np.arange(count) for count in counts]).tolist()
        self._kinds, self._counts = list(kinds.values()), counts
        self.sections, self.others = self.each("sections"), self.each("others")
        sources = self.sections + self.others + 2
        self.first = np.cumsum(sources) - sources
        self.of_source = np.repeat(np.arange(len(sources)), sources)
        self.roles: list[str] = []
        for sections, others in zip(self.sections.tolist(), self.others.tolist(), strict=True):
            self.roles += ["front", *["category"] * sections, "feed", *["other"] * others]
        most = int(self.sections.max())
        self.rate = self.each("pages_per_day") * self._lognormal(self.each("rate_spread"), rng)
        worth = self.each("worth") * self._lognormal(self.each("host_spread"), rng)
        within = rng.standard_normal((len(sources), most))
        self.section_worth = worth[:, None] * _factor(self.each("section_spread")[:, None], within)
        life = self.each("life") * self._lognormal(self.each("life_spread"), rng)
        within = rng.standard_normal((len(sources), most))
        self.section_life = life[:, None] * _factor(self.each("life_spread")[:, None] / 2, within)

    def each(self, name: str) -> Any:
        """A parameter of the kinds, by host."""
        return np.repeat([getattr(kind, name) for kind in self._kinds], self._counts)

    def stay(self, pages: _Pages, page: IntArray, source: IntArray) -> IntArray:
        """How many newer links it takes to push out a link to this page."""
        host = pages.host[page]
        is_other = source > (self.first + self.sections + 1)[host]
        slots = np.where(is_other, self.each("other_slots")[host], self.each("slots")[host])
        longer = _factor(self.each("loyalty")[host], pages.promise[page])
        return np.maximum(1, np.rint(slots * longer)).astype(int)

    def moments(self, number: IntArray, days: float, rng: np.random.Generator) -> FloatArray:
        """When so many pages of each host appear, by its kind's hours and weekend."""
        hours = np.arange(int(np.ceil(days * 24)))
        parts, at = [], 0
        for kind, count in zip(self._kinds, self._counts, strict=True):
            busy = 1 + kind.day_swing * np.cos(2 * np.pi * (hours % 24 + 0.5 - kind.peak_hour) / 24)
            busy = np.where(hours // 24 % 7 >= 5, kind.weekend, 1.0) * busy
            pages = int(number[at : at + count].sum())
            hour = rng.choice(len(hours), pages, p=busy / busy.sum())
            parts.append(_START + (hour + rng.random(pages)) * HOUR)
            at += count
        return np.minimum(np.concatenate(parts), _START + days * DAY - 1.0)

    def _lognormal(self, spread: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Factors with mean one in each kind, drawn by strata: one host of each slice of the distribution."""
        parts, at = [], 0
        for count in self._counts:
            slices = (rng.permutation(count) + 0.5) / count
            factor = np.exp(spread[at : at + count] * _quantile(slices))
            parts.append(factor / factor.mean())
            at += count
        return np.concatenate(parts)


class _Pages:
    """Columns by page, in order of publication."""

    def __init__(self, hosts: _Hosts, days: float, rng: np.random.Generator) -> None:
        number = rng.poisson(hosts.rate * days)
        host = np.repeat(np.arange(len(number)), number)
        published = hosts.moments(number, days, rng)
        order = np.argsort(published, kind="stable")
        self.host: IntArray = host[order]
        self.published: FloatArray = published[order]
        # A few sections are large: the k-th takes 1/k of what the first does.
        sums = np.cumsum(1 / np.arange(1, hosts.sections.max() + 1))
        drawn = rng.random(len(host)) * sums[hosts.sections[self.host] - 1]
        self.section: IntArray = np.searchsorted(sums, drawn, side="right")
        self.promise: FloatArray = rng.standard_normal(len(host))
        foresight = hosts.each("foresight")[self.host]
        luck = foresight * self.promise + np.sqrt(1 - foresight**2) * rng.standard_normal(len(host))
        factor = _factor(hosts.each("page_spread")[self.host], luck)
        self.worth: FloatArray = hosts.section_worth[self.host, self.section] * factor
        self.life: FloatArray = hosts.section_life[self.host, self.section]


def _links(hosts: _Hosts, pages: _Pages, rng: np.random.Generator) -> tuple[IntArray, IntArray, FloatArray]:
    """(page, source, seconds after publication): its section at once, the others perhaps and later."""
    host, page = pages.host, np.arange(len(pages.host))
    first, sections = hosts.first[host], hosts.sections[host]
    # The front page takes what promises most, not by chance: the share `on_front` lies above this quantile.
    on_front = pages.promise + 0.5 * rng.standard_normal(len(page)) > np.sqrt(1.25) * _quantile(
        1 - hosts.each("on_front")[host]
    )
    in_feed = rng.random(len(page)) < hosts.each("in_feed")[host]
    more = rng.poisson(hosts.each("other_links")[host] * _factor(hosts.each("loyalty")[host], pages.promise))
    again = np.repeat(page, more)
    places = sections[again] + hosts.others[host[again]]  # any section or other, but neither front page nor feed
    place = (rng.random(len(again)) * places).astype(int)
    place += 1 + (place >= sections[again])
    source = np.concatenate(
        [first + 1 + pages.section, first[on_front], (first + 1 + sections)[in_feed], first[again] + place]
    )
    which = np.concatenate([page, page[on_front], page[in_feed], again])
    soon = np.concatenate(
        [
            np.zeros(len(page)),
            rng.exponential(300.0, int(on_front.sum() + in_feed.sum())),
            rng.exponential(hosts.each("lateness")[host[again]]),
        ]
    )
    pairs = which * len(hosts.of_source) + source
    order = np.lexsort((soon, pairs))
    kept = order[np.flatnonzero(np.diff(pairs[order], prepend=-1))]
    return which[kept], source[kept], soon[kept]


def _pushed_out(source: IntArray, added: FloatArray, stay: IntArray) -> FloatArray:
    """A link leaves when `stay` newer ones have come to its source."""
    order = np.lexsort((added, source))
    last = np.searchsorted(source[order], source[order], side="right")
    leaver = np.arange(len(order)) + stay[order]
    goes = leaver < last
    removed = np.full(len(source), np.inf)
    removed[order[goes]] = added[order[leaver[goes]]]
    return removed


def _interest(shape: Shape, pages: _Pages, end: Seconds, rng: np.random.Generator) -> tuple[Interest, Interest | None]:
    """Clicks, and shows beside them: the same worth and the same fading, but more."""
    mean = pages.worth * (shape.clicks_per_second * shape.days * DAY / pages.worth.sum())
    clicks = _draw(pages, rng.poisson(mean), end, rng)
    if not shape.shows_per_click:
        return clicks, None
    shows = _draw(pages, rng.poisson(mean * (shape.shows_per_click / _SHOWN_TOGETHER)), end, rng)
    return clicks, shows._replace(number=1.0 + rng.poisson(_SHOWN_TOGETHER - 1, len(shows.at)))


def _draw(pages: _Pages, number: IntArray, end: Seconds, rng: np.random.Generator) -> Interest:
    page = np.repeat(np.arange(len(number)), number)
    at = pages.published[page] + rng.exponential(pages.life[page])
    kept = at < end + WEEK
    page, at = page[kept], at[kept]
    order = np.lexsort((page, at))
    return Interest(page[order], at[order], np.ones(len(order)))


def _factor(spread: FloatArray, normal: FloatArray) -> FloatArray:
    """Log-normal factors with mean one."""
    return np.asarray(np.exp(spread * normal - spread**2 / 2))


def _quantile(share: FloatArray) -> FloatArray:
    """Of the normal distribution."""
    from scipy.special import ndtri  # takes as long to load as all else that a command needs

    return np.asarray(ndtri(share))
