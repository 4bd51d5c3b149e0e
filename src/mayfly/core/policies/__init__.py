"""Ways to spend a budget. To add one: a small file here, a line in `POLICIES`.

A policy is a plan, one key for every source, and a word on whether the best page or the best source goes first. It does
not loop, does not fetch and keeps no queue: the scheduler does that for all of them, with the same politeness.
"""

from __future__ import annotations

from typing import Any, Protocol

from mayfly.core.events import SourceCrawled
from mayfly.core.frontier import PageOrder
from mayfly.core.model import Beliefs, FloatArray, Moments, PerSecond, Seconds
from mayfly.core.policies.baselines import Bfs, FixedInterval, FixedQuota, Frequency
from mayfly.core.policies.echo import EchoGreedy, EchoNewpages, EchoSchedule
from mayfly.core.policies.index import Index
from mayfly.core.policies.literature import LambdaCrawl, SiaCho, Whittle
from mayfly.core.policies.peers import CommaFeed, MediaCloud, Miniflux, NewsCrawl, Nutch, StormCrawler
from mayfly.core.policies.turns import Turn


class Policy(Protocol):
    """What the scheduler asks. All columns are by source number."""

    page_order: PageOrder  # known pages by what they are worth now, or by when they were found
    pages_first: bool  # a known page, if there is one, always goes before any source
    seed_rounds: int  # so often every source is crawled, in random order, before the policy's own order begins
    probe: float  # default share of the fetches kept for the sources longest unseen
    uses_beliefs: bool  # False: it asks nothing of the estimator
    fits_profit: bool  # False: P is taken as clicks per page, without a fit

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        """Take in new beliefs. Runs at each replanning, on whole columns. `seen`: times of the last crawls."""

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        """How much each source is wanted now, the largest first; grows while it waits. `-inf`: not at all."""

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        """Who goes first: the best page (its worth, or seconds since it was found) or the best source (its key).

        None: there is none. `count` is the number of fetches so far.
        """

    def crawled(self, key: float) -> None:
        """A source was taken at this key."""

    def saw(self, crawl: SourceCrawled, links: int) -> None:
        """What a crawl showed; so many `links` were not on the source at its last crawl (at its first: all)."""

    def stepped(self, by: Seconds) -> None:
        """The clock was set: the times of the last crawls were moved along, so that nothing is due for it."""

    @property
    def price(self) -> float | None:
        """ω: what the cheapest fetch still worth making earns; None where the policy knows no price."""

    def limits(self, now: Seconds) -> tuple[float, float]:
        """Worth below which a known page is dropped, and below which it is only kept for cheaper hours."""


POLICIES: dict[str, type[Any]] = {
    "bfs": Bfs,
    "fixed-quota": FixedQuota,
    "frequency": Frequency,
    "echo-greedy": EchoGreedy,
    "echo-schedule": EchoSchedule,
    "echo-newpages": EchoNewpages,
    "fixed-interval": FixedInterval,
    "nutch": Nutch,
    "stormcrawler": StormCrawler,
    "news-crawl": NewsCrawl,
    "miniflux": Miniflux,
    "commafeed": CommaFeed,
    "media-cloud": MediaCloud,
    "lambda-crawl": LambdaCrawl,
    "whittle": Whittle,
    "sia-cho": SiaCho,
    "index": Index,
}
PAPER_POLICIES = tuple(POLICIES)[:6]
PEER_POLICIES = tuple(POLICIES)[7:13]  # of crawlers and feed readers in production
