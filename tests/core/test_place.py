"""Classes of places: how high on a source, on how many sources."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.model import PLACES
from mayfly.core.place import first_place, next_place


@given(st.integers(1, 500), st.floats(1, 500))
def test_every_place_is_a_row_of_the_table(rank: int, usual: float) -> None:
    place = first_place(rank, usual)
    for _ in range(6):
        assert 0 <= place < PLACES
        place = next_place(place)


@given(st.integers(1, 200), st.floats(1, 200))
def test_lower_on_the_list_is_never_a_higher_class(rank: int, usual: float) -> None:
    assert first_place(rank, usual) <= first_place(rank + 1, usual)


def test_top_and_bottom_differ_and_an_untold_rank_is_neither() -> None:
    assert len({first_place(None, 20.0), first_place(1, 20.0), first_place(100, 20.0)}) == 3


def test_up_to_four_sources_are_told_apart_and_ranks_stay_apart() -> None:
    top, bottom = first_place(1, 20.0), first_place(90, 20.0)
    seen = []
    for _ in range(6):
        seen.append((top, bottom))
        top, bottom = next_place(top), next_place(bottom)
    assert len(set(seen)) == 4
    assert seen[3] == seen[5]
    assert not {place for place, _ in seen} & {place for _, place in seen}
