"""Pages for people: the freshest, the newest that match, and how they are shown."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.store.connection import connect
from mayfly.store.records import Estimate
from mayfly.store.sights import BEGIN, END, Only
from mayfly.store.tables import reading
from mayfly.store.tables.words import phrases


@pytest.fixture
def filled(store, make):
    """Pages 1 to 6 of two sources, each with a title and a text; 4 turned out to be old."""
    store.add_sources(1.0, [make.source(0), make.source(1)])
    store.commit(make.crawl(0, 10.0, first=True))
    store.commit(make.crawl(1, 10.0, first=True))
    store.commit(make.crawl(0, 100.0, 1, 2, 3, published=90.0))
    store.commit(make.crawl(1, 200.0, 4, 5, 6, published=190.0))
    for page in range(1, 7):
        outcome = "old" if page == 4 else "fetched"
        said = {"title": f"Story {page} of the sea", "text": "wind " * page + "and water", "body_hash": page}
        store.commit(make.fetched(page, 300.0 + page, outcome, **said))
    store.save_estimates([Estimate(0, 0.1, 7.0, 0.01, 60.0, 1.0, None)])
    return store


def test_the_freshest_come_with_what_is_believed_of_them(filled) -> None:
    pages = filled.freshest(3000)
    assert pages.landed.tolist() == [6, 5, 3, 2, 1]
    assert pages.source.tolist() == [1, 1, 0, 0, 0]
    assert pages.published.tolist() == [190.0, 190.0, 90.0, 90.0, 90.0]
    np.testing.assert_equal(pages.profit, [np.nan, np.nan, 7.0, 7.0, 7.0])
    assert filled.freshest(2).landed.tolist() == [6, 5]


@pytest.mark.parametrize(
    ("only", "landed"),
    [
        (Only(source=0), [3, 2, 1]),
        (Only(host="news.example"), [6, 5, 3, 2, 1]),
        (Only(host="other.example"), []),
        (Only(host="other.example", source=0), []),
        (Only(since=100.0), [6, 5]),
        (Only(upto=5, source=1), [5]),
        (Only(upto=2), [2, 1]),
    ],
)
def test_what_may_be_chosen(filled, only, landed) -> None:
    assert filled.freshest(100, only).landed.tolist() == landed
    assert filled.matching("story sea", 100, only).landed.tolist() == landed


def test_matches_come_with_how_close_they_are(filled) -> None:
    pages = filled.matching("wind", 100)
    close = dict(zip(pages.landed.tolist(), pages.closeness.tolist(), strict=True))
    assert list(close) == [6, 5, 3, 2, 1]
    assert close[6] > close[3] > close[1] > 0
    assert filled.matching("wind", 2).landed.tolist() == [6, 5]
    assert filled.matching("WÍND story", 100).closeness.min() > 0
    assert filled.matching("nothing", 100).landed.tolist() == filled.matching("", 100).landed.tolist() == []


def test_words_that_were_asked_for_are_marked(filled) -> None:
    [sight] = filled.sights([2], "sea water")
    assert sight.page.id == 2
    assert sight.title == f"Story 2 of the {BEGIN}sea{END}"
    assert sight.snippet == f"wind wind and {BEGIN}water{END}"
    plain = filled.sights([5, 1, 99])
    assert [(sight.page.landed, sight.title) for sight in plain] == [
        (5, "Story 5 of the sea"),
        (1, "Story 1 of the sea"),
    ]
    assert plain[0].snippet.startswith("wind wind") and filled.sights([]) == []
    assert filled.page(3).url == "https://news.example/3" and filled.page(77) is None


def test_a_rare_word_counts_for_more_than_a_common_one(store, make) -> None:
    store.add_sources(1.0, [make.source(0)])
    store.commit(make.crawl(0, 10.0, first=True))
    store.commit(make.crawl(0, 100.0, *range(1, 31)))
    for page in range(1, 31):
        text = {1: "common rare rare", 2: "common common rare"}.get(page, "common other words")
        store.commit(make.fetched(page, 200.0, title="t", text=text, body_hash=page))
    pages = store.matching("common rare", 100)
    assert pages.landed.tolist() == [2, 1] and pages.closeness[1] > pages.closeness[0]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    opened = connect(tmp_path_factory.mktemp("words") / "mayfly.db")
    opened.execute("INSERT INTO texts VALUES (1, 1, 'a title', 'some words')")
    yield opened
    opened.close()


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text('"*^:(){}+-, ANDORT\0\u0300½①'))
def test_nothing_that_can_be_typed_is_an_error(database, typed) -> None:
    for only in (Only(), Only(host="x"), Only(source=3, since=5.0)):
        found = reading.matching(database, phrases(typed), 10, only)
        assert len(found.landed) == len(found.closeness)
    if phrases(typed):
        assert (
            len(database.execute("SELECT rowid FROM words WHERE words MATCH ?", (" ".join(phrases(typed)),)).fetchall())
            < 2
        )
