"""What a crawl changes: new, known, came back, stayed, gone."""

from mayfly.store.records import FetchFailure, LandedCrawl, LinkSpan, Memory, WaitingPage


def test_what_no_source_had_shown_is_new_in_the_order_of_the_links(store, make) -> None:
    landed = store.commit(make.crawl(0, 100.0, 5, 3, 9))
    assert [found.link.url for found in landed.new] == [make.url(5), make.url(3), make.url(9)]
    assert [found.page for found in landed.new] == [1, 2, 3]
    assert (landed.known, landed.stayed, landed.gone) == ([], 0, 0)


def test_what_was_there_before_we_looked_is_remembered_and_never_new(store, make) -> None:
    first = store.commit(make.crawl(0, 100.0, 1, 2, wanted=False, first=True))
    assert (first.new, first.known) == ([], [])
    assert store.commit(make.crawl(1, 110.0, 1, 2, 3)).new[0].link.url == make.url(3)
    assert store.waiting()[0].url == make.url(3)
    assert store.page_at(make.url(1)) is None
    assert store.unseen([make.url(1), make.url(7)]) == [make.url(7)]


def test_a_page_of_another_source_is_known_here_once(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1, 2))
    assert store.commit(make.crawl(1, 110.0, 2, 1, 3)).known == [2, 1]
    assert store.commit(make.crawl(1, 120.0, 3)) == LandedCrawl([], [], 1, 2)
    assert store.commit(make.crawl(1, 130.0, 3, 2)) == LandedCrawl([], [], 1, 0)  # came back
    spans = [span for span in store.links() if span.page == 2 and span.source == 1]
    assert spans == [LinkSpan(1, 2, 110.0, 120.0, 1), LinkSpan(1, 2, 130.0, None, 2)]


def test_an_address_counts_once_in_a_crawl_and_where_it_stood_first(store, make) -> None:
    landed = store.commit(make.crawl(0, 100.0, 4, 7, 4, 7, 4))
    assert [(found.page, found.link.rank) for found in landed.new] == [(1, 1), (2, 2)]
    assert store.sources([0])[0].shown == 2
    assert store.commit(make.crawl(0, 110.0, 7, 7)) == LandedCrawl([], [], 1, 1)


def test_nothing_changed(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1, 2, 3))
    assert store.commit(make.unchanged(0, 110.0)) == LandedCrawl((), (), 3, 0)
    assert store.commit(make.unchanged(0, 120.0)) == LandedCrawl((), (), 3, 0)
    source = store.sources([0])[0]
    assert (source.crawls, source.unchanged, source.shown, source.last_crawl) == (3, 2, 3, 120.0)
    assert source.memory == Memory('"e"', unmodified=1)
    assert store.commit(make.crawl(0, 130.0, 2, 4)).gone == 2


def test_an_empty_source_is_empty_and_not_unchanged(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1, 2))
    assert store.commit(make.crawl(0, 110.0)) == LandedCrawl([], [], 0, 2)
    assert store.shows([0]) == {0: frozenset()}
    assert all(span.removed == 110.0 for span in store.links())


def test_what_a_source_counts(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1, 2))
    store.commit(make.crawl(0, 110.0, 1, 2))
    store.commit(FetchFailure("source", 0, 120.0, "busy", status=503))
    store.commit(FetchFailure("source", 0, 130.0, "dns"))
    source = store.sources([0])[0]
    assert (source.crawls, source.last_crawl, source.last_new, source.new_links) == (2, 110.0, 100.0, 2)
    assert (source.failures, source.failure) == (2, "dns")
    store.commit(make.crawl(0, 140.0, 1, 2, 3))
    source = store.sources([0])[0]
    assert (source.failures, source.failure, source.last_new, source.new_links) == (0, "", 140.0, 3)


def test_a_page_that_waits_knows_its_sources_in_their_order(store, make) -> None:
    for source, at in (2, 100.0), (0, 110.0), (1, 120.0):
        store.commit(make.crawl(source, at, 8, published=99.0, published_from="feed"))
    assert store.waiting() == [WaitingPage(1, make.url(8), make.site, [2, 0, 1], 99.0, 100.0, None, 1, None)]


def test_half_characters_do_not_stop_a_crawl(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1, anchor="\ud83d half", context="caf\xe9"))
    page = store.page_at(make.url(1))
    assert (page.anchor, page.context) == ("? half", "café")


def test_one_bad_outcome_spoils_no_other(store, make) -> None:
    crawls = [make.crawl(source, 100.0 + source, source) for source in (0, 99, 1, 98, 2)]
    results = store.together(*(("commit", crawl) for crawl in crawls))
    assert [isinstance(result, LookupError) for result in results] == [False, True, False, True, False]
    assert [page.url for page in store.waiting()] == [make.url(0), make.url(1), make.url(2)]
    assert store.stats()["log"] == 3


def test_commits_that_come_together_land_in_the_order_they_came(store, make) -> None:
    calls = [("commit", make.crawl(number % 3, 1000.0 - number, number, 1000)) for number in range(700)]
    results = store.together(*calls)
    assert [found.page for result in results for found in result.new] == list(range(1, 702))
    assert [past.at for past in store.past(0.0)] == [1000.0 - number for number in range(700)]


def test_a_sitemap_of_fifty_thousand(store, make) -> None:
    many = range(50_000)
    store.commit(make.crawl(0, 100.0, *many, wanted=False, first=True))
    landed = store.commit(make.crawl(0, 200.0, *many, 77_777))
    assert (len(landed.new), landed.stayed, landed.gone) == (1, 50_000, 0)
    assert store.stats()["seen"] == 50_001
