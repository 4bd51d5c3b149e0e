"""Rules of other crawlers and feed readers, each with its published formula and defaults, to compare with.

Each says how long a source waits after a crawl, from what that crawl showed; none knows a budget, what pages are worth,
or another source. All of them take what is due by its time, the longest overdue first, and fetch nothing before it is
due. What they call a change is a new link here, for that is what can be known of a page without its bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.events import SourceCrawled
from mayfly.core.frontier import PageOrder
from mayfly.core.model import DAY, HOUR, MINUTE, WEEK, Beliefs, FloatArray, Moments, PerSecond, Seconds, SourceId
from mayfly.core.policies.turns import PaperPolicy, Turn

_NEVER = -np.inf


class Peer(PaperPolicy):
    """Sources by the time they are due; found pages before the next source, first in first out."""

    uses_beliefs = False
    seed_rounds = 0  # a source never crawled is the longest due

    def __init__(self, sources_first: bool = False, page_order: PageOrder = "oldest", early: bool = False) -> None:
        """`sources_first`: what is due goes before pages. `early`: use a slot that is left for what is due next."""
        self.pages_first = not sources_first
        self.page_order = page_order
        self._early = early
        self._row = Columns(wait=0.0, crawled=_NEVER, interval=0.0, changed=_NEVER)

    def plan(self, beliefs: Beliefs, budget: PerSecond, seen: FloatArray, now: Seconds) -> None:
        """There is none."""

    def keys(self, seen: FloatArray, now: Moments) -> FloatArray:
        self._row.grow(len(seen))
        return now - seen - self._row.wait[: len(seen)]

    def turn(self, page: float | None, source: float | None, count: int) -> Turn:
        due = source is not None and source >= 0
        if page is not None and (self.pages_first or not due):
            return Turn.PAGE
        return Turn.SOURCE if due or (self._early and source is not None) else Turn.NOBODY

    def saw(self, crawl: SourceCrawled, links: int) -> None:
        row, source = self._row, crawl.source
        row.grow(source + 1)
        row.wait[source] = self._wait(crawl, links, float(row.crawled[source]))
        row.crawled[source] = crawl.at

    def stepped(self, by: Seconds) -> None:
        self._row.crawled[:] += by
        self._row.changed[:] += by

    def _wait(self, crawl: SourceCrawled, links: int, since: Seconds) -> Seconds:
        """Seconds until the next crawl. `links` are new on the source since its last crawl, at `since` (-inf: none)."""
        raise NotImplementedError


class _ByChange(Peer):
    """Rules that step from the last interval to the next."""

    first: Seconds  # the wait after a first crawl, which shows no change

    def __init__(self, first: Seconds | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.first = self.first if first is None else first


class StormCrawler(_ByChange):
    """Apache StormCrawler, AdaptiveScheduler: halfway to the floor after a change, half as long again after none."""

    first, floor, cap = 1440 * MINUTE, 60 * MINUTE, 20160 * MINUTE  # fetchInterval.default, .min, .max
    decrease, increase = 0.5, 0.5

    def _wait(self, crawl: SourceCrawled, links: int, since: Seconds) -> Seconds:
        if since == _NEVER:
            return self.first
        interval = float(self._row.wait[crawl.source])
        if links:
            interval = (1 - self.decrease) * interval + self.decrease * self.floor
        else:
            interval = min(interval * (1 + self.increase), self.cap)
        return int(interval / MINUTE + 1e-9) * MINUTE  # it counts whole minutes


class NewsCrawl(StormCrawler):
    """commoncrawl/news-crawl: the same scheduler, as its crawler-conf.yaml sets it.

    It watches feeds (begun at 12 hours) and sitemaps (news: a day), and no HTML pages: all sources begin as feeds here,
    the shorter.
    """

    first, floor, cap = 720 * MINUTE, 90 * MINUTE, 129600 * MINUTE
    decrease, increase = 0.2, 0.5


class Nutch(_ByChange):
    """Apache Nutch, AdaptiveFetchSchedule with the rates of nutch-default.xml; begun at 30 days, as all its pages."""

    first, floor, cap = 30 * DAY, MINUTE, 365 * DAY  # db.fetch.interval.default, adaptive.min_interval, .max_interval
    decrease, increase = 0.2, 0.4
    sync = 0.3  # sync_delta_rate: go back so much of the time since the last change, to meet the next

    def _wait(self, crawl: SourceCrawled, links: int, since: Seconds) -> Seconds:
        row, source = self._row, crawl.source
        interval = self.first
        if since == _NEVER or links:
            row.changed[source] = crawl.at
        if since > _NEVER:
            interval = float(row.interval[source]) * (1 - self.decrease if links else 1 + self.increase)
        unchanged = crawl.at - float(row.changed[source])
        row.interval[source] = interval = min(max(interval, unchanged, self.floor), self.cap)
        return max(interval - self.sync * unchanged, 0.0)


class MediaCloud(_ByChange):
    """mediacloud/rss-fetcher, auto-adjust: steps by how many of the links shown were known to the whole system.

    A poll that came too early proves no plenty of duplicates, one that came too late no lack of them.
    """

    first, floor, cap = 360 * MINUTE, 10 * MINUTE, 1440 * MINUTE
    few, many = 0.33, 0.67  # duplicates by links
    on_time = 20 * MINUTE

    def _wait(self, crawl: SourceCrawled, links: int, since: Seconds) -> Seconds:
        row, source = self._row, crawl.source
        new, shown = len(crawl.new_pages), links + crawl.stayed
        if since == _NEVER or new:
            row.changed[source] = crawl.at
        if since == _NEVER:
            return self.first
        interval = float(row.wait[source])
        late = crawl.at - since - interval
        known = 1 - new / shown if shown else 1.0
        if known >= self.many and late >= -self.on_time:
            lively = known < 1 or crawl.at - row.changed[source] < 32 * DAY  # "days <= 31", in whole days
            return min(interval + (10 * MINUTE if lively else HOUR), self.cap)
        if known < self.few and late <= self.on_time:
            return self.first if interval > self.first else max(interval - HOUR, self.floor)
        return interval


class _ByEntries(Peer):
    """Rules that look at when entries were published.

    Where none says so they are spread evenly over the gap since the last crawl; those of a first look are of no known
    date.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._entries: dict[SourceId, list[Seconds]] = {}  # in order

    def stepped(self, by: Seconds) -> None:
        super().stepped(by)
        self._entries = {source: [at + by for at in times] for source, times in self._entries.items()}

    def _dated(self, crawl: SourceCrawled, links: int, since: Seconds) -> list[Seconds]:
        """When all entries known so far appeared."""
        new = [min(page.published, crawl.at) for page in crawl.new_pages if page.published is not None]
        rest = links - len(new)
        if since > _NEVER and rest > 0:
            new += (since + (np.arange(rest) + 0.5) / rest * (crawl.at - since)).tolist()
        return sorted([*self._entries.get(crawl.source, ()), *new])


class Miniflux(_ByEntries):
    """Miniflux, POLLING_SCHEDULER=entry_frequency, factor 1: once for every entry of the week, by their mean gap.

    Its default, `round_robin`, is `fixed-interval` here: every hour.
    """

    floor, cap = 5 * MINUTE, 1440 * MINUTE

    def _wait(self, crawl: SourceCrawled, links: int, since: Seconds) -> Seconds:
        times = [at for at in self._dated(crawl, links, since) if at >= crawl.at - WEEK]
        self._entries[crawl.source] = times
        if len(times) < 2 or times[-1] == times[0]:
            return self.cap  # it counts no entry then
        weekly = np.ceil(WEEK * (len(times) - 1) / (times[-1] - times[0]))
        return float(np.clip(WEEK / weekly, self.floor, self.cap))


class CommaFeed(_ByEntries):
    """CommaFeed, FeedRefreshIntervalCalculator: half the mean gap between the entries shown; less often when idle."""

    floor, cap = 5 * MINUTE, 4 * HOUR  # feed-refresh.interval, .max-interval

    def _wait(self, crawl: SourceCrawled, links: int, since: Seconds) -> Seconds:
        shown = links + crawl.stayed
        times = self._entries[crawl.source] = self._dated(crawl, links, since)[-shown:] if shown else []
        if not times:
            return self.cap
        for days, part in (30, 1), (14, 2), (7, 4):
            if crawl.at - times[-1] >= days * DAY:
                return self.cap / part
        if len(times) < 2:
            return self.cap
        return float(np.clip((times[-1] - times[0]) / (len(times) - 1) / 2, self.floor, self.cap / 4))
