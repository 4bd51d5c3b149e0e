"""The interface of a store. SQLite implements it here, PostgreSQL for a cluster; one battery of tests holds both.

What came of a fetch is one transaction: the crawl of a source lands together with the pages it showed, so that a crash
loses at most what was under way. A store decides what is *new*: an address no source had shown before.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Protocol, Self

from mayfly.core.model import PageId, Seconds, SourceId
from mayfly.store.hints import Hint, HintRow, NamedHub, Subscription
from mayfly.store.listings import (
    Beat,
    Believed,
    Counted,
    HostsListed,
    HostYield,
    Listing,
    PageColumns,
    SourcesListed,
    VisitOfSource,
)
from mayfly.store.past import ClockStep, Past
from mayfly.store.records import (
    Candidate,
    ClickRow,
    Clicks,
    ClicksTaken,
    Complaint,
    Estimate,
    Happened,
    Host,
    KeptRobots,
    Landed,
    LinkSpan,
    Minute,
    NewSource,
    Outcome,
    Page,
    Rest,
    Retention,
    Source,
    SourceState,
    Suggestion,
    WaitingPage,
)
from mayfly.store.sights import ANY, Candidates, Only, Sight


class Store(Protocol):
    """All that is known, on disk. An async context manager. Times are given, never asked for."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    # What happens

    async def commit(self, happened: Happened) -> Landed:
        """Keep what came of a fetch; returns when it is safe. Calls that come together share a transaction."""

    async def clock_stepped(self, step: ClockStep) -> None: ...
    async def note_minute(self, minute: Minute) -> None: ...

    # Sources

    async def sources(self, ids: Sequence[SourceId] | None = None) -> list[Source]:
        """All of them (blocked and retired, too), or these, by number."""

    async def source_at(self, url: str) -> Source | None: ...
    async def edited(self, after: int) -> list[Source]:
        """Sources added or edited by anyone since that revision, in order of revision."""

    async def add_sources(self, at: Seconds, found: Sequence[NewSource]) -> list[SourceId]:
        """Numbers of those that are new here. One that is known, blocked or retired stays as it is."""

    async def edit_source(
        self, source: SourceId, *, state: SourceState | None = None, reason: str | None = None
    ) -> None: ...
    async def pin(self, source: SourceId, every: Seconds | None) -> None: ...
    async def save_estimates(self, estimates: Sequence[Estimate]) -> None: ...
    async def shows(self, sources: Sequence[SourceId]) -> dict[SourceId, frozenset[int]]:
        """Fingerprints of the addresses each of these showed at its last crawl."""

    # Finding

    async def hosts(self) -> list[Host]: ...
    async def hosts_due(self, searched: Seconds, failed: Seconds) -> list[str]:
        """Those never searched or not since `searched`; where it failed, not since `failed`."""

    async def add_hosts(self, at: Seconds, hosts: Sequence[str], led_by: str = "") -> None:
        """Watch these. `led_by`: a host whose front page they are; it leads on once, and not for ever."""

    async def host_searched(self, host: str, at: Seconds, failure: str = "") -> None: ...
    async def note_candidates(self, at: Seconds, host: str, urls: Sequence[str]) -> None:
        """These stand on the host's front page now. Those that do not, and are no source, are forgotten in time."""

    async def candidates(self, host: str) -> list[Candidate]: ...
    async def suggestions(self, first: int) -> list[Suggestion]:
        """Hosts that are not ours, most linked by fetched pages first."""

    # Pages

    async def unseen(self, urls: Sequence[str]) -> list[str]:
        """Those no source has shown, in order."""

    async def page_at(self, url: str) -> Page | None: ...
    async def pages(
        self,
        after: int = 0,
        first: int = 1000,
        *,
        host: str | None = None,
        source: SourceId | None = None,
        outcome: Outcome | None = None,
    ) -> list[Page]:
        """Settled pages in the order they were settled, from behind the cursor `after`."""

    async def newest(self, first: int, **only: object) -> list[Page]:
        """Settled pages, the newest first; the same filters as `pages`."""

    async def search(self, words: str, first: int = 50) -> list[Page]:
        """Kept pages whose title or text has these words, the newest first."""

    async def page(self, page: PageId) -> Page | None: ...
    async def freshest(self, first: int, only: Only = ANY) -> Candidates:
        """Kept pages to choose from, the newest first; few are looked at, whatever there is."""

    async def matching(self, words: str, first: int, only: Only = ANY) -> Candidates:
        """The same of those whose title or text has these words and phrases, with how close they are."""

    async def sights(self, landed: Sequence[int], words: str = "") -> list[Sight]:
        """Pages by landing, in that order, with the piece of text that has the words."""

    async def drop(self, pages: Sequence[PageId], at: Seconds) -> None:
        """These will not be fetched: what they are worth does not pay for it."""

    # To rebuild what is known

    async def waiting(self) -> list[WaitingPage]:
        """Pages that were found and neither fetched nor given up, in the order they were found."""

    def past(self, since: Seconds) -> AsyncIterator[Past]:
        """What happened since then, in order."""

    def links(self) -> AsyncIterator[LinkSpan]:
        """All links kept, for a trace."""

    async def crawl_gaps(self) -> dict[SourceId, Seconds]:
        """The median time between two crawls of each source."""

    # Clicks

    async def add_clicks(
        self, at: Seconds, rows: Sequence[ClickRow], bin: Seconds = 1200.0, batch: str = ""
    ) -> ClicksTaken:
        """Keep rows of a click log, all or none. Those of a named batch count once; again, the answer is the same."""

    async def has_batch(self, batch: str) -> bool: ...
    async def clicks_since(self, cursor: int, most: int = 500_000) -> tuple[Clicks, int]:
        """What came in behind the cursor of fetched pages since their fetch, of so many rows; and the next cursor."""

    async def clicks_told(self, at: Seconds, cursor: int) -> None:
        """The crawler was told all up to the cursor."""

    async def told(self) -> int:
        """The cursor up to which the crawler was told."""

    # What others tell us, and what they are told

    async def add_hints(self, at: Seconds, rows: Sequence[HintRow]) -> None:
        """Keep what others say is new; of very many the latest."""

    async def hints_since(self, cursor: int) -> tuple[list[Hint], int]:
        """Hints behind the cursor, in order, some thousand at most; and the next cursor."""

    async def hints_taken(self, cursor: int) -> None:
        """The crawler has made use of all up to the cursor."""

    async def hints_cursor(self) -> int:
        """The cursor up to which it has."""

    async def keep_subscription(self, subscription: Subscription) -> None:
        """Keep it, in place of the one with its id."""

    async def change_subscription(self, was: Subscription, now: Subscription | None) -> bool:
        """The same, or forget it (None), if it is still as it was: the crawler and a hub may speak at once."""

    async def subscription(self, id: str) -> Subscription | None: ...
    async def subscriptions(self) -> list[Subscription]: ...
    async def named_hubs(self) -> list[NamedHub]:
        """Hubs and topics that active feeds name, each once; of all shards."""

    async def told_of(self, topic: str, hub: str) -> list[str]:
        """Addresses of the active sources whose feed names this hub and is known to it by this topic."""

    async def sent(self) -> int | None:
        """The landing up to which pages were sent to the webhook; None: it never ran."""

    async def note_sent(self, landed: int) -> None: ...

    # For whoever watches

    async def list_sources(self, asked: Listing) -> SourcesListed:
        """A part of the sources, in the order asked for."""

    async def list_hosts(self, asked: Listing) -> HostsListed:
        """The same of hosts: those we were asked to watch, and those of sources."""

    async def host_yields(self, since: Seconds) -> list[HostYield]:
        """What was found of each host since then, the most new pages first."""

    async def believed(self) -> Believed:
        """What a plan needs to know of the active sources."""

    async def keep_page_values(self, weights: bytes) -> None:
        """What was learned of the worth of pages, for whoever asks why one waits; in place of what was kept before."""

    async def page_values(self, site: str = "") -> bytes | None:
        """The same back, as whoever crawls that site has learned it; None: nothing was kept yet."""

    async def visits(self, source: SourceId, first: int) -> list[VisitOfSource]:
        """Crawls of a source and failures, the newest first."""

    async def arrivals(self, source: SourceId) -> list[Seconds]:
        """When the pages it was first to show were published, the newest first, some thousand at most."""

    async def landed_at(self, at: Seconds) -> int:
        """The cursor of pages behind which all were fetched then or later."""

    async def fetched_since(self, landed: int) -> PageColumns:
        """When pages that were kept behind the cursor were published, found and fetched; some thousand at most."""

    async def beats(self, since: Seconds, width: Seconds) -> list[Beat]:
        """What happened lately, counted in parts of so many seconds; of the last 60,000 happenings at most."""

    async def counted_since(self, seq: int | None) -> Counted:
        """How much happened behind the cursor; None: only where the cursor is now."""

    # Robots, settings, care

    async def robots(self, origins: Sequence[str] | None = None) -> list[KeptRobots]:
        """All that are kept, or those of these origins."""

    async def keep_robots(self, robots: KeptRobots) -> None: ...
    async def note_rest(self, rest: Rest, reason: str) -> None:
        """A site is left alone until then, or longer if that was said before."""

    async def rests(self, now: Seconds) -> list[Rest]:
        """Sites that are to be left alone now."""

    async def minutes(self, since: Seconds) -> list[Minute]: ...
    async def crawled_by(self) -> str:
        """Who crawls, as far as the database knows; empty: nobody, or it does not know."""

    async def unowned(self) -> list[int]:
        """Shards that nobody crawls while a cluster crawls others."""

    async def stats(self) -> dict[str, float]:
        """Counts of all that is kept, and its size in bytes."""

    async def prune(self, now: Seconds, retention: Retention) -> dict[str, int]:
        """Forget what is older than it is kept; says how much of what."""

    async def check(self) -> list[Complaint]:
        """What is wrong with what is kept; repairs nothing."""
