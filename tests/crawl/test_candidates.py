"""Which links may lead to new pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.model import DAY
from mayfly.crawl.candidates import _DULL, Patterns, is_dull, is_front, shown_by
from mayfly.fetch.document import Document, Link, Links

NOW = 1.79e9
HOME = "https://news.example/section/"


def shown(links, kind="category", document="html", first=False, **other):
    return shown_by(
        Document(kind=document, url=HOME, links=Links.of(links)),
        HOME,
        kind,
        first=first,
        now=NOW,
        sources=other.pop("sources", set()),
        patterns=other.pop("patterns", Patterns()),
        other_hosts=other.pop("other_hosts", 0.2),
    )


def urls(found):
    return [link.url for link in found.links]


def test_of_pages_only_links_of_their_own_site_count():
    links = [Link("https://news.example/a"), Link("https://www.news.example/b"), Link("https://ads.example/c")]
    assert urls(shown(links)) == ["https://news.example/a", "https://www.news.example/b"]


def test_a_feed_may_lead_elsewhere_up_to_a_fifth_and_some():
    links = [Link(f"https://other{number}.example/a") for number in range(50)]
    links += [Link(f"https://news.example/{number}") for number in range(50)]
    found = urls(shown(links, "feed", "feed"))
    assert len([url for url in found if "other" in url]) == 25
    assert len([url for url in found if "//news" in url]) == 50


@pytest.mark.parametrize(
    "url",
    [
        "https://news.example/", "https://news.example/x.png", "https://news.example/a/b.PDF?x=1", HOME,
        "https://news.example/login", "https://news.example/login?next=/a", "https://news.example/share/12",
        "https://news.example/a?share=twitter", "https://news.example/wp-login.php", "https://news.example/a?print=1",
        "https://news.example/feed.xml", "https://news.example/watched/",
    ],
)  # fmt: skip
def test_what_is_no_page_is_left_out(url):
    assert urls(shown([Link(url)], sources={"https://news.example/watched/"})) == []


@pytest.mark.parametrize(
    "url",
    [
        "https://news.example/2026/11/16/login-page-of-bank-was-open", "https://news.example/sharepoint-flaw",
        "https://news.example/story.php?id=3", "https://news.example/a.html", "https://news.example/printing-press",
    ],
)  # fmt: skip
def test_what_may_be_a_page_is_kept(url):
    assert urls(shown([Link(url)])) == [url]


def test_spellings_of_one_page_are_one_link_at_its_first_place():
    links = [
        Link("https://news.example/a/", "A"),
        Link("https://news.example/b"),
        Link("http://www.news.example/a", "B"),
    ]
    found = shown(links)
    assert [(link.anchor, link.rank) for link in found.links] == [("A", 1), ("", 2)]


def test_a_first_crawl_of_a_page_is_a_baseline():
    assert [link.wanted for link in shown([Link("https://news.example/a")], first=True).links] == [False]
    assert [link.wanted for link in shown([Link("https://news.example/a")]).links] == [True]


def test_at_the_first_crawl_of_a_feed_its_dates_say_what_is_new():
    ages = [0.1, 0.9, 1.1, 10.0]
    links = [Link(f"https://news.example/{age}", date=NOW - age * DAY) for age in ages] + [
        Link("https://news.example/x")
    ]
    found = shown(links, "feed", "feed", first=True)
    assert [link.wanted for link in found.links] == [True, True, False, False, False]
    assert (found.dated, found.dated_since) == (4, NOW - 10 * DAY)
    assert found.links[0].published_from == "feed"


def test_no_date_is_in_the_future():
    [link] = shown([Link("https://news.example/a", date=NOW + DAY)], "sitemap", "sitemap").links
    assert link.published == NOW
    assert link.published_from == "sitemap"


def test_in_patterns_only_the_star_stands_for_anything():
    patterns = Patterns(never=("https://news.example/a?id=[1]*",))
    assert not patterns.page("https://news.example/a?id=[1]&b=2")
    assert patterns.page("https://news.example/axid=1")
    assert patterns.page("https://else.example/https://news.example/a?id=[1]")


def test_patterns_keep_pages_out():
    links = [Link("https://news.example/sport/a"), Link("https://news.example/b")]
    assert urls(shown(links, patterns=Patterns(never=("*/sport/*",)))) == ["https://news.example/b"]


@given(
    st.lists(st.from_regex(r"https://(news|other|www\.news)\.example/[a-z/.?=&]{0,12}", fullmatch=True), max_size=30)
)
def test_whatever_is_shown_order_and_places_hold(addresses):
    found = shown([Link(url) for url in addresses], "feed", "feed")
    ranks = [link.rank for link in found.links]
    assert ranks == sorted(set(ranks))
    assert all(addresses[link.rank - 1] == link.url for link in found.links)
    assert all(not is_front(link.url) and not is_dull(link.url) for link in found.links)


def test_no_dull_address_is_passed_over_by_asking_for_its_words_first():
    words = _DULL.pattern.partition("/(?:")[2].partition(")(?:")[0].replace("\\.", ".").split("|")
    spelled = {word.replace("-?", between) for word in words for between in ("-", "")}
    assert len(spelled) > 20
    for word in spelled:
        for end in ("", "/", "/x", ".php", ".htm", ".html?x"):
            assert is_dull(f"https://news.example/a.b/{word}{end}"), word + end
            assert not is_dull(f"https://news.example/a.b/{word}-and-more"), word
