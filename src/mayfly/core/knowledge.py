"""All the crawler knows: the sources as columns, the pages they showed, and whom clicks are to be credited to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np

from mayfly.core.columns import Columns
from mayfly.core.events import ClicksCounted, NewPage
from mayfly.core.model import DAY, BoolArray, Credited, IntArray, PageId, Seconds, SourceId
from mayfly.core.place import first_place

FORGET_AFTER: Seconds = 30 * DAY  # pages found longer ago earn nothing that could teach us more
MOST_PAGES = 2_000_000  # of a quarter of a kilobyte each
_RANKS_KEPT = 500.0  # links whose ranks make the usual one, the older half forgotten when there are more
NEVER: Seconds = 1e7  # how long ago a source that was never crawled counts as crawled, at least


class KnownPage:
    """A page some source has shown."""

    __slots__ = ("card", "fetched", "found_at", "merit", "place", "published", "since", "sources")

    def __init__(self, published: Seconds, found_at: Seconds, sources: tuple[SourceId, ...], place: int) -> None:
        self.published = published
        self.found_at = found_at
        self.fetched = False
        self.sources = sources
        self.since: tuple[Seconds, ...] = ()  # when the last of these showed it, after its fetch
        self.place = place  # stands still once the page is fetched
        self.card = 0  # its row in `merits.py`; 0: none
        self.merit = 1.0  # what it is held to be worth against the mean page at its place

    def shown_by(self, source: SourceId, since: Seconds | None) -> None:
        """One more source shows it, and is credited with its clicks `since` then (None: with all that are seen)."""
        self.sources = (*self.sources, source)
        if since is not None:
            self.since = (*self.since, since)


class Knowledge:
    """Sources by number, pages by id."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.source = Columns(
            seen=0.0, crawls=0, busy=False, retired=False, every=np.inf, host=0, site=0, ranks=0.0, log_ranks=0.0
        )
        self.pages: dict[PageId, KnownPage] = {}
        self._alone: list[tuple[SourceId]] = []  # shared by the pages that one source shows, which most are
        self._hosts: dict[str, int] = {}
        self._sites: dict[str, int] = {}

    @property
    def sites(self) -> int:
        """How many sites are known."""
        return len(self._sites)

    def add_sources(self, hosts: Sequence[str], sites: Sequence[str], at: Seconds) -> IntArray:
        """Note new sources and return their host numbers; the order in which they are first crawled is drawn here."""
        row, first = self.source, self.source.size
        row.grow(first + len(hosts))
        self._alone += [(source,) for source in range(first, row.size)]
        row.seen[first:] = at - NEVER * (1 + self._rng.random(len(hosts)))
        row.host[first:] = [self._hosts.setdefault(host, len(self._hosts)) for host in hosts]
        row.site[first:] = [self.site(site) for site in sites]
        return row.host[first:]

    def site(self, name: str) -> int:
        """The number of a site."""
        return self._sites.setdefault(name, len(self._sites))

    def last_crawl(self, source: SourceId) -> Seconds | None:
        """When the source was crawled last; None before its first crawl."""
        return float(self.source.seen[source]) if self.source.crawls[source] else None

    def crawled(self, source: SourceId, at: Seconds) -> None:
        """A crawl of it is over."""
        row = self.source
        row.seen[source] = at
        row.crawls[source] += 1
        row.busy[source] = False

    def longest_unseen(self, free: BoolArray, before: Seconds) -> SourceId | None:
        """Of the sources on these sites that may be crawled and were last crawled before that."""
        row = self.source
        if not row.size:
            return None
        out = row.busy | row.retired
        source = int(row.seen.argmin())
        if out[source] or not free[row.site[source]]:
            source = int(np.where(free[row.site] & ~out, row.seen, np.inf).argmin())
        allowed = not out[source] and free[row.site[source]] and row.seen[source] < before
        return source if allowed else None

    def add_page(self, new: NewPage, source: SourceId, at: Seconds, since: Seconds | None) -> KnownPage:
        """Note a page shown for the first time. Where no date is given it appeared in the middle of the gap."""
        published = new.published
        if published is None:
            published = at if since is None else (since + at) / 2
        page = self.pages[new.page] = KnownPage(
            min(published, at), at, self._alone[source], self._place(new.rank, source)
        )
        return page

    def _place(self, rank: float | None, source: SourceId) -> int:
        """The place of a new link, against the (geometric) mean rank of those before it on this source."""
        if rank is None:
            return 0
        row = self.source
        ranks, logs = float(row.ranks[source]), float(row.log_ranks[source])
        place = first_place(rank, math.exp(logs / ranks) if ranks else rank)
        keep = 1.0 if ranks < _RANKS_KEPT else 0.5
        row.ranks[source], row.log_ranks[source] = ranks * keep + 1.0, logs * keep + math.log(max(rank, 1.0))
        return place

    def credit(self, clicks: ClicksCounted) -> Credited:
        """Clicks by source: each goes to every source that had been seen to link the page by then.

        Logs may come late: of a source that showed the page after its fetch, earlier clicks were not to be seen.
        """
        pages, which = np.unique(clicks.page, return_inverse=True)
        known = [self.pages.get(page) for page in pages.tolist()]
        sources = [() if page is None else page.sources for page in known]
        published = np.array([0.0 if page is None else page.published for page in known])
        place = np.array([0 if page is None else page.place for page in known], np.int64)
        many = np.array([len(some) for some in sources], np.int64)
        late = np.array([0 if page is None else len(page.since) for page in known], np.int64)
        since = np.fromiter(chain.from_iterable([page.since for page in known if page is not None]), float)
        first, first_late = np.cumsum(many) - many, np.cumsum(late) - late
        # A row for each click and source of its page: the row's click, and its place among that page's sources.
        times = many[which]
        click = np.repeat(np.arange(len(which)), times)
        within = np.arange(len(click)) - np.repeat(np.cumsum(times) - times, times)
        page_of = which[click]
        after = within - (many - late)[page_of]  # below none: it showed the page before the fetch
        was_shown = after < 0
        others = np.flatnonzero(~was_shown)
        was_shown[others] = since[(first_late[page_of] + after)[others]] <= clicks.clicked_at[click[others]]
        click, within, page_of = click[was_shown], within[was_shown], page_of[was_shown]
        early = (many - late)[page_of]
        return Credited(
            source=np.fromiter(chain.from_iterable(sources), np.int64)[first[page_of] + within],
            place=place[page_of],
            share=np.where(within < early, 1 / early, 0.0),
            age=np.maximum(clicks.clicked_at[click] - published[page_of], 0.0),
            number=clicks.number[click],
            first=within == 0,
            timed=None if clicks.timed is None else clicks.timed[click],
        )

    def forget(self, now: Seconds) -> dict[PageId, KnownPage]:
        """Pages found too long ago to matter, or too many before the last; they come in the order they were found."""
        old: dict[PageId, KnownPage] = {}
        too_many = len(self.pages) - MOST_PAGES
        for number, page in self.pages.items():
            if page.found_at > now - FORGET_AFTER and len(old) >= too_many:
                break
            old[number] = page
        for number in old:
            del self.pages[number]
        return old
