"""Which hubs are asked, when again, and when they are left: decided without a hub."""

import random
from dataclasses import replace

import pytest

from mayfly.core.model import DAY, HOUR, MINUTE, WEEK
from mayfly.crawl import hubs
from mayfly.crawl.watched import Watched
from mayfly.fetch.answers import Failed, Response
from mayfly.fetch.document import Document
from mayfly.fetch.reasons import Reason
from mayfly.fetch.validators import UNKNOWN
from mayfly.store.hints import NO_HUB, NamedHub, Subscription

NOW = 1_000_000.0
WE = "https://we.example"
URL = "https://paper.example/feed"
NAMED = NamedHub("https://hub.example/", URL)


def all_ours(site: str) -> bool:
    return True


def source(hub: NamedHub = NO_HUB, **other) -> Watched:
    said = {"kind": "feed", "active": True, "pinned": None, "hub": hub, **other}
    return Watched(0, 0, URL, "paper.example", validators=UNKNOWN, crawls=1, failures=0, failure="", unchanged=0,
                   last_new=None, found_at=0.0, **said)  # fmt: skip


def kept(state: str, id: str = "x1", named: NamedHub = NAMED, **other) -> Subscription:
    made = Subscription(id, named.topic, named.hub, hubs.callback(WE, id), "secret", state, NOW - HOUR, NOW + HOUR)
    return replace(made, **other)


def steps(wants: list[NamedHub], *have: Subscription, url: str = WE) -> list[tuple[str, str | None]]:
    return [(step.do, step.was and step.was.id) for step in hubs.due(wants, have, url, NOW)]


def answer(*headers: tuple[str, str], url: str = URL) -> Response:
    return Response(URL, url, 200, headers, b"", 0, NOW, 0.1, 0, "")


@pytest.mark.parametrize(
    ("headers", "read", "found"),
    [
        ((), {}, None),
        ((), {"hubs": ("https://hub.example/", "https://b.example/")}, NAMED),
        ((), {"hubs": ("https://hub.example/",), "topic": "https://p.example/f"}, NAMED._replace(topic="https://p.example/f")),
        ((("Link", '<https://h.example/>; rel="hub"'),), {"hubs": ("https://hub.example/",)}, NAMED._replace(hub="https://h.example/")),
        ((("link", "<https://hub.example/>; rel=hub, </x>; rel=self"),), {}, NAMED._replace(topic="https://paper.example/x")),
        ((("Link", "</x>; rel=self"),), {}, None),
    ],
)  # fmt: skip
def test_what_a_feed_names(headers, read, found) -> None:
    assert hubs.named(source(), answer(*headers), Document("feed", URL, **read), NOW) == found


def test_what_says_nothing_of_hubs_changes_nothing() -> None:
    named = source(NAMED)
    assert hubs.named(named, answer(), None, NOW) is None
    assert hubs.named(named, answer(), Document("html", URL), NOW) is None
    assert (
        hubs.named(source(kind="front"), answer(), Document("feed", URL, hubs=("https://hub.example/",)), NOW) is None
    )
    assert hubs.named(named, answer(), Document("feed", URL), NOW) == NO_HUB


def test_a_feed_that_names_another_hub_all_the_time_is_not_heeded() -> None:
    fickle = source(NAMED, hub_since=NOW)
    other = Document("feed", URL, hubs=("https://other.example/",))
    assert hubs.named(fickle, answer(), other, NOW + 0.9 * HOUR) is None
    assert hubs.named(fickle, answer(), other, NOW + 1.1 * HOUR) == NAMED._replace(hub="https://other.example/")


def test_wanted_is_what_feeds_name_where_the_hub_is_ours_to_ask() -> None:
    far = NAMED._replace(hub="https://far.example/")
    assert hubs.wanted([NAMED, far], all_ours) == [NAMED, far]
    assert hubs.wanted([NAMED, far], lambda site: site == "hub.example") == [NAMED]


@pytest.mark.parametrize(
    ("one", "does"),
    [
        (kept("asked"), []),
        (kept("asked", again_at=NOW), [("subscribe", "x1")]),
        (kept("active", until=NOW + DAY), []),
        (kept("active", until=NOW + DAY, again_at=NOW - 1), [("subscribe", "x1")]),
        (kept("denied"), []),
        (kept("denied", again_at=NOW), [("subscribe", "x1")]),
        (kept("leaving"), [("subscribe", "x1")]),
        (kept("active", callback="https://b.example/api/websub/x1"), [("subscribe", None), ("unsubscribe", "x1")]),
    ],
)  # fmt: skip
def test_what_is_wanted_is_asked_for_in_time(one, does) -> None:
    assert steps([NAMED], one) == does


@pytest.mark.parametrize(
    ("one", "does"),
    [
        (kept("asked"), "unsubscribe"),  # the hub may have heard us
        (kept("asked", failure="dns"), "forget"),
        (kept("active", until=NOW + DAY), "unsubscribe"),
        (kept("active", until=NOW - 1), "forget"),
        (kept("denied"), "forget"),
        (kept("leaving", until=NOW + DAY, tries=1), None),
        (kept("leaving", until=NOW + DAY, tries=1, again_at=NOW), "unsubscribe"),
        (kept("leaving", until=NOW + DAY, tries=hubs.FAREWELLS), None),
        (kept("leaving", until=NOW + DAY, tries=hubs.FAREWELLS, again_at=NOW), "forget"),
    ],
)
def test_what_is_not_wanted_is_left(one, does) -> None:
    assert steps([], one) == steps([], one, url="") == ([(does, "x1")] if does else [])


def test_at_most_one_for_a_topic_and_hub_and_a_bound_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert steps([NAMED, NAMED]) == [("subscribe", None)]
    twice = kept("active", until=NOW + DAY), kept("active", "x2", until=NOW + DAY)
    assert steps([NAMED], *twice) == [("unsubscribe", "x2")]
    monkeypatch.setattr(hubs, "MOST_SUBSCRIPTIONS", 3)
    many = [NamedHub("https://hub.example/", f"https://paper.example/{number}") for number in range(9)]
    assert len(hubs.wanted(many, all_ours)) == 3
    assert steps(many, *twice) == [("subscribe", None), ("unsubscribe", "x1"), ("unsubscribe", "x2")]


def test_a_silent_hub_is_asked_with_growing_patience() -> None:
    luck, one, waits = random.Random(1), None, []
    for _ in range(8):
        one = hubs.asked(hubs.Step("subscribe", NAMED, one), WE, NOW, luck)
        waits.append((one.again_at - NOW) / MINUTE)
    assert one is not None and (one.state, one.tries) == ("asked", 8)
    assert (
        8 <= waits[0] <= 12
        and 32 <= waits[1] <= 48
        and all(0.8 * 7 * 1440 <= wait <= 1.2 * 7 * 1440 for wait in waits[-2:])
    )
    assert hubs.form(one) == {
        "hub.mode": "subscribe", "hub.topic": URL, "hub.callback": f"{WE}/api/websub/{one.id}",
        "hub.secret": one.secret, "hub.lease_seconds": "864000",
    }  # fmt: skip


def test_while_it_is_renewed_it_holds() -> None:
    luck = random.Random(1)
    one = hubs.asked(hubs.Step("subscribe", NAMED, kept("active", until=NOW + 1)), WE, NOW, luck)
    assert (one.state, one.until, one.id, one.tries) == ("active", NOW + 1, "x1", 1)
    late = hubs.asked(hubs.Step("subscribe", NAMED, one), WE, NOW + 2, luck)
    assert (late.state, late.tries) == ("asked", 2)
    again = hubs.confirmed(late, NOW, 10 * DAY)
    assert (again.state, again.until, again.tries) == ("active", NOW + 10 * DAY, 0)
    assert NOW + 7 * DAY < again.again_at < NOW + 8 * DAY
    assert hubs.confirmed(late, NOW, 1.0).again_at == NOW + 10 * MINUTE  # a hub cannot make us ask all the time


def test_a_farewell_counts_for_itself() -> None:
    luck = random.Random(1)
    one = hubs.asked(hubs.Step("unsubscribe", NAMED, kept("asked", tries=5)), "", NOW, luck)
    assert (one.state, one.tries, one.callback) == ("leaving", 1, f"{WE}/api/websub/x1")
    assert hubs.form(one) == {"hub.mode": "unsubscribe", "hub.topic": URL, "hub.callback": one.callback}
    back = hubs.asked(hubs.Step("subscribe", NAMED, one), WE, NOW, luck)
    assert (back.state, back.tries) == ("asked", 1)


def test_failures() -> None:
    def failure(reason: Reason, **more) -> Failed:
        return Failed("", "", reason, "", NOW, 0.1, 1, **more)

    one = kept("asked", again_at=NOW + 600)
    assert hubs.failed(one, failure(Reason.DNS), NOW) == replace(one, failure="dns")
    assert hubs.failed(one, failure(Reason.BUSY, retry_after=900.0), NOW).again_at == NOW + 900
    assert hubs.failed(one, failure(Reason.REFUSED), NOW).again_at == NOW + DAY
    leaving = kept("leaving")
    assert hubs.failed(leaving, failure(Reason.TIMEOUT), NOW) == replace(leaving, failure="timeout")
    assert hubs.failed(leaving, failure(Reason.NOT_FOUND), NOW) is None
    assert hubs.denied(kept("active"), NOW, "") == replace(
        kept("active"), state="denied", again_at=NOW + WEEK, failure="denied"
    )
