"""Hubs that tell us when a feed changes (WebSub): which are asked, when again, and what they are asked.

What is wanted is what active feeds name; what there is, the store keeps. `due` compares the two: a subscription is
asked for, renewed before it ends, asked for again after a failure or silence with growing patience, and left when no
feed wants it or we are no longer reached where the hub calls. It is kept as asked before the request leaves, for the
hub may call `mayfly serve` before it has answered us. From then on both write, so neither writes over what it has not
seen.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from mayfly.core.model import DAY, HOUR, MINUTE, WEEK, Seconds
from mayfly.crawl.parts import Parts
from mayfly.crawl.watched import Watched
from mayfly.fetch.answers import Failed, Response
from mayfly.fetch.document import Document
from mayfly.fetch.link_header import linked
from mayfly.fetch.reasons import Reason
from mayfly.store.hints import NO_HUB, NamedHub, Subscription, SubscriptionState
from mayfly.urls import site_of

MOST_SUBSCRIPTIONS = 10_000
AT_ONCE = 4  # requests to hubs, each to another site
LEASE: Seconds = 10 * DAY  # that we ask for; a hub may grant another
FAREWELLS = 3  # requests to be let go; then the lease just ends
_PATH = "/api/websub/"
_RENEWED = 0.75  # of a lease is over when it is renewed
_FIRST_PATIENCE: Seconds = 10 * MINUTE
_LONGEST_PATIENCE: Seconds = WEEK
_REFUSED_PATIENCE: Seconds = DAY  # where asking again soon would help nobody
_LONGEST_REST: Seconds = MINUTE  # of a site; those that must be left alone for longer are not waited for
_LOOK: Seconds = 5.0  # so often at most,
_SOURCES_PER_SECOND = 10_000  # for a look at a million takes a tenth of a second
HEEDED: Seconds = HOUR  # a feed that names another hub sooner is not heeded
log = logging.getLogger("mayfly")


class Step(NamedTuple):
    """Something to be done about a subscription."""

    do: Literal["subscribe", "unsubscribe", "forget"]
    hub: NamedHub
    was: Subscription | None  # None: there is none yet


def named(source: Watched, answer: Response, document: Document | None, now: Seconds) -> NamedHub | None:
    """The hub a feed names now, by its headers or in itself; None: nothing is to be noted."""
    if source.kind != "feed" or document is None or document.kind != "feed":
        return None
    hub = next(iter([*linked(answer.headers, "hub", answer.url), *document.hubs]), "")
    topic = next(iter(linked(answer.headers, "self", answer.url)), document.topic) or source.url
    found = NamedHub(hub, topic) if hub else NO_HUB
    return None if found == source.hub or now - source.hub_since < HEEDED else found


def wanted(names: Iterable[NamedHub], ours: Callable[[str], bool]) -> list[NamedHub]:
    """What feeds name, where the hub's site is ours to ask."""
    return [name for name in names if ours(site_of(name.hub))][:MOST_SUBSCRIPTIONS]


def due(wants: Sequence[NamedHub], kept: Sequence[Subscription], public_url: str, now: Seconds) -> list[Step]:
    """What is to be done now; farewells last, for nobody waits for them."""
    open_ = dict.fromkeys(wants)
    first: list[Step] = []
    last: list[Step] = []
    for one in kept:
        name = NamedHub(one.hub, one.topic)
        if name in open_ and one.callback == callback(public_url, one.id):
            del open_[name]
            if one.state == "leaving" or one.again_at <= now:
                first.append(Step("subscribe", name, one))
        elif _is_over(one, now):
            last.append(Step("forget", name, one))
        elif one.state != "leaving" or one.again_at <= now:
            last.append(Step("unsubscribe", name, one))
    room = max(MOST_SUBSCRIPTIONS - len(kept), 0)
    return [*first, *(Step("subscribe", name, None) for name in list(open_)[:room]), *last]


def _is_over(one: Subscription, now: Seconds) -> bool:
    """Whether a hub need not be told that we want nothing more of it."""
    if one.until is None:
        never = one.state == "denied" or (one.state == "asked" and one.failure != "")
    else:
        never = one.until < now
    return never or (one.state == "leaving" and one.tries >= FAREWELLS and one.again_at <= now)


def callback(public_url: str, id: str) -> str:
    """The address a hub calls.

    >>> callback("https://crawler.example/mayfly/", "x1")
    'https://crawler.example/mayfly/api/websub/x1'
    """
    return public_url.rstrip("/") + _PATH + id


def patience(tries: int) -> Seconds:
    """How long to wait for a hub's word after so many requests.

    >>> [patience(tries) / MINUTE for tries in (1, 2, 3, 100)]
    [10.0, 40.0, 160.0, 10080.0]
    """
    return float(min(_FIRST_PATIENCE * 4.0 ** min(tries - 1, 20), _LONGEST_PATIENCE))


def asked(step: Step, public_url: str, now: Seconds, luck: random.Random) -> Subscription:
    """The subscription as it is kept while the hub is asked."""
    was = step.was or _new(step.hub, public_url, now)
    tries = 1 if (was.state == "leaving") != (step.do == "unsubscribe") else was.tries + 1
    state: SubscriptionState = "leaving" if step.do == "unsubscribe" else "asked"
    if step.do == "subscribe" and was.state == "active" and (was.until or 0.0) > now:
        state = "active"  # the hub goes on telling us meanwhile
    again_at = now + patience(tries) * luck.uniform(0.8, 1.2)
    return replace(was, state=state, asked_at=now, again_at=again_at, tries=tries, failure="")


def _new(hub: NamedHub, public_url: str, now: Seconds) -> Subscription:
    id = secrets.token_urlsafe(24)
    return Subscription(id, hub.topic, hub.hub, callback(public_url, id), secrets.token_urlsafe(32), "asked", now)


def form(one: Subscription) -> dict[str, str]:
    """What the hub is sent."""
    said = {"hub.mode": "subscribe", "hub.topic": one.topic, "hub.callback": one.callback}
    if one.state == "leaving":
        return said | {"hub.mode": "unsubscribe"}
    return said | {"hub.secret": one.secret, "hub.lease_seconds": str(int(LEASE))}


def failed(one: Subscription, failure: Failed, now: Seconds) -> Subscription | None:
    """What is kept after a request that the hub did not take; None: it is forgotten."""
    if one.state == "leaving" and not failure.reason.again:
        return None
    wait = max(0.0 if failure.reason.again else _REFUSED_PATIENCE, failure.retry_after or 0.0)
    return replace(one, again_at=max(one.again_at, now + wait), failure=str(failure.reason))


# What a hub says, to `mayfly serve`


def confirmed(one: Subscription, now: Seconds, lease: Seconds) -> Subscription:
    """The hub tells us from now on, for so long."""
    again_at = now + max(_RENEWED * lease, _FIRST_PATIENCE)
    return replace(one, state="active", until=now + lease, again_at=again_at, tries=0, failure="")


def denied(one: Subscription, now: Seconds, why: str) -> Subscription:
    """The hub will not have us. It may think better of it."""
    return replace(one, state="denied", until=None, again_at=now + _LONGEST_PATIENCE, failure=why or "denied")


class Hubs:
    """Asks hubs, some at a time, as long as it runs."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._busy: set[str] = set()  # sites of hubs that are being asked

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                named = await self._look(group)
                await asyncio.sleep(max(_LOOK, named / _SOURCES_PER_SECOND))

    async def _look(self, group: asyncio.TaskGroup) -> int:
        """See to what is due; of how many sources that name a hub."""
        parts, public_url = self._parts, self._parts.settings.public_url
        busy = set(self._busy)  # what they do may be kept while we read, or after
        kept = await parts.store.subscriptions()
        names = await parts.store.named_hubs() if public_url else []  # nobody can call us
        wants = wanted(names, parts.door.territory.ours)
        for step in due(wants, kept, public_url, parts.clock.now()):
            site = site_of(step.hub.hub)
            if step.was is not None and step.do == "forget":
                await parts.store.change_subscription(step.was, None)
            elif len(self._busy) < AT_ONCE and site not in busy | self._busy and self._is_near(site):
                self._busy.add(site)
                group.create_task(self._ask(step, site))
        return len(names)

    def _is_near(self, site: str) -> bool:
        return self._parts.door.rests(site) <= _LONGEST_REST

    async def _ask(self, step: Step, site: str) -> None:
        try:
            await self._carry_out(step)
        finally:
            self._busy.discard(site)

    async def _carry_out(self, step: Step) -> None:
        parts = self._parts
        now = asked(step, parts.settings.public_url, parts.clock.now(), parts.luck)
        if step.was is None:
            await parts.store.keep_subscription(now)
        elif not await parts.store.change_subscription(step.was, now):
            return
        answer = await parts.visitor.post(now.hub, form(now))
        if not isinstance(answer, Failed):
            return
        if answer.reason is Reason.STOPPING:
            await parts.store.change_subscription(now, step.was)
            return
        log.info("the hub %s did not take what we asked of %s: %s", now.hub, now.topic, answer.reason)
        await parts.visitor.rest(answer, parts.clock.now())
        await parts.store.change_subscription(now, failed(now, answer, parts.clock.now()))
