"""Nothing leaves without him: robots.txt is asked, the site's pause and the address's are kept, the budget is paid.

Every request of a crawl goes through a `Passage`: pages and sources, each hop of their redirects, robots.txt, what the
finder asks, what hubs are sent. The scheduler knows of pauses, too, and gives out no fetch of a site that rests; but
only here it is held, for a redirect may lead to any site. All pauses run by the monotonic clock.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

from mayfly.core.model import Seconds
from mayfly.core.politeness import Bucket
from mayfly.crawl.territory import ALL, Territory
from mayfly.fetch.http import Fetcher
from mayfly.fetch.reasons import Reason
from mayfly.fetch.robots import Robots
from mayfly.urls import site_of

_LOOK_UP: Seconds = 1.0  # who waits looks so often whether all is to end
_STALE: Seconds = 0.5  # a token older than this is given back
HUB = "hub"  # the kind of passages to hubs
_MOST_IDLE = 10_000  # sites and addresses remembered although nothing is asked of them now


class _Turn:
    """One at a time, and a pause after each."""

    __slots__ = ("delay", "free_at", "left_at", "lock")

    def __init__(self, delay: Seconds) -> None:
        self.lock = asyncio.Lock()
        self.delay = delay
        self.free_at: Seconds = 0.0
        self.left_at: Seconds = -math.inf  # when the last request ended

    async def take(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Comes back when it is our turn; or at once, if all is to end."""
        await self.lock.acquire()
        try:
            loop = asyncio.get_running_loop()
            while (wait := self.free_at - loop.time()) > 0 and not stopping():  # it may be put off while we wait
                await asyncio.sleep(min(wait, _LOOK_UP) + 0.001)
        except BaseException:
            self.lock.release()
            raise

    def leave(self) -> None:
        self.left_at = asyncio.get_running_loop().time()
        self.free_at = max(self.free_at, self.left_at + self.delay)
        self.lock.release()

    def slow(self, delay: Seconds, since: Seconds) -> None:
        """Pause so long from now on, and after the last request already; it ended at `since` at the earliest."""
        self.delay = delay
        self.free_at = max(self.free_at, max(self.left_at, since) + delay)

    @property
    def idle(self) -> bool:
        return not self.lock.locked() and self.free_at <= asyncio.get_running_loop().time()


class Doorman:
    """Who may ask whom, and when."""

    def __init__(
        self, fetcher: Fetcher, robots: Robots, bucket: Bucket, now: Callable[[], Seconds], host_delay: Seconds,
        address_delay: Seconds, territory: Territory = ALL,
    ) -> None:  # fmt: skip
        self._fetcher, self._robots, self._bucket, self._now = fetcher, robots, bucket, now
        self._host_delay, self._address_delay = host_delay, address_delay
        self.territory = territory
        self._sites: dict[str, _Turn] = {}
        self._addresses: dict[str, _Turn] = {}
        self._paced: dict[str, Seconds] = {}  # sites whose robots.txt asks for another pause
        self._not_before: Seconds = -1.0  # pauses of sites asked by an earlier run begin here
        self.stopping = False
        self.owed = 0  # fetches that gave their token back while they waited, and want it now
        self.requests: Counter[str] = Counter()  # by kind of passage
        self.on_pace: Callable[[str, Seconds], None] = lambda site, delay: None

    def passage(self, kind: str, paid: bool = False) -> Passage:
        """For one fetch and all its hops. `paid`: the first request has its token already."""
        return Passage(self, kind, paid)

    def rest(self, site: str, seconds: Seconds) -> None:
        """Leave a site alone for a while."""
        turn = self._turn(site)
        turn.free_at = max(turn.free_at, asyncio.get_running_loop().time() + seconds)

    def rests(self, site: str) -> Seconds:
        """How long a site is still to be left alone."""
        turn = self._sites.get(site)
        return 0.0 if turn is None else max(turn.free_at - asyncio.get_running_loop().time(), 0.0)

    def rest_all(self) -> None:
        """Another run may have asked any site until just now."""
        self._not_before = asyncio.get_running_loop().time()

    def delay_of(self, site: str) -> Seconds:
        """The pause a site gets."""
        return self._paced.get(site, self._host_delay)

    async def token(self, owed: bool = False) -> None:
        """Wait until the budget allows one more request; or until all is to end."""
        loop = asyncio.get_running_loop()
        self.owed += owed
        try:
            while not self.stopping and not self._bucket.take(loop.time()):
                wait = self._bucket.next_token(loop.time()) - loop.time()
                await asyncio.sleep(min(max(wait, 0.001), _LOOK_UP))
        finally:
            self.owed -= owed

    def must_ask(self, url: str) -> bool:
        """Whether robots.txt has to be asked for first."""
        return self._robots.known(url, self._now()) is None

    async def _allows(self, url: str) -> Reason | None:
        """What robots.txt says; it may have to be fetched first, by a passage of its own."""
        now = self._now()
        known = self._robots.known(url, now)
        if known is None:
            passage = self.passage("robots")
            try:
                reason = await self._robots.may(url, now, passage.enter)
            finally:
                passage.leave()
            known = self._robots.known(url, now)
        else:
            reason = None if known.rules.allows(url) else await self._robots.may(url, now)
        if known is not None and known.rules.delay is not None:
            self.heed(site_of(url), known.rules.delay)
        return Reason.STOPPING if reason is not None and self.stopping else reason

    def heed(self, site: str, delay: Seconds | None) -> None:
        """A Crawl-delay counts for the whole site; it only ever makes us slower."""
        if delay is not None and delay > self.delay_of(site):
            self._paced[site] = delay
            self._turn(site).slow(delay, self._not_before)
            self.on_pace(site, delay)

    def _turn(self, site: str) -> _Turn:
        turn = self._sites.get(site)
        if turn is None:
            _forget_idle(self._sites)
            turn = self._sites[site] = _Turn(self.delay_of(site))
            turn.free_at = self._not_before + turn.delay
        return turn

    async def _spread(self, url: str) -> None:
        """Requests to one address are kept apart, whatever sites they are for."""
        if not self._address_delay:
            return
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        address = await self._fetcher.address_of(parts.hostname or "", port)
        if address is None:
            return
        turn = self._addresses.get(address)
        if turn is None:
            _forget_idle(self._addresses)
            turn = self._addresses[address] = _Turn(self._address_delay)
        await turn.take()
        turn.leave()


class Passage:
    """The way out for one fetch. Call `leave` when it is over."""

    def __init__(self, door: Doorman, kind: str, paid: bool) -> None:
        self._door, self._kind, self._paid = door, kind, paid
        self._owed = False  # it had a token
        self._paid_at = asyncio.get_running_loop().time()
        self._held: _Turn | None = None
        self.requests = 0

    async def may(self, url: str) -> Reason | None:
        """Asked before each hop; comes back when the request may leave, or says why it may not."""
        self._release()
        if not self._door.territory.ours(site_of(url)):
            return Reason.ELSEWHERE
        if self._paid and self._door.must_ask(url):
            self._give_back()
        return await self._door._allows(url) or await self.enter(url)

    async def enter(self, url: str) -> Reason | None:
        """The same without a look at robots.txt, for robots.txt."""
        self._release()
        door = self._door
        if not door.territory.ours(site_of(url)):
            return Reason.ELSEWHERE
        turn = door._turn(site_of(url))
        if not turn.idle:
            self._give_back()
        await turn.take(lambda: door.stopping)
        self._held = turn
        if not door.stopping:
            await door._spread(url)
        if asyncio.get_running_loop().time() > self._paid_at + _STALE:
            self._give_back()
        if not self._paid:
            await door.token(self._owed)
        if door.stopping or not door.territory.holds():
            return Reason.STOPPING
        self._paid = self._owed = False
        self.requests += 1
        door.requests[self._kind if self.requests == 1 else "redirect"] += 1
        return None

    def leave(self) -> None:
        """It is over: the site rests from now; a token not used goes back."""
        self._release()
        self._give_back()

    def _give_back(self) -> None:
        """Others may use the token while we wait: one kept for long would leave beside those of then."""
        if self._paid:
            self._paid, self._owed = False, True
            self._door._bucket.give_back()

    def _release(self) -> None:
        if self._held is not None:
            self._held.leave()
            self._held = None


def _forget_idle(turns: dict[str, _Turn]) -> None:
    if len(turns) >= _MOST_IDLE:
        now = asyncio.get_running_loop().time()
        for key in [key for key, turn in turns.items() if not turn.lock.locked() and turn.free_at < now - _LOOK_UP]:
            del turns[key]
