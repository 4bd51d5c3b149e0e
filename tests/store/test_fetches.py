"""What becomes of a page."""

import math

import pytest

from mayfly.core.model import DAY, WEEK
from mayfly.store.past import PastFetch
from mayfly.store.records import FetchFailure, LandedCrawl, LandedFetch, Retention


@pytest.fixture
def found(store, make):
    """Pages 1 to 4 of source 0, which was looked at before."""
    store.commit(make.crawl(0, 100.0, 9, wanted=False, first=True))
    store.commit(make.crawl(0, 200.0, 1, 2, 3, 4, anchor="read this"))
    return store


def test_a_page_is_kept_with_all_that_is_known_of_it(found, make) -> None:
    landed = found.commit(
        make.fetched(
            1, 260.0, title="A title", text="What it says", language="en", body_hash=-5, canonical="https://c.example/",
            published=190.0, published_from="json-ld", warc="a.warc.gz:17", final_url="https://f.example/",
        )
    )  # fmt: skip
    assert landed == LandedFetch("fetched")
    page = found.page_at(make.url(1))
    assert (page.id, page.source, page.source_url, page.landed) == (1, 0, "https://news.example/section-0", 1)
    assert (page.published, page.published_from, page.fetched_at, page.delay) == (190.0, "json-ld", 260.0, 70.0)
    assert (page.title, page.text, page.language, page.body_hash) == ("A title", "What it says", "en", -5)
    assert (page.canonical, page.final_url, page.warc) == ("https://c.example/", "https://f.example/", "a.warc.gz:17")
    assert (page.anchor, page.rank, page.host, page.site) == ("read this", 1, "news.example", "news.example")
    assert found.sources([0])[0].good_pages == 1


def test_without_a_date_it_was_published_in_the_middle_of_the_gap(found, make) -> None:
    found.commit(make.fetched(1, 260.0))
    page = found.page_at(make.url(1))
    assert (page.published, page.published_from, page.delay) == (150.0, "gap", 110.0)


def test_without_a_look_before_it_was_published_when_it_was_found(store, make) -> None:
    store.commit(make.crawl(1, 300.0, 1))
    store.commit(make.fetched(1, 310.0))
    assert store.page_at(make.url(1)).published == 300.0


def test_a_failure_is_no_look(store, make) -> None:
    store.commit(make.crawl(0, 100.0))
    store.commit(FetchFailure("source", 0, 190.0, "busy"))
    store.commit(make.crawl(0, 200.0, 1))
    store.commit(make.fetched(1, 260.0))
    assert store.page_at(make.url(1)).published == 150.0


def test_the_date_of_the_link_counts_where_the_page_says_nothing(store, make) -> None:
    store.commit(make.crawl(0, 200.0, 1, 2, published=180.0, published_from="feed"))
    store.commit(make.fetched(1, 260.0))
    store.commit(make.fetched(2, 260.0, published=170.0, published_from="meta"))
    assert (store.page_at(make.url(1)).published, store.page_at(make.url(1)).published_from) == (180.0, "feed")
    assert (store.page_at(make.url(2)).published, store.page_at(make.url(2)).published_from) == (170.0, "meta")


def test_a_page_from_the_future_has_no_delay(found, make) -> None:
    found.commit(make.fetched(1, 260.0, published=300.0))
    assert found.page_at(make.url(1)).delay == 0.0


def test_the_same_body_is_a_duplicate_of_the_first(found, make) -> None:
    assert found.commit(make.fetched(1, 260.0, body_hash=7, text="said once")) == LandedFetch("fetched")
    assert found.commit(make.fetched(2, 261.0, body_hash=7, text="said once")) == LandedFetch("duplicate", 1)
    assert found.commit(make.fetched(3, 262.0, body_hash=7)) == LandedFetch("duplicate", 1)
    assert found.page_at(make.url(2)).duplicate_of == 1
    assert [page.id for page in found.search("said once")] == [1]
    source = found.sources([0])[0]
    assert (source.good_pages, source.dull_pages) == (1, 2)


def test_a_tiny_body_is_no_reason_to_call_a_page_a_duplicate(found, make) -> None:
    for page in 1, 2:
        assert found.commit(make.fetched(page, 260.0, body_hash=7, wire_bytes=20)).outcome == "fetched"


def test_only_kept_pages_have_duplicates(found, make) -> None:
    found.commit(make.fetched(1, 260.0, "soft-404", body_hash=7))
    assert found.commit(make.fetched(2, 261.0, body_hash=7)).outcome == "fetched"
    assert found.commit(make.fetched(3, 261.0, "old", body_hash=7)) == LandedFetch("old")


def test_a_page_is_settled_once(found, make) -> None:
    found.commit(make.fetched(1, 260.0, title="first"))
    assert found.commit(make.fetched(1, 270.0, "old", title="second")) == LandedFetch("fetched")
    found.commit(FetchFailure("page", 1, 280.0, "dns"))
    found.drop([1], 290.0)
    page = found.page_at(make.url(1))
    assert (page.outcome, page.title, page.fetched_at, page.landed) == ("fetched", "first", 260.0, 1)
    assert found.sources([0])[0].dull_pages == 0
    assert [past.at for past in found.past(0.0) if isinstance(past, PastFetch)] == [260.0]


def test_a_failure_is_tried_again_or_given_up(found, make) -> None:
    found.commit(FetchFailure("page", 1, 260.0, "busy", status=503, retry_at=400.0))
    assert found.waiting()[0].retry_at == 400.0
    found.commit(FetchFailure("page", 1, 410.0, "not-found", status=404))
    page = found.page_at(make.url(1))
    assert (page.outcome, page.reason, page.status, page.landed, page.fetched_at) == (
        "failed", "not-found", 404, 1, None,
    )  # fmt: skip
    assert [page.page for page in found.waiting()] == [2, 3, 4]


def test_what_is_dropped_waits_no_more(found, make) -> None:
    found.drop([2, 4], 300.0)
    assert [page.page for page in found.waiting()] == [1, 3]
    assert [(page.id, page.outcome) for page in found.pages()] == [(2, "dropped"), (4, "dropped")]


def test_numbers_of_landing_have_no_gaps(found, make) -> None:
    found.commit(make.fetched(3, 260.0))
    found.commit(FetchFailure("page", 1, 261.0, "dns"))
    found.drop([4], 262.0)
    found.commit(make.fetched(2, 263.0, "log-in"))
    assert [(page.landed, page.id) for page in found.pages()] == [(1, 3), (2, 1), (3, 4), (4, 2)]


def test_unknown_pages_and_outcomes_are_refused(found, make) -> None:
    with pytest.raises(LookupError, match="no page 77"):
        found.commit(make.fetched(77, 1.0))
    with pytest.raises(LookupError, match="no source 77"):
        found.commit(FetchFailure("source", 77, 1.0, "dns"))
    with pytest.raises(ValueError, match="waiting"):
        found.commit(make.fetched(1, 1.0, "waiting"))


def test_hosts_that_pages_link_are_suggested_unless_they_are_ours(found, make) -> None:
    found.add_hosts(1.0, ["ours.example"])
    found.commit(make.crawl(1, 250.0, 7))
    for page, hosts in ((1, ["a.example", "b.example"]), (2, ["a.example", "ours.example"]), (5, ["a.example"])):
        found.commit(make.fetched(page, 300.0 + page, linked={host: [] for host in [*hosts, "news.example"]}))
    found.commit(make.fetched(3, 400.0, "old", linked={"b.example": [], "c.example": []}))
    asked = found.suggestions(10)
    assert [tuple(each) for each in asked] == [("a.example", 0.0, 3, 2, 305.0), ("b.example", 0.0, 1, 1, 301.0)]
    assert found.suggestions(1) == asked[:1]


def test_hosts_with_new_articles_are_suggested_before_those_that_are_linked_more(found, make) -> None:
    button = "https://button.example/2026/follow-us"
    for page in (1, 2, 3, 4):
        linked = {"button.example": [button], "plain.example": []}
        if page < 3:
            linked["paper.example"] = [f"https://paper.example/{page}/story", f"https://paper.example/{page}/other"]
        found.commit(make.fetched(page, 300.0, linked=linked))
    assert [(each.host, each.fresh, each.pages) for each in found.suggestions(10)] == [
        ("paper.example", 4.0, 2),
        ("button.example", 1.0, 4),  # always the same address
        ("plain.example", 0.0, 4),
    ]


def test_an_article_is_new_once_whatever_its_spelling_and_however_often_a_page_links_it(found, make) -> None:
    twice = ["https://paper.example/story", "http://paper.example/story"]
    found.commit(make.fetched(1, 300.0, linked={"paper.example": twice}))
    found.commit(make.fetched(2, 300.0, linked={"paper.example": twice[:1]}))
    assert found.suggestions(1)[0].fresh == 1.0


def test_what_was_new_long_ago_fades(found, make) -> None:
    late = 300.0 + WEEK
    found.commit(make.fetched(1, 300.0, linked={"was.example": [f"https://was.example/{n}" for n in range(5)]}))
    found.commit(make.fetched(2, late, linked={"is.example": [f"https://is.example/{n}" for n in range(3)]}))
    assert [(each.host, each.fresh) for each in found.suggestions(2)] == [
        ("is.example", 3.0),
        ("was.example", pytest.approx(5 / math.e)),
    ]
    found.commit(make.fetched(3, late, linked={"was.example": ["https://was.example/9"]}))
    found.commit(make.fetched(4, 300.0, linked={"was.example": ["https://was.example/10"]}))  # a clock was set back
    assert found.suggestions(2)[0] == ("was.example", pytest.approx(1 + 6 / math.e), 3, 1, late)


@pytest.mark.parametrize("title", ["half \ud83d", "nul \0 inside", "ﬁligree \u202e", ""])
def test_any_title_and_text_can_be_kept(found, make, title: str) -> None:
    found.commit(make.fetched(1, 260.0, title=title, text=title))
    assert found.page_at(make.url(1)).title == title.replace("\0", " ").encode("utf-8", "replace").decode()


def test_another_address_of_a_page_is_not_new(found, make) -> None:
    found.commit(make.fetched(1, 260.0, final_url=make.url(50), canonical=make.url(51)))
    landed = found.commit(make.crawl(1, 270.0, 50, 51, 52))
    assert [new.link.url for new in landed.new] == [make.url(52)]
    assert landed.known == [1]


def test_a_page_that_says_it_lives_where_another_does_is_its_copy(found, make) -> None:
    found.commit(make.fetched(1, 260.0, final_url=make.url(1)))
    landed = found.commit(make.fetched(2, 261.0, canonical=make.url(1)))
    assert (landed.outcome, landed.duplicate_of) == ("duplicate", 1)


def test_spellings_of_one_address_are_one_page(found, make) -> None:
    url = make.url(90)
    found.commit(make.crawl(1, 270.0, 90))
    spelled = [f"{url}/", url.replace("https://", "http://"), url.replace("//", "//www."), f"{url}/amp"]
    assert found.unseen([*spelled, make.url(91)]) == [make.url(91)]


def test_a_page_stands_on_a_source_while_any_of_its_addresses_does(found, make) -> None:
    found.commit(make.fetched(1, 260.0, canonical=make.url(50)))
    assert found.commit(make.crawl(0, 300.0, 50)) == LandedCrawl([], [], 0, 4)
    assert found.commit(make.crawl(0, 310.0, 50, 1)) == LandedCrawl([], [], 1, 0)
    assert found.commit(make.crawl(0, 320.0, 1)) == LandedCrawl([], [], 1, 1)
    assert [span.removed for span in found.links() if span.page == 1] == [None]
    found.commit(make.crawl(0, 330.0))
    assert [span.removed for span in found.links() if span.page == 1] == [330.0]
    assert found.check() == []


def test_all_addresses_of_a_page_that_is_forgotten_are_remembered(found, make) -> None:
    found.commit(make.fetched(1, 260.0, canonical=make.url(50)))
    assert found.prune(1000 * DAY, Retention(seen=9e9))["pages"] == 1
    assert found.page_at(make.url(50)) is None
    assert found.commit(make.crawl(0, 1000 * DAY, 50, 1)).new == []
    assert found.check() == []
