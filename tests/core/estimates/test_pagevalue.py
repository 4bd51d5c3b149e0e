"""The model of what a page is worth against the mean page of its sources."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayfly.core.estimates.pagevalue import PageValue
from mayfly.core.features import WORDS

GOOD, BAD, PLAIN, WORD = 1, 2, 3, WORDS


def crowds(mean: np.ndarray, rng: np.random.Generator, crowd: float = 0.5) -> np.ndarray:
    """Clicks that come in crowds around these means."""
    return rng.poisson(mean * rng.gamma(crowd, 1 / crowd, len(mean))).astype(float)


def taught(true: dict[int, float], rng: np.random.Generator, batches: int = 60, size: int = 100) -> PageValue:
    """A model that saw pages of one of these features each, beside one all have."""
    value = PageValue()
    for _ in range(batches):
        own = rng.choice(list(true), size)
        expected = rng.uniform(0.5, 4.0, size)
        mean = expected * np.array([true[one] for one in own.tolist()])
        value.learn(np.stack([own, np.full(size, PLAIN), np.zeros(size, int)], 1), expected, crowds(mean, rng))
    return value


def test_features_that_bring_clicks_are_worth_more_by_as_much() -> None:
    value = taught({GOOD: 3.0, BAD: 0.3}, np.random.default_rng(1))
    good, bad = value.merits(np.array([[GOOD, PLAIN], [BAD, PLAIN]]))
    assert good / bad == pytest.approx(10, rel=0.25)


def test_nothing_learned_is_worth_the_mean() -> None:
    assert np.allclose(PageValue().merits(np.array([[GOOD, BAD, WORD], [0, 0, 0]])), 1.0)


def test_what_is_foreseen_adds_up_to_what_comes() -> None:
    rng = np.random.default_rng(2)
    true = {slot: float(np.exp(rng.normal(0, 0.8))) for slot in range(10, 40)}
    value = taught(true, rng, batches=100)
    own = rng.choice(list(true), 20_000)
    foreseen = value.merits(np.stack([own, np.full(len(own), PLAIN)], 1))
    mean = np.array([true[one] for one in own.tolist()])
    scale = mean.sum() / foreseen.sum()  # the sources take care of that
    for part in np.array_split(np.argsort(foreseen), 5):
        assert scale * foreseen[part].sum() == pytest.approx(mean[part].sum(), rel=0.25)


def test_features_that_say_nothing_are_not_believed() -> None:
    rng = np.random.default_rng(3)
    value = PageValue(trust=0.01, word_trust=0.01)  # a model that believes all it sees
    for _ in range(60):
        noise = rng.integers(1, 100_000, (50, 8))
        value.learn(noise, np.full(50, 2.0), crowds(np.full(50, 2.0), rng))
    assert value.temper <= 0.25
    assert np.abs(np.log(value.merits(rng.integers(1, 100_000, (200, 8))))).max() < 1.0


def test_one_page_with_thousands_of_clicks_does_not_say_all() -> None:
    value = PageValue()
    value.learn(np.arange(1, 21)[None], np.array([1.0]), np.array([5000.0]))
    assert 1.0 < np.exp(value.sums(np.array([[1, 2, 500]])))[0] < 3.0  # a page that shares two of its features


def test_words_are_trusted_later_than_other_features() -> None:
    value = PageValue()
    for slot in GOOD, WORD:
        value.learn(np.array([[slot]]), np.array([2.0]), np.array([20.0]))
    assert 0 < value.weight[WORD] < value.weight[GOOD]


def test_what_was_forgotten_is_learned_anew_faster() -> None:
    rng = np.random.default_rng(4)
    kept, forgot = (taught({GOOD: 3.0, BAD: 0.3}, np.random.default_rng(5)) for _ in range(2))
    forgot.forget(0.01)
    for value in kept, forgot:
        value.learn(np.array([[GOOD, PLAIN]] * 30), np.full(30, 2.0), crowds(np.full(30, 0.6), rng))
    assert forgot.weight[GOOD] < kept.weight[GOOD]


rows = st.lists(
    st.tuples(st.lists(st.integers(0, 300), min_size=4, max_size=4), st.floats(1e-9, 1e4), st.floats(0, 1e6)),
    min_size=1,
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(rows, max_size=6))
def test_whatever_it_sees_it_stays_finite_positive_and_rising(batches: list[list[tuple]]) -> None:
    value = PageValue()
    for batch in batches:
        slots, expected, clicks = zip(*batch, strict=True)
        value.learn(np.array(slots), np.array(expected), np.array(clicks))
    pages = np.random.default_rng(0).integers(0, 300, (50, 4))
    merits = value.merits(pages)
    assert np.isfinite(merits).all()
    assert (merits > 0).all()
    order = np.argsort(value.sums(pages))
    assert (np.diff(merits[order]) >= -1e-12).all()  # calibration never changes the order
    assert value.weight[0] == 0.0
    assert [value.merit(page) for page in pages.tolist()] == pytest.approx(merits.tolist(), rel=1e-9)


def test_a_slot_that_stands_twice_in_a_batch_or_a_row_counts_twice() -> None:
    one, other = PageValue(), PageValue()
    one.learn(np.array([[7, 7, 0], [9, 7, 0]]), np.array([1.0, 2.0]), np.array([5.0, 1.0]))
    other.learn(np.array([[0, 7, 0, 7], [7, 0, 9, 0]]), np.array([1.0, 2.0]), np.array([5.0, 1.0]))
    assert other.weight == pytest.approx(one.weight)
    assert one.weight[7] > 0 > one.weight[9]


def test_it_comes_back_as_it_was_kept() -> None:
    value, back = taught({GOOD: 3.0, BAD: 0.3, WORD: 2.0}, np.random.default_rng(6)), PageValue()
    assert back.load(value.dump())
    pages = np.array([[GOOD, PLAIN], [BAD, WORD]])
    assert np.array_equal(back.merits(pages), value.merits(pages))
    for one in value, back:
        one.learn(pages, np.array([2.0, 1.0]), np.array([9.0, 0.0]))
    assert np.array_equal(back.weight, value.weight)


@pytest.mark.parametrize("kept", [b"", b"x" * 7, b"\0" * 64, PageValue().dump()[:-8], PageValue().dump() + b"\0" * 8])
def test_what_is_broken_or_of_another_version_is_not_taken(kept: bytes) -> None:
    value = PageValue()
    assert not value.load(kept)
    assert np.allclose(value.merits(np.array([[GOOD]])), 1.0)


def test_it_is_small() -> None:
    value = taught(dict.fromkeys(range(1, 5000), 1.0), np.random.default_rng(7), batches=50, size=1000)
    arrays = [part for part in vars(value).values() if isinstance(part, np.ndarray)]
    assert sum(part.nbytes for part in arrays) < 20e6
