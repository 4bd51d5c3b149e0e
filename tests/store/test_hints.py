"""Batches that count once, hints, subscriptions, and how far the webhook is."""

import pytest

from mayfly.core.model import DAY
from mayfly.store.hints import Hint, HintRow, Subscription
from mayfly.store.records import ClickRow, ClicksTaken, Hinted, PastHint, Retention
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
    asked = Subscription("x1", "https://a.example/feed", "https://hub.example/", "secret", "asked", 5.0)
    store.keep_subscription(asked)
    assert store.subscription("x1") == asked
    assert store.subscription("x2") is None
    active = Subscription("x1", asked.topic, asked.hub, asked.secret, "active", 5.0, 900.0)
    store.keep_subscription(active)
    assert store.subscriptions() == [active]


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
    new = [(page, make.site, None, rank) for rank, (page, _) in zip((2, 3), landed.new, strict=True)]
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
