"""A small living web and a driver for it, shared by the tests of policies and of the scheduler."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from mayfly.core.estimates import ESTIMATORS
from mayfly.core.events import ClicksCounted, NewPage, PageFetched, SourceCrawled, SourcesAdded
from mayfly.core.model import HOUR, Fetch, Wait
from mayfly.core.policies import PEER_POLICIES, POLICIES
from mayfly.core.politeness import Gate
from mayfly.core.scheduler import Scheduler


class Link(NamedTuple):
    """A page shown on a source."""

    source: int
    page: int
    added: float
    removed: float = float("inf")


@dataclass
class World:
    """Links over time, and clicks. It answers fetches and refuses those that break the rules."""

    sites: list[str]  # of the sources
    links: list[Link] = field(default_factory=list)
    clicks: list[tuple[int, float, float]] = field(default_factory=list)  # page, at, number; in order of time
    page_sites: dict[int, str] = field(default_factory=dict)  # pages that are not on the site of their source
    dated: set[int] = field(default_factory=set)  # sources that tell when a page was published
    shown: dict[int, float] = field(default_factory=dict)
    fetched: dict[int, float] = field(default_factory=dict)
    showing: dict[int, set[int]] = field(default_factory=dict)
    pushed: float = 0.0
    _sorted: int = -1
    _by_source: dict[int, list[Link]] = field(default_factory=dict)

    def added(self, at: float = 0.0) -> SourcesAdded:
        return SourcesAdded(at, self.sites, self.sites)

    def site_of(self, fetch: Fetch) -> str:
        if fetch.kind == "source":
            return self.sites[fetch.id]
        first = next(link.source for link in self.links if link.page == fetch.id)
        return self.page_sites.get(fetch.id, self.sites[first])

    def answer(self, fetch: Fetch, now: float) -> SourceCrawled | PageFetched:
        if fetch.kind == "page":
            assert fetch.id in self.shown, "fetched before a crawl showed it"
            assert fetch.id not in self.fetched, "fetched twice"
            self.fetched[fetch.id] = now
            return PageFetched(now, fetch.id)
        there = [link for link in self._of_source(fetch.id) if link.added <= now < link.removed]
        before, pages = self.showing.get(fetch.id, set()), {link.page for link in there}
        self.showing[fetch.id] = pages
        new, again = [], []
        for rank, link in enumerate(there, 1):
            if link.page in before:
                continue
            if link.page in self.shown:
                again.append(link.page)
            else:
                self.shown[link.page] = now
                published = link.added if fetch.id in self.dated else None
                new.append(NewPage(link.page, self.page_sites.get(link.page), published, rank))
        return SourceCrawled(now, fetch.id, new, again, len(before & pages), len(before - pages))

    def _of_source(self, source: int) -> list[Link]:
        if self._sorted != len(self.links):
            self._sorted = len(self.links)
            self._by_source = {number: [] for number in range(len(self.sites))}
            for link in self.links:
                self._by_source[link.source].append(link)
        return self._by_source[source]

    def push(self, now: float) -> ClicksCounted:
        first = bisect_left(self.clicks, self.pushed, key=itemgetter(1))
        until = bisect_left(self.clicks, now, key=itemgetter(1))
        rows = [click for click in self.clicks[first:until] if self.fetched.get(click[0], np.inf) <= click[1]]
        self.pushed = now
        page, at, number = zip(*rows, strict=True) if rows else ((), (), ())
        return ClicksCounted(now, np.array(page, np.int64), np.array(at, float), np.array(number, float))


class Action(NamedTuple):
    """A fetch that was made, from its start to its end."""

    start: float
    end: float
    fetch: Fetch


def drive(
    scheduler: Scheduler,
    world: World,
    begin: float,
    end: float,
    budget: float,
    *,
    took: Callable[[int], float] = lambda count: 0.0,
    push: float = HOUR,
    before: Callable[[float], None] = lambda now: None,
    last_first: bool = False,
) -> list[Action]:
    """Ask in every slot of the budget; the n-th fetch takes `took(n)` seconds. Of fetches that end together the last
    asked for is told first if `last_first`.
    """
    actions: list[Action] = []
    flying: list[tuple[float, int, Fetch]] = []
    slots = int(np.ceil((end - begin) * budget))
    next_push = begin
    for slot in range(slots):
        now = begin + slot / budget
        while flying and flying[0][0] <= now:
            ended, _, fetch = heapq.heappop(flying)
            scheduler.observe(world.answer(fetch, ended))
        while next_push <= now:
            scheduler.observe(world.push(next_push))
            next_push += push
        before(now)
        fetch = scheduler.next(now)
        if isinstance(fetch, Wait):
            assert fetch.until > now
            continue
        assert fetch not in [other for _, _, other in flying], "already in flight"
        ended = now + took(len(actions))
        actions.append(Action(now, ended, fetch))
        if ended == now:
            scheduler.observe(world.answer(fetch, now))
        else:
            heapq.heappush(flying, (ended, -len(actions) if last_first else len(actions), fetch))
    return actions


def random_world(seed: int, sources: int = 6, sites: int = 3, span: float = 30 * HOUR) -> World:
    """Sources of very different pace, pages on several of them, links that leave, clicks that fade."""
    rng = np.random.default_rng(seed)
    world = World([f"site{number % sites}" for number in range(sources)], dated={0})
    page = 0
    for source in range(sources):
        for at in np.sort(rng.uniform(-5 * HOUR, span, rng.poisson(60 / (source + 1)))).tolist():
            stays = float(rng.exponential(10 * HOUR)) if source % 2 else float("inf")
            world.links.append(Link(source, page, at, at + stays))
            if rng.random() < 0.3:
                other = int(rng.integers(sources))
                if other != source:
                    world.links.append(Link(other, page, at + float(rng.exponential(HOUR))))
            # A page has one site, whichever source shows it first; some are on sites without sources.
            world.page_sites[page] = f"elsewhere{page % 2}" if rng.random() < 0.2 else world.sites[source]
            many = int(rng.poisson(4)) if source % 3 == 0 else 0
            world.clicks += [(page, max(at, 0.0) + float(rng.exponential(6 * HOUR)), 1.0) for _ in range(many)]
            page += 1
    world.links.sort(key=lambda link: link.added)
    world.clicks.sort(key=lambda click: click[1])
    return world


def scheduler_of(
    policy: str, estimator: str = "bayes", budget: float = 0.02, delay: float = 0.0, **options: object
) -> Scheduler:
    """A scheduler made of parts with their own defaults."""
    # Rules of other crawlers wait for hours and days: in a short world they are asked to use the slots that are left.
    own = {"early": True} if policy in PEER_POLICIES else {}
    made = POLICIES[policy](**options.pop("policy_options", own))
    learns = ESTIMATORS[estimator](**options.pop("estimator_options", {}))
    return Scheduler(made, learns, budget, Gate(delay), **options)


@pytest.fixture(scope="session")
def web() -> SimpleNamespace:
    return SimpleNamespace(Link=Link, World=World, drive=drive, random_world=random_world, scheduler_of=scheduler_of)
