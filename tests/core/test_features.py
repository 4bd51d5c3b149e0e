"""What is known of a page before its fetch, as slots of the table of weights."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from mayfly.core.features import MOVING, TABLE, WIDTH, WORDS, Features, slot_of
from mayfly.core.model import HOUR

STORM = "https://a.test/news/region/2025/great-storm-over-the-coast-12345.html"


def named(url: str, title: str = "", context: str = "", at: float = 0.0, features: Features | None = None) -> list[str]:
    return (features or Features()).names(url, title, context, 0, at)


anything = st.text(max_size=60) | st.lists(st.sampled_from(["Storm", "über-3", "a/b", "flood_12", "/2025/"])).map(
    " ".join
)


@given(anything, anything, anything, st.integers(0, 10**6), st.floats(0, 2e9), st.none() | st.floats(0.1, 1e9))
@example(
    "a/b/c/d/e", "ab cd efg hij klm nop qrs tuv wxy zab cde", "other words around the link of another kind", 0, 0, 1
)
def test_slots_are_those_of_the_names(
    path: str, title: str, context: str, first: int, at: float, rank: float | None
) -> None:
    url = f"https://a.test/{path}"
    one, other = Features(), Features()
    for features in one, other:
        features.follow({"storm": 1.0})
    slots = one.moving(1, 0, rank, 0) + one.of_crawl(first, at) + one.of_link(url, title, context)
    names = other.names(url, title, context, first, at, rank)
    assert slots[MOVING - 1 :] == [slot_of(name) for name in names]
    assert len(slots) <= WIDTH
    for name, slot in zip(names, slots[MOVING - 1 :], strict=True):
        assert WORDS <= slot < TABLE if name.startswith(("word ", "near ")) else 0 < slot < WORDS


def test_sections_words_and_shape_are_read_from_an_address() -> None:
    found = set(named(STORM))
    assert {"section a.test/news", "section a.test/news/region", "in region", "word storm", "word coast"} <= found
    assert "digits 5" in found
    assert "in 2025" not in found  # a date says nothing of the next page


@given(st.from_regex(r"\A\d{1,40}\Z"))
def test_a_number_is_read_like_any_other_slug(number: str) -> None:
    url = f"https://a.test/news/{number}"
    assert named(url) == named(url, title="-")


def test_a_query_and_a_closing_slash_change_nothing() -> None:
    assert named(STORM) == named(f"{STORM}?from=home") == named(f"{STORM}/")


def test_the_text_of_a_link_gives_words_too() -> None:
    assert "word flood" in named("https://a.test/1", title="Flood in the north")


def test_so_does_the_text_around_it_and_they_are_told_apart() -> None:
    found = named(
        "https://a.test/1", title="Flood in the north", context="Rivers rise: the flood has reached the towns"
    )
    assert [name for name in found if name.startswith("near ")] == ["near rivers", "near reached", "near towns"]
    assert "word flood" in found


def test_words_of_the_link_come_before_those_around_it() -> None:
    title, context = (" ".join(f"{kind}{chr(97 + n)}" for n in range(20)) for kind in ("title", "context"))
    found = named("https://a.test/1", title=title, context=context)
    assert sum(name.startswith("word ") for name in found) == 10
    assert sum(name.startswith("near ") for name in found) == 4


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
    for sources, fronts, rank in (1, 0, None), (1, 1, 2.0), (3, 1, 1.0), (90, 90, 500.0), (2, 0, 1e300):
        assert len(features.moving(sources, fronts, rank, host=2)) == MOVING
    assert features.moving(1, 0, 1.0, 0) != features.moving(1, 0, 40.0, 0)
    assert features.moving(2, 1, 1.0, 3)[0] == slot_of("sources 2 of host 3")


def test_many_words_are_forgotten_and_come_back_to_their_slots() -> None:
    features = Features()
    before = features.of_link("https://a.test/storm")
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ("".join(word) for word in product(letters, repeat=4))
    for some in zip(*[words] * 10, strict=False):
        features.of_link(f"https://a.test/{'-'.join(some)}")
        if len(features._words) > 200_000:
            break
    assert len(features._words) <= 200_000
    assert features.of_link("https://a.test/storm") == before
