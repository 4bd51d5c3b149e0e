"""Batches that count once, hints, subscriptions, and how far the webhook is."""

from dataclasses import replace

import pytest

from mayfly.core.model import DAY
from mayfly.store.hints import Hint, HintRow, NamedHub, Subscription
from mayfly.store.past import PastHint, PastPage
from mayfly.store.records import ClickRow, ClicksTaken, Hinted, NewSource, Retention
from mayfly.store.tables import clicks, hints


def rows(make, *numbers: int) -> list[ClickRow]:
    return [ClickRow(make.url(number), 100.0) for number in numbers]


def test_a_batch_counts_once_and_answers_the_same(store, make) -> None:
    store.commit(make.crawl(0, 50.0, 1))
    first = store.add_clicks(100.0, rows(make, 1, 1, 2), batch="a")
    assert first == ClicksTaken(2, 1)
    store.commit(make.crawl(0, 110.0, 1, 2))  # now the other page is known, too
    assert store.add_clicks(200.0, rows(make, 1, 1, 2), batch="a") == first
    assert store.add_clicks(200.0, rows(make, 1), batch="b") == ClicksTaken(1, 0)
    assert store.add_clicks(200.0, rows(make, 1)) == store.add_clicks(200.0, rows(make, 1)) == ClicksTaken(1, 0)
    assert (store.stats()["clicks"], store.stats()["clicks_unknown"]) == (5, 0)


def test_the_same_batch_from_many_at_once_counts_once(store, make) -> None:
    taken = store.together(*[("add_clicks", 100.0, rows(make, 1, 2), 1200.0, "a")] * 20)
    assert taken == [ClicksTaken(0, 2)] * 20
    assert store.stats()["clicks_unknown"] == 2


def test_ids_of_batches_are_forgotten_in_time_and_number(store, make, monkeypatch) -> None:
    store.add_clicks(1 * DAY, rows(make, 1), batch="old")
    store.add_clicks(9 * DAY, rows(make, 1), batch="new")
    assert store.prune(10 * DAY, Retention())["batches"] == 1
    monkeypatch.setattr(clicks, "_MOST_BATCHES", 2)
    for name in "cde":
        store.add_clicks(9 * DAY, rows(make, 1), batch=name)
    before = store.stats()["clicks_unknown"]
    for name in ("d", "e", "new"):
        store.add_clicks(9 * DAY, rows(make, 1), batch=name)
    assert store.stats()["clicks_unknown"] == before + 1


def test_hints_come_in_order_from_behind_a_cursor(store, make) -> None:
    assert store.hints_since(0) == ([], 0)
    store.add_hints(5.0, [HintRow(make.url(1), "page"), HintRow(make.url(2), "source", "websub")])
    found, cursor = store.hints_since(0)
    assert found == [Hint(1, 5.0, make.url(1), "page", "api"), Hint(2, 5.0, make.url(2), "source", "websub")]
    store.add_hints(6.0, [HintRow(make.url(3), "page", "indexnow")])
    assert store.hints_since(cursor) == ([Hint(3, 6.0, make.url(3), "page", "indexnow")], 3)
    assert store.hints_since(3) == ([], 3)


def test_hints_are_bounded_and_their_numbers_are_not_given_twice(store, make, monkeypatch) -> None:
    monkeypatch.setattr(hints, "_MOST_HINTS", 10)
    for at in range(5):
        store.add_hints(float(at), [HintRow(make.url(number), "page") for number in range(4)])
    assert [hint.id for hint in store.hints_since(0)[0]] == list(range(11, 21))
    assert store.prune(8 * DAY, Retention())["hints"] == 10
    store.add_hints(8 * DAY, [HintRow(make.url(1), "page")])
    assert store.hints_since(20)[1] == 21
    assert store.check() == []


def test_very_many_hints_come_in_parts(store, make, monkeypatch) -> None:
    monkeypatch.setattr(hints, "_AT_ONCE", 3)
    store.add_hints(1.0, [HintRow(make.url(number), "page") for number in range(5)])
    some, cursor = store.hints_since(0)
    rest, end = store.hints_since(cursor)
    assert (len(some), len(rest), end) == (3, 2, 5)


def test_subscriptions(store) -> None:
    callback = "https://we.example/api/websub/x1"
    asked = Subscription("x1", "https://a.example/feed", "https://hub.example/", callback, "secret", "asked", 5.0)
    store.keep_subscription(asked)
    assert store.subscription("x1") == asked
    assert store.subscription("x2") is None
    active = replace(asked, state="active", again_at=700.0, until=900.0, tries=2, failure="busy \ud83d")
    store.keep_subscription(active)
    assert store.subscriptions() == [replace(active, failure="busy ?")]


def test_a_subscription_is_changed_only_by_who_knows_it(store) -> None:
    asked = Subscription(
        "x1", "https://a.example/feed", "https://hub.example/", "https://we.example/", "s", "asked", 5.1
    )
    store.keep_subscription(asked)
    active, leaving = replace(asked, state="active", until=99.5), replace(asked, state="leaving")
    assert store.together(("change_subscription", asked, active), ("change_subscription", asked, leaving)) == [
        True,
        False,
    ]
    assert store.subscriptions() == [active]
    assert not store.change_subscription(leaving, None)
    assert store.change_subscription(active, None) and store.subscriptions() == []
    assert not store.change_subscription(active, asked)


def test_who_a_hub_tells_of_are_the_active_sources_that_name_it(store, make) -> None:
    hub = NamedHub("https://hub.example/", "https://a.example/feed")
    store.add_sources(1.0, [make.source(number) for number in range(1, 4)])
    for number, named in enumerate((hub, hub, NamedHub("https://other.example/", hub.topic), NamedHub())):
        store.commit(replace(make.crawl(number, 5.0, 1), hub=named))
    urls = [source.url for source in store.sources()]
    assert store.told_of(hub.topic, hub.hub) == urls[:2]
    assert store.named_hubs() == []  # of feeds alone
    store.commit(make.crawl(0, 6.0, 1))  # says nothing of it
    assert next((source.hub, source.topic) for source in store.sources()) == hub
    store.edit_source(0, state="retired")
    assert store.told_of(hub.topic, hub.hub) == urls[1:2]
    store.commit(replace(make.crawl(1, 6.0, 1), hub=NamedHub()))
    assert store.told_of(hub.topic, hub.hub) == store.told_of("", "") == []


def test_what_active_feeds_name_is_known_each_once(store, make) -> None:
    feeds = [NewSource(f"https://{make.site}/feed-{number}", "feed") for number in range(3)]
    numbers = store.add_sources(1.0, feeds)
    hub, other = (NamedHub(f"https://{name}.example/", "https://a.example/feed") for name in ("hub", "other"))
    for number, named in zip(numbers, (other, hub, hub), strict=True):
        store.commit(replace(make.crawl(number, 5.0, 1), hub=named))
    assert store.named_hubs() == [hub, other]
    store.edit_source(numbers[0], state="retired")
    assert store.named_hubs() == [hub]


@pytest.mark.parametrize("landed", [0, 7])
def test_how_far_the_webhook_is_never_goes_back(store, landed: int) -> None:
    assert store.sent() is None
    store.note_sent(landed)
    store.note_sent(landed + 2)
    store.note_sent(landed + 1)
    assert store.sent() == landed + 2


def test_a_hint_is_kept_in_order_with_the_pages_nobody_knew(store, make) -> None:
    store.commit(make.crawl(0, 50.0, 1, first=True))
    landed = store.commit(Hinted(0, 60.0, make.links(1, 2, 3)))
    assert [link.url for _, link in landed.new] == [make.url(2), make.url(3)]
    assert not store.commit(Hinted(0, 61.0, make.links(2, 3))).new  # and nothing is noted of it
    store.commit(Hinted(1, 70.0, calls=False))
    crawled = store.commit(make.crawl(0, 80.0, 1, 2))
    assert (crawled.new, crawled.known) == ([], [])
    new = [
        PastPage(page, make.site, None, rank, link.url, link.anchor, link.context)
        for rank, (page, link) in zip((2, 3), landed.new, strict=True)
    ]
    assert store.past(55.0)[:2] == [PastHint(60.0, 0, new, True), PastHint(70.0, 1, [], False)]
    assert [page.url for page in store.waiting()] == [make.url(1), make.url(2), make.url(3)]
    assert store.check() == []


def test_how_far_hints_were_taken_is_remembered(store) -> None:
    assert store.hints_cursor() == 0
    store.add_hints(10.0, [HintRow("https://a.example/x", "page"), HintRow("https://a.example/y", "page")])
    _, cursor = store.hints_since(0)
    store.hints_taken(cursor)
    assert store.hints_cursor() == cursor
    assert store.hints_since(cursor) == ([], cursor)
