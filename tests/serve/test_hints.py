"""Hints in: from programs, IndexNow pings and WebSub hubs."""

import asyncio
import hashlib
import hmac
import time

import pytest

from mayfly.store.hints import NamedHub, Subscription
from mayfly.store.records import Crawled, Memory
from mayfly.store.sqlite import SqliteStore

KEY = "a-key-of-a-site"
TOPIC = "https://paper.example/feed.xml"
HUB = "https://hub.example/"
SOURCE = "https://paper.example/"  # which says that hubs know it by that name
SECRET = "what only the hub knows"


@pytest.fixture
def since(kept):
    """What was hinted since the test began."""
    _, cursor = kept("hints_since", 0)
    return lambda: [(hint.url, hint.kind, hint.via) for hint in kept("hints_since", cursor)[0]]


def test_hints_are_kept_and_what_is_no_address_is_named(api, since) -> None:
    given = [{"url": "HTTP://paper.example:80/a#b"}, {"url": "https://paper.example/", "kind": "source"}, {"url": "x"}]
    answer = api.http.post("/api/hints", json=given)
    assert answer.json() == {"taken": 2, "bad": [{"row": 3, "reason": "url must be a web address"}]}
    assert since() == [("http://paper.example/a", "page", "api"), ("https://paper.example/", "source", "api")]


@pytest.mark.parametrize("body", [{}, [{}], [{"url": 5}], [{"url": "x", "kind": "site"}], [{"url": "x", "more": 1}], 5])
def test_hints_of_another_form_are_refused(api, since, body) -> None:
    answer = api.http.post("/api/hints", json=body)
    assert answer.status_code == 422 and answer.json()["error"].startswith("body")
    assert since() == []


def test_indexnow(api, since) -> None:
    assert api.http.get("/api/indexnow", params={"url": "https://paper.example/1", "key": KEY}).json()["taken"] == 1
    told = {"host": "paper.example", "key": KEY, "urlList": ["https://paper.example/2", "https://other.example/3"]}
    assert api.http.post("/api/indexnow", json=told).json() == {
        "taken": 1,
        "bad": [{"row": 2, "reason": "is no address of this host"}],
    }
    assert since() == [(f"https://paper.example/{number}", "page", "indexnow") for number in (1, 2)]


def test_indexnow_needs_a_key_that_is_known(api, since) -> None:
    for key in ("a-key-of-another", KEY.upper()):
        answer = api.http.get("/api/indexnow", params={"url": "https://paper.example/1", "key": key})
        assert answer.status_code == 403
        told = {"host": "paper.example", "key": key, "urlList": []}
        assert api.http.post("/api/indexnow", json=told).status_code == 403
    assert since() == []


@pytest.fixture
def subscribed(home):
    """Keeps a subscription, and says what became of it."""

    def keep(state: str, id: str = "x1") -> Subscription:
        made = Subscription(id, TOPIC, HUB, f"https://we.example/api/websub/{id}", SECRET, state, time.time(), tries=2)

        async def main() -> None:
            async with SqliteStore(home / "mayfly.db") as store:
                await store.keep_subscription(made)
                await store.commit(Crawled(0, 100.0, 304, 0.1, 0, Memory(), None, hub=NamedHub(HUB, TOPIC)))

        asyncio.run(main())
        return made

    return keep


def ask(api, mode: str, topic: str = TOPIC, **more):
    params = {"hub.mode": mode, "hub.topic": topic, "hub.challenge": "c<h>&", **more}
    return api.http.get("/api/websub/x1", params=params)


def test_a_hub_is_told_what_we_meant(api, kept, subscribed) -> None:
    subscribed("asked")
    answer = ask(api, "subscribe", **{"hub.lease_seconds": 3600})
    assert (answer.status_code, answer.text) == (200, "c<h>&")
    assert answer.headers["Content-Type"].startswith("text/plain")
    now = kept("subscription", "x1")
    assert now.state == "active" and abs(now.until - time.time() - 3600) < 60
    assert now.asked_at + 600 <= now.again_at < now.until and now.tries == 0
    assert ask(api, "subscribe", topic="https://other.example/").status_code == 404
    assert ask(api, "unsubscribe").status_code == 404
    subscribed("leaving")
    assert ask(api, "subscribe").status_code == 404
    assert ask(api, "unsubscribe").text == "c<h>&"
    assert kept("subscription", "x1") is None
    subscribed("asked")
    assert ask(api, "denied", **{"hub.reason": "not\n you"}).status_code == 200
    now = kept("subscription", "x1")
    assert (now.state, now.failure, now.until) == ("denied", "not you", None) and now.again_at > time.time() + 86400
    assert api.http.get("/api/websub/y", params={"hub.mode": "subscribe", "hub.topic": TOPIC}).status_code == 404


@pytest.mark.parametrize(
    ("header", "method"),
    [("X-Hub-Signature-256", "sha256"), ("X-Hub-Signature", "sha256"), ("X-Hub-Signature", "sha1")],
)
def test_a_signed_notification_is_a_hint(api, since, subscribed, header, method) -> None:
    subscribed("active")
    body = b"<feed/>"
    right = hmac.new(SECRET.encode(), body, method).hexdigest()
    answer = api.http.post("/api/websub/x1", content=body, headers={header: f"{method}={right}"})
    assert answer.status_code == 202
    assert since() == [(SOURCE, "source", "websub")]


def test_a_notification_that_is_not_signed_well_is_none(api, since, subscribed) -> None:
    subscribed("active")
    body = b"<feed/>"
    of_another = hmac.new(SECRET.encode(), b"<feed />", hashlib.sha256).hexdigest()
    for said in ("", "sha256=", "sha1=", f"sha256={of_another}", "md5=x", "sha256=é"):
        headers = {"X-Hub-Signature": said.encode()}
        assert api.http.post("/api/websub/x1", content=body, headers=headers).status_code == 403
    assert since() == []
