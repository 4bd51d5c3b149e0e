"""Reading pages: cursors, filters, search."""

import pytest


@pytest.fixture
def full(store, make):
    """Ten pages of two sources, of which the odd ones are kept and the even ones old."""
    store.commit(make.crawl(0, 100.0, *range(1, 6)))
    store.commit(make.crawl(1, 110.0, *range(6, 11)))
    for page in range(1, 11):
        outcome = "fetched" if page % 2 else "old"
        store.commit(make.fetched(page, 200.0 + page, outcome, title=f"Title {page}", text=f"wörds of page{page}"))
    return store


def numbers(pages) -> list[int]:
    return [page.id for page in pages]


def test_a_cursor_shows_each_page_once(full, make) -> None:
    seen, cursor = [], 0
    while some := full.pages(cursor, 3):
        seen += numbers(some)
        cursor = some[-1].landed
    assert seen == list(range(1, 11))
    assert full.pages(cursor) == []


def test_filters(full) -> None:
    assert numbers(full.pages(source=1)) == [6, 7, 8, 9, 10]
    assert numbers(full.pages(after=3, outcome="fetched")) == [5, 7, 9]
    assert numbers(full.pages(host="news.example", first=2)) == [1, 2]
    assert numbers(full.pages(host="other.example")) == []
    assert numbers(full.pages(source=0, outcome="old", host="news.example")) == [2, 4]


def test_the_newest_come_first(full) -> None:
    assert numbers(full.newest(3)) == [10, 9, 8]
    assert numbers(full.newest(2, source=0, outcome="fetched")) == [5, 3]


def test_pages_that_wait_are_not_settled(store, make) -> None:
    store.commit(make.crawl(0, 100.0, 1))
    assert store.pages() == store.newest(9) == []
    assert store.page_at(make.url(1)).outcome == "waiting"


def test_search_finds_kept_pages_that_have_all_words_the_newest_first(full) -> None:
    assert numbers(full.search("WORDS")) == [9, 7, 5, 3, 1]
    assert numbers(full.search("words title", first=2)) == [9, 7]
    assert numbers(full.search("page7 words")) == [7]
    assert numbers(full.search("page7 page9")) == []
    assert numbers(full.search("page2")) == []  # old


TYPED = [
    "",
    " ",
    '"',
    '"" ""',
    "NOT",
    "AND OR",
    "a*",
    "title:x",
    "(",
    "NEAR(a b)",
    "^",
    "-x",
    "'",
    ";",
    "\0",
    "é" * 999,
]


@pytest.mark.parametrize("words", [*TYPED, "x\0y", "half\ud83d", "\ud83d"])
def test_whatever_people_type_is_only_words(full, words: str) -> None:
    assert full.search(words) == []


def test_hyphens_and_quotes_part_words(full, make) -> None:
    full.commit(make.crawl(2, 300.0, 20))
    full.commit(make.fetched(11, 301.0, title='The prime-minister said "never"'))
    assert numbers(full.search('prime-minister "never"')) == [11]
    assert numbers(full.search("minister never!")) == [11]
