"""What a reader is shown first: worth now, words, and a few by chance."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.model import DAY, HOUR
from mayfly.serve.ranking import by_words, by_worth, log_worth, mixed
from mayfly.store.sights import Candidates

NOW = 1_790_000_000.0


def candidates(*rows: tuple) -> Candidates:
    """Of (source, age, profit, decay, closeness), the newest first."""
    source, age, profit, decay, close = (np.array(column, float) for column in zip(*rows, strict=True))
    landed = np.arange(len(rows), 0, -1)
    return Candidates(landed, source.astype(np.int64), NOW - age, profit, decay, close)


def test_what_is_worth_more_now_comes_first() -> None:
    pages = candidates((1, HOUR, 2.0, 1 / HOUR, 0), (2, 2 * HOUR, 9.0, 1 / HOUR, 0), (3, 0.0, 1.0, 1 / DAY, 0))
    np.testing.assert_allclose(np.exp(log_worth(pages, NOW)), [2 / np.e, 9 / np.e**2, 1.0])
    assert by_worth(pages, NOW).tolist() == [1, 2, 0]
    assert by_worth(pages, NOW + 10 * HOUR).tolist() == [2, 1, 0], "what fades slowly is left"


def test_of_what_nothing_is_believed_the_mean_is() -> None:
    nan = float("nan")
    pages = candidates((1, 0.0, 4.0, 1 / DAY, 0), (2, 0.0, nan, nan, 0), (3, 0.0, 2.0, 1 / DAY, 0))
    assert by_worth(pages, NOW).tolist() == [0, 1, 2]
    unknown = candidates((1, HOUR, nan, nan, 0), (1, 0.0, nan, nan, 0))
    assert by_worth(unknown, NOW).tolist() == [1, 0], "the newest, if nothing is known"
    assert by_worth(candidates((1, 0.0, 0.0, 1.0, 0), (2, 9.0, 0.0, 0.0, 0)), NOW).tolist() == [0, 1]


def test_one_source_does_not_fill_the_page() -> None:
    pages = candidates(*[(1, 60.0 * place, 10.0, 1 / DAY, 0) for place in range(20)], (2, 0.0, 5.0, 1 / DAY, 0))
    order = by_worth(pages, NOW).tolist()
    assert order.index(20) == 7, "0.9^7 < 1/2"
    assert [place for place in order if place != 20] == list(range(20))


def test_words_and_worth_both_count() -> None:
    pages = candidates(*[(1, age, 1.0, 1 / DAY, close) for close in (5.0, 1.0) for age in (HOUR, DAY)])
    order = by_words(pages, NOW).tolist()
    assert order[0] == 0 and order[-1] == 3
    ancient = candidates((1, 9e8, 1.0, 1 / HOUR, 1.0), (1, 8e8, 1.0, 1 / HOUR, 1.0))
    assert by_words(ancient, NOW).tolist() == [1, 0], "e^-μt is 0 in floats, but not its logarithm"


def test_a_twentieth_of_the_slots_is_left_to_chance() -> None:
    pages = candidates(
        *[(place, 60.0, 1.0, 1 / DAY, 0) for place in range(500)], *[(900, 2 * DAY, 1.0, 1 / DAY, 0)] * 500
    )
    ranked, chance = by_worth(pages, NOW), np.random.default_rng(0)
    drawn = 0
    for _ in range(2000):
        slots = mixed(ranked, pages, 30, NOW, chance)
        drawn += 30 - slots.ranked
        assert len(set(slots.shown.tolist())) == 30
        by_rank = [place for place in slots.shown.tolist() if place in set(ranked[:30].tolist())]
        assert by_rank == ranked[: slots.ranked].tolist(), "nothing is lost, and all is in order"
        assert slots.shown.max() < 500, "only what is fresh is drawn"
    assert 0.045 < drawn / 60_000 < 0.055


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1e7), st.floats(0, 1e3), st.floats(0, 1)), max_size=40))
def test_every_page_has_one_place(rows) -> None:
    pages = candidates(*[(*row, 0.0) for row in rows]) if rows else Candidates(*(np.empty(0),) * 6)
    for order in (by_worth(pages, NOW), by_words(pages, NOW)):
        assert sorted(order.tolist()) == list(range(len(rows)))
    slots = mixed(by_worth(pages, NOW), pages, 30, NOW, np.random.default_rng(1))
    assert len(set(slots.shown.tolist())) == len(slots.shown) == min(len(rows), 30)
