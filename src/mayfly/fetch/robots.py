"""robots.txt by RFC 9309: what it says to us, and when it must be asked again.

Protego reads the rules. It is told only of groups that mean us or all: names are compared whole here, for `Foo` must
not catch `FooBot`, and `FooBot/1.2` means `FooBot`.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import urlsplit

from protego import Protego

from mayfly.core.model import DAY, HOUR, Seconds
from mayfly.fetch.answers import DEFAULT_LIMITS, Failed, Limits, Response
from mayfly.fetch.reasons import Reason

READ_BYTES = 500 * 1024
LONGEST_DELAY: Seconds = 120.0  # a longer Crawl-delay is cut to this
KEPT: Seconds = DAY
SERVES: Seconds = DAY  # longer, while it cannot be had
ASK_AGAIN: Seconds = HOUR  # after a failure
_MOST_HOSTS = 100_000
_AGENT_LINE = re.compile(r"[ \t]*user[ -]?agent(?:[ \t]*:|[ \t])([^#\r\n]*)", re.IGNORECASE)
_TOKEN = re.compile(r"[a-zA-Z_-]+")
_NOBODY = "~"  # in no product token
_NO_WAY_IN = {
    Reason.FORBIDDEN_ADDRESS,
    Reason.DNS,
    Reason.CONNECT,
    Reason.CONNECT_TIMEOUT,
    Reason.TLS,
    Reason.STOPPING,
}  # for any URL


class Rules:
    """What one robots.txt says to us."""

    def __init__(self, text: str, agent: str) -> None:
        self._agent = agent.lower()
        self._parsed = Protego.parse(_addressed(text, self._agent))
        self.sitemaps = tuple(self._parsed.sitemaps)
        delay = self._parsed.crawl_delay(self._agent)
        sound = delay is not None and math.isfinite(delay) and delay > 0
        self.asked_delay: Seconds | None = float(delay or 0.0) if sound else None

    @property
    def delay(self) -> Seconds | None:
        """Crawl-delay, within reason."""
        return None if self.asked_delay is None else min(self.asked_delay, LONGEST_DELAY)

    def allows(self, url: str) -> bool:
        """Whether we may fetch this URL."""
        return bool(self._parsed.can_fetch(url, self._agent))


def read_rules(body: bytes, agent: str) -> Rules:
    """Rules from the bytes of a robots.txt; what is beyond half a megabyte is not read.

    >>> rules = read_rules(b"User-agent: mayfly\\nDisallow: /private\\nCrawl-delay: 2.5", "mayfly")
    >>> rules.allows("https://example.com/private/x"), rules.allows("https://example.com/"), rules.delay
    (False, True, 2.5)
    """
    head = body[:READ_BYTES]
    if len(body) > READ_BYTES:  # the last line may be cut in half, and half a path forbids too much
        head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]
    return Rules(head.decode("utf-8", "replace"), agent)


def _addressed(text: str, agent: str) -> str:
    """The same text with every User-agent line reduced to us, all, or nobody."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(_AGENT_LINE.sub(lambda found: _addressee(found[1], agent), line, count=1)
                     if _AGENT_LINE.match(line) else line for line in lines)  # fmt: skip


def _addressee(value: str, agent: str) -> str:
    value = value.strip()
    token = _TOKEN.match(value)
    if value == "*" or value.startswith(("* ", "*\t")):
        name = "*"
    else:
        name = agent if token and token[0].lower() == agent else _NOBODY
    return f"User-agent: {name}"


ALLOW_ALL = Rules("", "")
DISALLOW_ALL = Rules("User-agent: *\nDisallow: /", "")


class Fetches(Protocol):
    """The part of `Fetcher` that is needed here."""

    def fetch(
        self,
        url: str,
        *,
        accept: str = ...,
        limits: Limits | None = ...,
        may: Callable[[str], Awaitable[Reason | None]] | None = ...,
    ) -> Awaitable[Response | Failed]: ...


@dataclass(slots=True)
class Kept:
    """What is known of the robots.txt of one origin."""

    rules: Rules
    until: Seconds  # ask again then
    good_until: Seconds  # of the last good copy; failures beyond it close the site
    failed: Failed | None = None


class Robots:
    """The robots.txt of all origins, asked for when needed and kept for a day at most."""

    def __init__(
        self,
        fetcher: Fetches,
        agent: str,
        limits: Limits = DEFAULT_LIMITS,
        learned: Callable[[str, bytes | None, Seconds], None] | None = None,
        elsewhere: Callable[[str], Awaitable[tuple[bytes | None, Seconds] | None]] | None = None,
    ) -> None:
        """`learned` is told every good copy: its origin, the bytes (None: there is none), and when it came. `elsewhere`
        has the copy of an origin that is not ours to ask; None: nobody has one.
        """
        self._fetcher, self._elsewhere = fetcher, elsewhere
        self._learned = learned
        self._asking: dict[str, asyncio.Task[Kept]] = {}
        self._limits = replace(limits, wire_bytes=READ_BYTES + 1, body_bytes=READ_BYTES + 1, cut=True)
        self._agent = agent
        self._kept: OrderedDict[str, Kept] = OrderedDict()

    def known(self, url: str, now: Seconds) -> Kept | None:
        """What is known for the origin of `url`, if it need not be asked for again."""
        kept = self._kept.get(_origin(url))
        return kept if kept is not None and now < kept.until else None

    async def rules(
        self, url: str, now: Seconds, may: Callable[[str], Awaitable[Reason | None]] | None = None
    ) -> Rules:
        """The rules for the origin of `url`; fetched if they are not known, or too old."""
        return (await self._current(url, now, may)).rules

    async def _current(self, url: str, now: Seconds, may: Callable[[str], Awaitable[Reason | None]] | None) -> Kept:
        kept = self.known(url, now)
        if kept is None:
            origin = _origin(url)
            task = self._asking.get(origin)
            if task is None:  # asked for once, however many wait for it
                task = self._asking[origin] = asyncio.ensure_future(self._ask(origin, now, may))
                task.add_done_callback(lambda _: self._asking.pop(origin, None))
            kept = await asyncio.shield(task)
        return kept

    async def _ask(self, origin: str, now: Seconds, may: Callable[[str], Awaitable[Reason | None]] | None) -> Kept:
        answer = await self._fetcher.fetch(
            f"{origin}/robots.txt", accept="text/plain,*/*;q=0.5", limits=self._limits, may=may
        )
        if isinstance(answer, Failed) and answer.reason is Reason.ELSEWHERE:
            return await self._led_away(origin, answer.url, now)
        return self._learn(origin, answer, now)

    async def _led_away(self, origin: str, url: str, now: Seconds) -> Kept:
        """It leads to a site that another asks: what he keeps of it counts here, too; else there is none for now."""
        known = urlsplit(url).path == "/robots.txt" and self._elsewhere
        copy = await known(_origin(url)) if known else None
        if copy is None or now >= copy[1] + KEPT + SERVES:
            return self._keep(origin, Kept(ALLOW_ALL, now + ASK_AGAIN, now + KEPT + SERVES))
        if self._learned:
            self._learned(origin, copy[0], now)
        rules = ALLOW_ALL if copy[0] is None else read_rules(copy[0], self._agent)
        return self._keep(origin, Kept(rules, now + KEPT, now + KEPT + SERVES))

    def remember(self, origin: str, body: bytes | None, at: Seconds) -> Rules:
        """A copy from an earlier run; None: there was none."""
        rules = ALLOW_ALL if body is None else read_rules(body, self._agent)
        self._kept[origin] = Kept(rules, at + KEPT, at + KEPT + SERVES)
        return rules

    async def may(
        self, url: str, now: Seconds, may: Callable[[str], Awaitable[Reason | None]] | None = None
    ) -> Reason | None:
        """None if robots.txt allows this URL, else why not."""
        kept = await self._current(url, now, may)
        if kept.rules.allows(url):
            return None
        if kept.rules is not DISALLOW_ALL:
            return Reason.ROBOTS
        failed = kept.failed
        return failed.reason if failed and failed.reason in _NO_WAY_IN else Reason.ROBOTS_UNREACHABLE

    def _learn(self, origin: str, answer: Response | Failed, now: Seconds) -> Kept:
        old = self._kept.get(origin)
        if isinstance(answer, Response):
            kept = Kept(read_rules(answer.body, self._agent), now + KEPT, now + KEPT + SERVES)
            if self._learned:
                self._learned(origin, answer.body, now)
        elif answer.status is not None and 400 <= answer.status < 500 and answer.status != 429:
            kept = Kept(ALLOW_ALL, now + KEPT, now + KEPT + SERVES)
            if self._learned:
                self._learned(origin, None, now)
        else:
            good = old is not None and now < old.good_until and old.rules is not DISALLOW_ALL
            wait = min(max(answer.retry_after or ASK_AGAIN, 60.0), KEPT)
            rules = old.rules if old is not None and good else DISALLOW_ALL
            kept = Kept(rules, now + wait, old.good_until if old is not None and good else now, answer)
            if answer.reason is Reason.STOPPING:
                return kept  # nobody was asked, so nothing is known
        return self._keep(origin, kept)

    def _keep(self, origin: str, kept: Kept) -> Kept:
        self._kept[origin] = kept
        self._kept.move_to_end(origin)
        if len(self._kept) > _MOST_HOSTS:
            self._kept.popitem(last=False)
        return kept


def _origin(url: str) -> str:
    """The part of an absolute URL before its path."""
    return "/".join(url.split("/", 3)[:3])
