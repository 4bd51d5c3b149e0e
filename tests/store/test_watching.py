"""What whoever watches is told: parts of lists, visits, columns of pages."""

import pytest

from mayfly.core.model import HOUR
from mayfly.store.listings import Listing
from mayfly.store.records import Estimate, FetchFailure, NewSource, Rest


def names(listed) -> list[str]:
    return [source.url.removeprefix("https://") for source in listed.rows]


@pytest.fixture
def some(empty):
    """Four sources, one without an estimate, one retired."""
    urls = ("b.example/", "a.example/100%/", "a.example/x_y/", "c.example/")
    empty.add_sources(0.0, [NewSource(f"https://{url}", "category") for url in urls])
    empty.save_estimates(
        [
            Estimate(0, 1.0, 2.0, 3.0, None, 1.0, None),
            Estimate(1, 2.0, 1.0, 3.0, 60.0, 3.0, 9.0),
            Estimate(3, 3.0, 5.0, 3.0, 30.0, 2.0, 8.0),
        ]
    )
    empty.edit_source(3, state="retired")
    return empty


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (Listing("worth"), [1, 3, 0, 2]),
        (Listing("worth", descending=False), [0, 3, 1, 2]),  # what has no value is last in both
        (Listing("interval", descending=False), [3, 1, 0, 2]),
        (Listing("url", descending=False), [1, 2, 0, 3]),
        (Listing("url", descending=False, first=2, skip=1), [2, 0]),
        (Listing("url", descending=False, words="a.ex"), [1, 2]),
        (Listing("url", words="A.EX 100%"), [1]),
        (Listing("url", words="_"), [2]),
        (Listing("url", words="' OR 1=1 --"), []),
        (Listing("url", state="retired"), [3]),
        (Listing("url", host="b.example"), [0]),
        (Listing("url", descending=False, site="a.example", state="active"), [1, 2]),
    ],
)
def test_a_part_of_the_sources_in_any_order(some, asked, found) -> None:
    listed = some.list_sources(asked)
    assert [source.id for source in listed.rows] == found
    assert listed.total == (4 if len(found) == 4 or asked.skip else len(found))


def test_what_a_plan_needs_is_of_active_sources(some) -> None:
    believed = some.believed()
    assert believed.source.tolist() == [0, 1] and believed.link_rate.tolist() == [1.0, 2.0]
    assert believed.host == ["b.example", "a.example"]
    assert believed.beliefs().profit_decay.tolist() == believed.profit_decay.tolist()


def test_hosts_with_their_troubles(some) -> None:
    some.add_hosts(0.0, ["d.example"])
    some.host_searched("d.example", 5.0, "dns")
    for at in (10.0, 20.0):
        some.commit(FetchFailure("source", 1, at, "busy", rest=Rest("a.example", at + 60.0)))
    some.commit(FetchFailure("source", 2, 30.0, "dns", rest=Rest("a.example", 40.0)))
    hosts = {row.host: row for row in some.list_hosts(Listing("failing")).rows}
    assert next(iter(hosts)) == "a.example" and len(hosts) == 4
    a, d = hosts["a.example"], hosts["d.example"]
    assert (a.sources, a.failing, a.failures, a.failure, a.rests_until, a.rest_reason) == (
        2,
        2,
        2,
        "busy",
        80.0,
        "busy",
    )
    assert (d.sources, d.search_failure, d.searched) == (0, "dns", 5.0)
    assert some.list_hosts(Listing("host", False, "b.ex")).rows[0].host == "b.example"
    assert some.list_hosts(Listing("host", False, first=1, skip=2)).total == 4


def test_visits_tell_what_each_brought(store, make) -> None:
    store.commit(make.crawl(0, 10.0, first=True))
    store.commit(make.crawl(0, 20.0, 1, 2))
    store.commit(make.crawl(1, 25.0, 2, 3))
    store.commit(FetchFailure("source", 1, 28.0, "timeout"))
    store.commit(make.crawl(1, 30.0, 3))
    assert [(visit.at, visit.new, visit.added, visit.gone) for visit in store.visits(0, 9)] == [
        (20.0, 2, 2, 0),
        (10.0, 0, 0, 0),
    ]
    assert [(visit.at, visit.new, visit.added, visit.gone, visit.failure) for visit in store.visits(1, 9)] == [
        (30.0, 0, 0, 1, ""), (28.0, 0, 0, 0, "timeout"), (25.0, 1, 2, 0, "")
    ]  # fmt: skip
    assert len(store.visits(1, 2)) == 2


def test_pages_come_as_columns_behind_a_cursor(store, make) -> None:
    store.commit(make.crawl(0, 10.0, first=True))
    new = store.commit(make.crawl(0, HOUR, *range(1, 9))).new
    for number, (page, _) in enumerate(new):
        outcome = "old" if number == 3 else "fetched"
        store.commit(make.fetched(page, 2 * HOUR + 60.0 * number, outcome, published=HOUR / 2, body_hash=page))
    columns = store.fetched_since(0)
    assert columns.landed == 8 and len(columns.page) == 7
    assert set(columns.source) == {0} and set(columns.published) == {HOUR / 2} and set(columns.found) == {HOUR}
    behind = store.landed_at(2 * HOUR + 60.0 * 5)
    assert behind == 5 and store.fetched_since(behind).fetched.tolist() == [2 * HOUR + 60.0 * n for n in (5, 6, 7)]
    assert store.landed_at(0.0) == 0 and store.landed_at(1e12) == 8
    assert len(store.fetched_since(8).page) == 0
    assert store.arrivals(0) == [HOUR / 2] * 7


def test_what_happened_is_counted_by_parts_of_the_time(store, make) -> None:
    new = store.commit(make.crawl(0, 10.0, 1, 2)).new
    store.commit(make.fetched(new[0].page, 12.0))
    store.commit(make.fetched(new[1].page, 21.0))
    store.commit(FetchFailure("source", 1, 24.0, "timeout"))
    assert store.beats(0.0, 5.0) == [(10.0, 1, 1, 0), (20.0, 0, 1, 1)]
    assert store.beats(20.0, 5.0) == [(20.0, 0, 1, 1)]
    assert store.beats(100.0, 5.0) == []


def test_what_happened_is_counted_behind_a_cursor(store, make) -> None:
    begin = store.counted_since(None).seq
    new = store.commit(make.crawl(0, 10.0, 1, 2)).new
    store.commit(make.fetched(new[0].page, 20.0))
    store.commit(FetchFailure("source", 1, 30.0, "timeout"))
    counted = store.counted_since(begin)
    assert (counted.crawls, counted.pages, counted.failures) == (1, 1, 1)
    assert store.counted_since(counted.seq)[1:] == (0, 0, 0)
