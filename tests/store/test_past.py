"""What happened, in the order it did."""

from mayfly.store.past import ClockStep, PastClicks, PastCrawl, PastFetch, PastPage
from mayfly.store.records import ClickRow, FetchFailure
from mayfly.store.tables import past


def test_all_that_happened_comes_back_in_its_order_whatever_the_clock_said(store, make) -> None:
    store.commit(make.crawl(0, 1000.0, 1, wanted=False, first=True))
    store.commit(make.crawl(0, 1100.0, 1, 2, 3, context="around it", published=1050.0, published_from="feed"))
    store.commit(make.fetched(1, 1110.0, published=1.0, published_from="meta"))
    store.commit(FetchFailure("source", 1, 1115.0, "dns"))
    store.clock_stepped(ClockStep(520.0, -600.0))
    store.commit(make.crawl(1, 530.0, 3, 2))
    store.commit(make.fetched(2, 540.0, "old"))
    assert store.past(0.0) == [
        PastCrawl(1000.0, 0, [], [], 0, 0, True),
        PastCrawl(
            1100.0,
            0,
            [
                PastPage(1, make.site, 1050.0, 2, make.url(2), "page 2", "around it"),
                PastPage(2, make.site, 1050.0, 3, make.url(3), "page 3", "around it"),
            ],
            [],
            1,
            0,
            False,
        ),
        PastFetch(1110.0, 1, "fetched"),
        ClockStep(520.0, -600.0),
        PastCrawl(530.0, 1, [], [2, 1], 0, 0, False, known_ranks=(1, 2)),
        PastFetch(540.0, 2, "old"),
    ]


def test_since_a_time(store, make) -> None:
    for at in 100.0, 200.0, 300.0:
        store.commit(make.unchanged(0, at))
    assert [past.at for past in store.past(200.0)] == [200.0, 300.0]
    assert store.past(301.0) == []


def test_pages_given_up_and_dropped_come_back_as_such(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1, 2))
    store.commit(FetchFailure("page", 1, 110.0, "dns", retry_at=120.0))
    store.commit(FetchFailure("page", 1, 120.0, "dns"))
    store.drop([2], 130.0)
    assert store.past(101.0) == [PastFetch(120.0, 1, "failed", False), PastFetch(130.0, 2, "dropped", False)]


def test_what_was_read_and_made_no_sense_was_read(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1))
    store.commit(make.fetched(1, 110.0, "failed"))
    assert store.past(101.0) == [PastFetch(110.0, 1, "failed", True)]


def test_a_part_that_has_to_be_read_again_is_the_same(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1))
    store.commit(make.fetched(1, 110.0))
    for at in range(200, 700, 100):
        store.add_clicks(at, [ClickRow(make.url(1), at)])
        store.clicks_told(at + 1.0, store.clicks_since(store.told())[1])

    def twice(database):
        span = past.span_since(database, 0.0)
        return [past.chunk(database, span)[0] for _ in range(2)]

    told = [[len(each.clicks.page) for each in some if isinstance(each, PastClicks)] for some in store._read(twice)]
    assert told == [[1] * 5] * 2


def test_clicks_come_back_as_they_were_told(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1, 2))
    store.commit(make.fetched(1, 110.0))
    store.add_clicks(900.0, [ClickRow(make.url(number), 500.0) for number in (1, 2)])
    told, cursor = store.clicks_since(store.told())
    store.clicks_told(901.0, cursor)
    store.commit(make.fetched(2, 910.0))  # too late for what was told
    store.add_clicks(2000.0, [ClickRow(make.url(number), 1500.0) for number in (1, 2)])
    store.clicks_told(2001.0, store.clicks_since(cursor)[1])
    first, second = (past for past in store.past(0.0) if isinstance(past, PastClicks))
    assert (first.at, first.clicks.page.tolist(), first.clicks.at.tolist()) == (901.0, [1], [600.0])
    assert first.clicks.page.tolist() == told.page.tolist()
    assert (second.at, second.clicks.page.tolist(), second.clicks.at.tolist()) == (2001.0, [1, 2], [1800.0, 1800.0])


def test_a_long_past_comes_whole(store, make) -> None:
    for turn in range(9):
        store.together(*(("commit", make.crawl(n % 3, 1.0 + turn, turn * 300 + n)) for n in range(300)))
    past = store.past(0.0)
    assert [page for crawl in past for page, *_ in crawl.new] == list(range(1, 2701))


def test_the_time_between_crawls_is_a_median_and_failures_do_not_count(store, make) -> None:
    for at in 0.0, 10.0, 30.0, 1000.0:
        store.commit(make.unchanged(0, at))
        store.commit(FetchFailure("source", 0, at + 1.0, "dns"))
    store.commit(make.unchanged(1, 5.0))
    assert store.crawl_gaps() == {0: 20.0}
