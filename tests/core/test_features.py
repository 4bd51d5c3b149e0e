"""What is known of a page before its fetch, as slots of the table of weights."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.features import MOVING, TABLE, WORDS, Features
from mayfly.core.model import HOUR

STORM = "https://a.test/news/region/2025/great-storm-over-the-coast-12345.html"


def named(url: str, title: str = "", first: int = 0, at: float = 0.0, features: Features | None = None) -> set[str]:
    names, words = (features or Features()).standing(url, title, first, at)
    return {*names, *words}


@given(st.text(max_size=60), st.text(max_size=40), st.integers(0, 10**6), st.floats(0, 2e9))
def test_any_address_has_features_and_always_the_same(path: str, title: str, first: int, at: float) -> None:
    url = f"https://a.test/{path}"
    one, other = Features(), Features()
    names, words = one.standing(url, title, first, at)
    slots = one.slots(names, words)
    assert slots == other.slots(*other.standing(url, title, first, at))
    assert all(0 < slot < WORDS for slot in slots[: len(names)])
    assert all(WORDS <= slot < TABLE for slot in slots[len(names) :])


def test_sections_words_and_shape_are_read_from_an_address() -> None:
    found = named(STORM)
    assert {"section a.test/news", "section a.test/news/region", "in region", "word storm", "word coast"} <= found
    assert "digits 5" in found
    assert "in 2025" not in found  # a date says nothing of the next page


def test_a_query_and_a_closing_slash_change_nothing() -> None:
    assert named(STORM) == named(f"{STORM}?from=home") == named(f"{STORM}/")


def test_the_text_of_a_link_gives_words_too() -> None:
    assert "word flood" in named("https://a.test/1", title="Flood in the north")


def test_an_address_without_host_or_path_is_read_as_well() -> None:
    assert named("/t/1004896")
    assert named("")


def test_the_hour_is_that_of_the_finding() -> None:
    assert named(STORM, at=1.0) != named(STORM, at=13 * HOUR)


def test_a_title_that_comes_again_is_noticed() -> None:
    features = Features()
    first, again = (named(url, features=features) for url in (STORM, STORM.replace("a.test", "b.test")))
    assert "titles like it 0" in first
    assert "titles like it 1" in again


def test_what_people_ask_for_marks_pages_whose_words_they_use() -> None:
    features = Features()
    features.follow({"storm surge": 8.0, "football": 2.0})
    assert "asked for 4" in named(STORM, features=features)
    assert "asked for 1" in named("https://a.test/football", features=features)
    assert "asked for 0" in named("https://a.test/weather", features=features)
    features.follow({})
    assert not any(name.startswith("asked") for name in named(STORM, features=features))


def test_what_moves_is_always_as_many_features() -> None:
    features = Features()
    for sources, fronts, rank in (1, 0, None), (3, 1, 1.0), (90, 90, 500.0):
        assert len(features.slots(features.moving(sources, fronts, rank, host=2))) == MOVING
    assert features.moving(1, 0, 1.0, 0) != features.moving(1, 0, 40.0, 0)


def test_many_names_are_forgotten_and_come_back_to_their_slots() -> None:
    features = Features()
    before = features.slot("word storm")
    for number in range(200_001):
        features.slot(f"in {number}")
    assert features.slot("word storm") == before
