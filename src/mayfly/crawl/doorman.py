"""Nothing leaves without him: robots.txt is asked, the site's pause and the address's are kept, the budget is paid.

Every request of a crawl goes through a `Passage`: pages and sources, each hop of their redirects, robots.txt, what the
finder asks. The scheduler knows of pauses, too, and gives out no fetch of a site that rests; but only here it is held,
for a redirect may lead to any site. All pauses run by the monotonic clock.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

from mayfly.core.model import Seconds
from mayfly.core.politeness import Bucket
from mayfly.fetch.http import Fetcher
from mayfly.fetch.reasons import Reason
from mayfly.fetch.robots import Robots
from mayfly.urls import site_of

_MOST_IDLE = 10_000  # sites and addresses remembered although nothing is asked of them now


class _Turn:
    """One at a time, and a pause after each."""

    __slots__ = ("delay", "free_at", "lock")

    def __init__(self, delay: Seconds) -> None:
        self.lock = asyncio.Lock()
        self.delay = delay
        self.free_at: Seconds = 0.0

    async def take(self) -> None:
        await self.lock.acquire()
        try:
            loop = asyncio.get_running_loop()
            while (wait := self.free_at - loop.time()) > 0:  # it may be put off while we wait
                await asyncio.sleep(min(wait, 1.0) + 0.001)
        except BaseException:
            self.lock.release()
            raise

    def leave(self) -> None:
        self.free_at = max(self.free_at, asyncio.get_running_loop().time() + self.delay)
        self.lock.release()

    @property
    def idle(self) -> bool:
        return not self.lock.locked() and self.free_at < asyncio.get_running_loop().time()


class Doorman:
    """Who may ask whom, and when."""

    def __init__(
        self, fetcher: Fetcher, robots: Robots, bucket: Bucket, now: Callable[[], Seconds], host_delay: Seconds,
        address_delay: Seconds,
    ) -> None:  # fmt: skip
        self._fetcher, self._robots, self._bucket, self._now = fetcher, robots, bucket, now
        self._host_delay, self._address_delay = host_delay, address_delay
        self._sites: dict[str, _Turn] = {}
        self._addresses: dict[str, _Turn] = {}
        self._paced: dict[str, Seconds] = {}  # sites whose robots.txt asks for another pause
        self._not_before: Seconds = -1.0  # pauses of sites asked by an earlier run begin here
        self.stopping = False
        self.requests: Counter[str] = Counter()  # by kind of passage
        self.on_pace: Callable[[str, Seconds], None] = lambda site, delay: None

    def passage(self, kind: str, paid: bool = False) -> Passage:
        """For one fetch and all its hops. `paid`: the first request has its token already."""
        return Passage(self, kind, paid)

    def rest(self, site: str, seconds: Seconds) -> None:
        """Leave a site alone for a while."""
        turn = self._turn(site)
        turn.free_at = max(turn.free_at, asyncio.get_running_loop().time() + seconds)

    def rest_all(self) -> None:
        """Another run may have asked any site until just now."""
        self._not_before = asyncio.get_running_loop().time()

    def delay_of(self, site: str) -> Seconds:
        """The pause a site gets."""
        return self._paced.get(site, self._host_delay)

    async def token(self) -> None:
        """Wait until the budget allows one more request."""
        loop = asyncio.get_running_loop()
        while not self._bucket.take(loop.time()):
            await asyncio.sleep(max(self._bucket.next_token(loop.time()) - loop.time(), 0.001))

    async def _allows(self, url: str) -> Reason | None:
        """What robots.txt says; it may have to be fetched first, by a passage of its own."""
        now = self._now()
        known = self._robots.known(url, now)
        if known is None:
            passage = self.passage("robots")
            try:
                rules = await self._robots.rules(url, now, passage.enter)
            finally:
                passage.leave()
            self._heed(site_of(url), rules.delay)
        elif known.rules.allows(url):
            if known.rules.delay is not None:
                self._heed(site_of(url), known.rules.delay)
            return None
        return await self._robots.may(url, now)

    def _heed(self, site: str, delay: Seconds | None) -> None:
        """A Crawl-delay counts for the whole site; it only ever makes us slower."""
        if delay is not None and delay > self.delay_of(site):
            self._paced[site] = delay
            turn = self._turn(site)
            turn.delay = delay
            turn.free_at = max(turn.free_at, self._not_before + delay)
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
        self._held: _Turn | None = None
        self.requests = 0

    async def may(self, url: str) -> Reason | None:
        """Asked before each hop; comes back when the request may leave, or says why it may not."""
        self._release()
        return await self._door._allows(url) or await self.enter(url)

    async def enter(self, url: str) -> Reason | None:
        """The same without a look at robots.txt, for robots.txt."""
        self._release()
        door = self._door
        turn = door._turn(site_of(url))
        await turn.take()
        self._held = turn
        await door._spread(url)
        if door.stopping:
            return Reason.STOPPING
        if not self._paid:
            await door.token()
        self._paid = False
        self.requests += 1
        door.requests[self._kind if self.requests == 1 else "redirect"] += 1
        return None

    def leave(self) -> None:
        """It is over: the site rests from now; a token not used goes back."""
        self._release()
        if self._paid:
            self._paid = False
            self._door._bucket.give_back()

    def _release(self) -> None:
        if self._held is not None:
            self._held.leave()
            self._held = None


def _forget_idle(turns: dict[str, _Turn]) -> None:
    if len(turns) >= _MOST_IDLE:
        for key in [key for key, turn in turns.items() if turn.idle]:
            del turns[key]
