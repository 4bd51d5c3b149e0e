"""A crawl that asks a hub, the hub that calls `mayfly serve`, and what becomes of it: three parties, real HTTP."""

import asyncio
import hashlib
import hmac
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest

from mayfly.cli.crawl import opened
from mayfly.core.model import DAY
from mayfly.crawl import hubs
from mayfly.crawl.crawler import Crawler
from mayfly.crawl.settings import Settings
from mayfly.store.hints import Subscription
from mayfly.store.records import NewSource
from mayfly.store.sqlite import SqliteStore
from mayfly.testing.messages import Line, Raw, Reply, Request
from mayfly.testing.server import Server, in_thread

FEED, TOPIC, HUB = "http://paper.test/feed.xml?all=1", "http://paper.test/feed.xml", "http://hub.test/push"


class Hub:
    """A hub that checks who asks before it answers, as the quickest do; `mood` says what it thinks of them."""

    def __init__(self) -> None:
        self.mood = "kind"
        self.asked: list[dict[str, str]] = []
        self.told: dict[str, dict[str, str]] = {}  # by callback
        self.answers: list[int] = []

    def __call__(self, request: Request) -> Reply:
        if request.method != "POST":
            return Reply(b"nobody forbids anything", 404, "text/plain")
        form = dict(parse_qsl(request.body.decode()))
        self.asked.append(form)
        if self.mood == "busy":
            return Reply(b"", 503)
        thread = threading.Thread(target=self._verify, args=[form])
        thread.start()
        thread.join(5.0)
        return Reply(b"", 202)

    def _verify(self, form: dict[str, str]) -> None:
        call = form["hub.callback"]
        said = {"hub.topic": form["hub.topic"], "hub.mode": form["hub.mode"], "hub.challenge": "say this"}
        if self.mood == "denies":
            said = {"hub.topic": form["hub.topic"], "hub.mode": "denied", "hub.reason": "not for you"}
        elif form["hub.mode"] == "subscribe":
            said["hub.lease_seconds"] = form["hub.lease_seconds"]
        answer = httpx.get(call, params=said, timeout=5.0, trust_env=False)
        self.answers.append(answer.status_code)
        if answer.status_code == 200 and answer.text == "say this":
            self.told.pop(call, None)
            if form["hub.mode"] == "subscribe":
                self.told[call] = form

    def publish(self, body: bytes = b"<rss/>") -> None:
        for call, form in self.told.items():
            signed = hmac.new(form["hub.secret"].encode(), body, hashlib.sha256).hexdigest()
            headers = {"X-Hub-Signature": f"sha256={signed}"}
            answer = httpx.post(call, content=body, headers=headers, timeout=5.0, trust_env=False)
            self.answers.append(answer.status_code)


class Paper:
    """A site with a feed, which names its hub in itself or in a header."""

    def __init__(self) -> None:
        self.hub, self.by_header = HUB, False

    def __call__(self, request: Request) -> Reply:
        if not request.target.startswith("/feed.xml"):
            return Reply(b"", 404)
        links = f'<atom:link rel="hub" href="{self.hub}"/><atom:link rel="self" href="{TOPIC}"/>'
        said = (("Link", f'<{self.hub}>; rel="hub", </feed.xml>; rel="self"'),) if self.by_header else ()
        body = f'<rss xmlns:atom="http://www.w3.org/2005/Atom"><channel>{"" if self.by_header else links}<title>{time.time()}</title></channel></rss>'  # noqa: E501
        return Reply(body.encode(), 200, "application/rss+xml", said)


class Town:
    """All of them, and the home."""

    def __init__(self, home: Path, server: Server, hub: Hub, paper: Paper) -> None:
        self.home, self.server, self.hub, self.paper = home, server, hub, paper

    def crawl(self, until: Callable[[SqliteStore], Awaitable[bool]], public_url: str, **more: Any) -> Crawler:
        """Crawl until the test has seen enough, in the store."""
        settings = Settings(
            budget=100.0, host_delay=0.01, address_delay=0.0, replan=1.0, fetch_seconds=5.0, warc=False,
            allow_private_addresses=("127.0.0.0/8",), record_every=0.2,
            public_url=public_url, **{"connect_to": tuple(self.server.connect_to_names), **more},
        )  # fmt: skip

        async def watch(crawler: Crawler) -> None:
            while not await until(crawler.parts.store):
                await asyncio.sleep(0.02)
            crawler.stop()

        async def work() -> Crawler:
            async with opened(self.home, settings) as crawler:
                watching = asyncio.ensure_future(watch(crawler))
                await crawler.run(20.0)
                assert watching.done(), "it never came to that"
                await watching
                return crawler

        return asyncio.run(work())

    def ask(self, work: Callable[[SqliteStore], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            async with SqliteStore(self.home / "mayfly.db") as store:
                return await work(store)

        return asyncio.run(main())

    @property
    def kept(self) -> list[Subscription]:
        return self.ask(lambda store: store.subscriptions())


def states(*wanted: str) -> Callable[[SqliteStore], Awaitable[bool]]:
    async def hold(store: SqliteStore) -> bool:
        return [one.state for one in await store.subscriptions()] == [*wanted]

    return hold


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    monkeypatch.setattr(hubs, "_LOOK", 0.05)
    monkeypatch.setattr(hubs, "HEEDED", 0.0)
    hub, paper = Hub(), Paper()
    with in_thread(Server({"paper.test": paper, "hub.test": hub})) as server:
        made = Town(tmp_path, server, hub, paper)
        made.ask(lambda store: store.add_sources(time.time(), [NewSource(FEED, "feed")]))
        yield made


def test_a_hub_is_asked_calls_back_tells_us_and_is_left(town: Town, serving) -> None:
    with serving(town.home) as running:
        url = running.url.rstrip("/")
        crawler = town.crawl(states("active"), url)
        [asked], [kept] = town.hub.asked, town.kept
        assert asked == {
            "hub.mode": "subscribe", "hub.topic": TOPIC, "hub.callback": f"{url}/api/websub/{kept.id}",
            "hub.secret": kept.secret, "hub.lease_seconds": "864000",
        }  # fmt: skip
        assert len(kept.id) >= 32 and len(kept.secret) >= 32
        assert abs(kept.until - time.time() - 10 * DAY) < 60
        assert crawler.parts.door.requests["hub"] == 1
        town.hub.publish()
        found, _ = town.ask(lambda store: store.hints_since(0))
        assert [(hint.url, hint.kind, hint.via) for hint in found] == [(FEED, "source", "websub")]

        # The lease comes to its end.
        town.ask(lambda store: store.change_subscription(kept, replace(kept, again_at=0.0, until=time.time() + 60)))

        async def renewed(store: SqliteStore) -> bool:
            [one] = await store.subscriptions()
            return one.until > time.time() + 9 * DAY

        town.crawl(renewed, url)
        assert [form["hub.mode"] for form in town.hub.asked] == ["subscribe", "subscribe"]
        assert town.kept[0].id == kept.id and town.hub.asked[0] == town.hub.asked[1]

        # The source is retired, and comes back.
        town.ask(lambda store: store.edit_source(0, state="retired", reason="a test"))
        town.crawl(states(), url)
        assert town.hub.asked[2] == {"hub.mode": "unsubscribe", "hub.topic": TOPIC, "hub.callback": kept.callback}
        assert town.hub.told == {}
        town.ask(lambda store: store.edit_source(0, state="active", reason=""))
        town.crawl(states("active"), url)
        assert town.kept[0].id != kept.id

        # Nobody can call us any more, as far as we know.
        town.crawl(states(), "")
        assert town.hub.asked[-1]["hub.mode"] == "unsubscribe" and town.hub.told == {}
        assert set(town.hub.answers) == {200, 202}


def test_a_feed_that_names_another_hub_and_one_that_denies(town: Town, serving) -> None:
    town.paper.by_header = True
    other = Hub()
    other.mood = "denies"
    town.server.sites["other.test"] = other
    with serving(town.home) as running:
        url = running.url.rstrip("/")
        town.crawl(states("active"), url)
        town.paper.hub = "http://other.test/"
        town.server.sites["other.test"] = other
        town.crawl(states("denied"), url)
        assert [form["hub.mode"] for form in town.hub.asked] == ["subscribe", "unsubscribe"]
        [kept] = town.kept
        assert (kept.hub, kept.failure, kept.until) == ("http://other.test/", "not for you", None)
        assert kept.again_at > time.time() + 6 * DAY and len(other.asked) == 1


def test_few_hubs_are_asked_at_once_and_a_slow_one_holds_up_nobody(town: Town) -> None:
    asking: list[int] = []
    most: list[int] = []

    def hub_of(number: int) -> Callable[[Request], Raw]:
        async def play(line: Line) -> None:
            asking.append(number)
            most.append(len(asking))
            await asyncio.sleep(60.0 if number == 0 else 0.2)
            asking.remove(number)
            await line.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")

        return lambda request: Raw(play)

    def feed_of(number: int) -> Callable[[Request], Reply]:
        said = (("Link", f"<http://hub-{number}.test/>; rel=hub"),)
        return lambda request: Reply(b"<rss><channel/></rss>", 200, "application/rss+xml", said)

    names = range(9)
    for number in names:
        town.server.sites |= {f"hub-{number}.test": hub_of(number), f"feed-{number}.test": feed_of(number)}
    found = [NewSource(f"http://feed-{number}.test/feed", "feed") for number in names]
    town.paper.hub = "http://hub-1.test/"
    town.ask(lambda store: store.add_sources(time.time(), found))
    town.crawl(lambda _: asyncio.sleep(0.0, len(most) > len(names)), "https://crawler.example")
    assert max(most) == hubs.AT_ONCE


async def failed(store: SqliteStore) -> bool:
    return any(one.failure for one in await store.subscriptions())


def test_a_hub_that_is_busy_is_left_alone(town: Town) -> None:
    town.hub.mood = "busy"
    town.crawl(failed, "https://crawler.example")
    [kept] = town.kept
    assert (kept.state, kept.failure, kept.tries, len(town.hub.asked)) == ("asked", "busy", 1, 1)
    assert kept.again_at > time.time() + 400
    town.paper.hub = "http://other.test/"
    town.server.sites["other.test"] = other = Hub()
    other.mood = "busy"
    town.crawl(lambda _: asyncio.sleep(0.0, bool(other.asked)), "https://crawler.example")
    assert len(town.hub.asked) == 1 and town.kept[0].hub == "http://other.test/"


@pytest.mark.parametrize("name", ["10.0.0.1", "private.test"])
def test_a_hub_at_a_private_address_is_never_asked(town: Town, name: str) -> None:
    town.server.sites[name] = town.hub
    town.paper.hub = f"http://{name}/"
    rules = [rule for rule in town.server.connect_to_names if not rule.startswith(name)]
    town.crawl(failed, "https://crawler.example", connect_to=(*rules, "private.test:80:10.0.0.1:80"))
    assert town.hub.asked == []
    [kept] = town.kept
    assert (kept.state, kept.failure) == ("asked", "forbidden-address")
    assert kept.again_at > time.time() + 0.9 * DAY
