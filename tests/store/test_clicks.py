"""Clicks: by page and span of time, told once, of fetched pages only."""

import pytest

from mayfly.core.model import DAY
from mayfly.store.records import ClickRow, ClicksTaken, Retention


def told(store, cursor: int = 0) -> list[tuple[int, float, float]]:
    clicks, _ = store.clicks_since(cursor)
    return list(zip(clicks.page.tolist(), clicks.at.tolist(), clicks.number.tolist(), strict=True))


def with_pages(store, make):
    store.commit(make.crawl(0, 100.0, 1, 2, 3))
    store.commit(make.fetched(1, 1300.0))
    store.commit(make.fetched(2, 1300.0, "old"))
    return store


def test_rows_are_added_up_by_page_and_span(store, make) -> None:
    with_pages(store, make)
    rows = [ClickRow(make.url(1), at) for at in (1201.0, 2399.0, 2400.0)] + [ClickRow(make.url(1), 2410.0, 5.0)]
    assert store.add_clicks(3000.0, rows) == ClicksTaken(4, 0)
    assert told(store) == [(1, 1800.0, 2.0), (1, 3000.0, 6.0)]
    store.add_clicks(3000.0, rows[:2], bin=60.0)
    assert told(store)[2:] == [(1, 2370.0, 1.0)]  # the other span ends before the fetch


def test_only_clicks_of_kept_pages_whose_span_ends_after_the_fetch_are_told(store, make) -> None:
    with_pages(store, make)
    rows = [ClickRow(make.url(number), at) for number in (1, 2, 3) for at in (1199.0, 1250.0, 2500.0)]
    store.add_clicks(3000.0, rows)
    assert told(store) == [(1, 1800.0, 1.0), (1, 3000.0, 1.0)]


def test_kind_position_and_width_are_told(store, make) -> None:
    with_pages(store, make)
    store.add_clicks(3000.0, [ClickRow(make.url(1), 2000.0, 9.0, "show", 3), ClickRow(make.url(1), 2000.0)])
    clicks, _ = store.clicks_since(0)
    assert (clicks.show.tolist(), clicks.position.tolist()) == ([True, False], [3, 0])
    assert (clicks.number.tolist(), clicks.width.tolist()) == ([9.0, 1.0], [1200.0, 1200.0])


def test_a_day_stays_a_day_and_counts_from_the_fetch_on(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1, 2))
    store.commit(make.fetched(1, 0.25 * DAY))
    store.commit(make.fetched(2, 0.75 * DAY, published=0.5 * DAY, published_from="meta"))
    days = [ClickRow(make.url(page), day * DAY, 8.0, span=DAY) for page in (1, 2) for day in (0, 1)]
    store.add_clicks(3 * DAY, days)
    clicks, _ = store.clicks_since(0)
    assert clicks.at.tolist() == [0.5 * DAY, 1.5 * DAY] * 2 and set(clicks.width.tolist()) == {DAY}
    assert clicks.number.tolist() == pytest.approx([6.0, 8.0, 4.0, 8.0], rel=0.01)


def test_a_batch_counts_once(store, make) -> None:
    with_pages(store, make)
    rows = [ClickRow(make.url(1), 2000.0), ClickRow(make.url(7), 2000.0)]
    assert not store.has_batch("monday")
    assert store.add_clicks(3000.0, rows, batch="monday") == ClicksTaken(1, 1)
    assert store.add_clicks(3001.0, rows, batch="monday") == ClicksTaken(1, 1)
    assert store.has_batch("monday")
    assert store.add_clicks(3001.0, rows, batch="tuesday") == ClicksTaken(1, 1)
    assert store.stats()["clicks"] == 2
    store.prune(3000.5 + 7 * DAY, Retention())
    assert not store.has_batch("monday") and store.has_batch("tuesday")


def test_a_cursor_tells_each_row_once(store, make) -> None:
    with_pages(store, make)
    assert store.told() == 0
    store.add_clicks(3000.0, [ClickRow(make.url(1), 2000.0)])
    _, cursor = store.clicks_since(0)
    store.clicks_told(3001.0, cursor)
    assert store.told() == cursor
    assert told(store, cursor) == []
    store.add_clicks(4000.0, [ClickRow(make.url(1), 2000.0, 7.0)])
    assert told(store, cursor) == [(1, 1800.0, 7.0)]
    assert store.clicks_since(store.clicks_since(cursor)[1])[1] == store.clicks_since(cursor)[1]


def test_clicks_of_unknown_pages_wait_for_them(store, make) -> None:
    assert store.add_clicks(50.0, [ClickRow(make.url(8), 40.0), ClickRow(make.url(9), 40.0)]) == ClicksTaken(0, 2)
    store.commit(make.crawl(0, 100.0, 8))
    store.commit(make.fetched(1, 110.0))
    assert told(store) == [(1, 600.0, 1.0)]
    assert (store.stats()["clicks"], store.stats()["clicks_unknown"]) == (1, 1)


def test_a_remembered_address_without_a_page_is_unknown(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1, wanted=False, first=True))
    assert store.add_clicks(50.0, [ClickRow(make.url(1), 40.0)]) == ClicksTaken(0, 1)


def test_no_rows_no_clicks(store) -> None:
    assert store.add_clicks(50.0, []) == ClicksTaken(0, 0)
    assert told(store) == []
    assert store.clicks_since(0)[1] == 0
