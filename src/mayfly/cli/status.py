"""The line a person watches while a crawl runs; plain lines in a log where nobody does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections import deque
from collections.abc import AsyncIterator

from rich.console import Console
from rich.live import Live
from rich.text import Text

from mayfly.cli import words
from mayfly.core.model import Seconds
from mayfly.crawl.crawler import Crawler

_LOG_EVERY: Seconds = 60.0
_SPAN = 30  # looks over which a rate is shown
log = logging.getLogger("mayfly")


@contextlib.asynccontextmanager
async def watching(crawler: Crawler) -> AsyncIterator[None]:
    """Show what a crawl does, as long as it runs; and in the end what it did."""
    shown = Status(crawler)
    task = asyncio.ensure_future(shown.live() if sys.stderr.isatty() else shown.lines())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        sys.stderr.write(shown.ending() + "\n")


class Status:
    """What is shown of a crawl; each look counts for the rates."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._looks: deque[tuple[Seconds, int, int, int]] = deque(maxlen=_SPAN)

    async def live(self) -> None:
        with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as screen:
            while True:
                screen.update(Text(self.line()), refresh=True)
                await asyncio.sleep(1.0)

    async def lines(self) -> None:
        while True:
            await asyncio.sleep(min(_LOG_EVERY, 10.0) if len(self._looks) < 3 else _LOG_EVERY)
            log.info("%s", self.line())

    def line(self) -> str:
        """Where a crawl stands, in one line."""
        parts = self._crawler.parts
        tally = parts.tally
        all_, crawls, pages = self._rates()
        words_ = [
            f"{_rate(all_)}/s of {parts.settings.budget:g}",
            f"recrawl {_rate(crawls)} new {_rate(pages)}",
            f"{tally.found:,} found {tally.pages:,} fetched",
        ]
        if parts.scheduler.price is not None:
            words_.append(f"price {parts.scheduler.price:.2g}")
        if tally.median_delay is not None:
            words_.append(f"delay {words.about(tally.median_delay)}")
        if tally.failed:
            words_.append(f"{tally.failed:,} failed ({tally.failures.most_common(1)[0][0]})")
        return " · ".join(words_) + self._remark()

    def _remark(self) -> str:
        crawler, parts = self._crawler, self._crawler.parts
        if crawler.stopping:
            return f" · stopping: {crawler.flying} under way, Ctrl-C again stops at once"
        if crawler.learning is not None:
            return f" · learning again what it knew: {crawler.learning:,} crawls and fetches so far"
        if crawler.chores.paused:
            return f" · paused: {crawler.chores.paused}"
        if not len(parts.sources):
            searching = crawler.chores.searching
            what = f"looking for sources of {searching} hosts" if searching else "mayfly find HOST… adds some"
            return f" · no sources yet: {what}"
        if not parts.tally.found and not parts.tally.pages:
            return f" · reading baselines; {self._first_page()}"
        return ""

    def _first_page(self) -> str:
        """When the first new page is expected: the first crawl of a source only says what was there before."""
        beliefs = self._crawler.parts.scheduler.beliefs
        rate = float(beliefs.link_rate.sum()) if beliefs is not None else 0.0
        return f"first new page expected in about {words.about(1 / rate)}" if rate > 0 else "no rate is known yet"

    def _rates(self) -> tuple[float, float, float]:
        """Requests of all kinds, crawls and pages per second of late."""
        requests = self._crawler.parts.door.requests
        now = asyncio.get_running_loop().time()
        self._looks.append((now, sum(requests.values()), requests["crawl"], requests["page"]))
        first = self._looks[0]
        span = max(now - first[0], 1.0)
        last = self._looks[-1]
        return tuple((last[place] - first[place]) / span for place in (1, 2, 3))  # type: ignore[return-value]

    def ending(self) -> str:
        """What a crawl did, in a sentence."""
        parts = self._crawler.parts
        tally, requests = parts.tally, parts.door.requests
        delay = (
            "" if tally.median_delay is None else f", {words.about(tally.median_delay)} after they appeared (median)"
        )
        empty = self._crawler.learning is None and not len(parts.sources)
        then = "There are no sources: mayfly find HOST… adds some." if empty else "Start it again and it goes on."
        return (
            f"{sum(requests.values()):,} requests: {requests['crawl']:,} crawls of {len(parts.sources):,} sources, "
            f"{requests['page']:,} of pages; {tally.found:,} new pages found, {tally.pages:,} fetched{delay}; "
            f"{tally.failed:,} failures. {then}"
        )


def _rate(rate: float) -> str:
    """Per second, in few letters.

    >>> _rate(0.0123), _rate(2.34), _rate(123.4)
    ('0.012', '2.3', '123')
    """
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
