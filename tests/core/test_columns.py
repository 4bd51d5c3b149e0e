"""Columns that grow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.core.columns import Columns


def test_new_rows_are_blank_and_old_ones_keep_their_values() -> None:
    cells = Columns(rate=0.5, host=-1, busy=True, table=(3,))
    cells.grow(2)
    cells.rate[:] = [7.0, 8.0]
    cells.table[1] = [1, 2, 3]
    cells.grow(100)
    assert cells.rate.tolist() == [7.0, 8.0] + [0.5] * 98
    assert cells.host.tolist() == [-1] * 100
    assert cells.busy.all()
    assert cells.table[1].tolist() == [1, 2, 3]
    assert not cells.table[2:].any()


def test_types_follow_the_blank_values() -> None:
    cells = Columns(rate=0.0, host=0, busy=False, table=(2, 4))
    cells.grow(5)
    kinds = cells.rate.dtype, cells.host.dtype, cells.busy.dtype, cells.table.dtype
    assert kinds == (np.float64, np.int64, np.bool_, np.float32)
    assert cells.table.shape == (5, 2, 4)


def test_growing_to_less_changes_nothing() -> None:
    cells = Columns(rate=0.0)
    cells.grow(4)
    cells.rate[:] = 1.0
    cells.grow(2)
    assert cells.size == 4
    assert cells.rate.tolist() == [1.0] * 4


def test_kept_rows_are_in_the_order_asked_and_room_behind_them_is_blank_again() -> None:
    cells = Columns(rate=-1.0, table=(2,))
    cells.grow(5)
    cells.rate[:] = np.arange(5)
    cells.table[:] = np.arange(5)[:, None]
    cells.keep(np.array([4, 1]))
    cells.grow(4)
    assert cells.rate.tolist() == [4.0, 1.0, -1.0, -1.0]
    assert cells.table[:, 0].tolist() == [4.0, 1.0, 0.0, 0.0]


def test_an_unknown_column_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="speed"):
        _ = Columns(rate=0.0).speed


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60)), max_size=20))
def test_columns_behave_as_a_list(steps: list[tuple[bool, int]]) -> None:
    cells, plain, stamp = Columns(value=-1.0), [], 0.0
    for grows, number in steps:
        if grows:
            plain += [-1.0] * (number - len(plain))
            cells.grow(number)
        else:
            rows = np.arange(0, len(plain), 1 + number % 3)
            plain = [plain[row] for row in rows.tolist()]
            cells.keep(rows)
        stamp += 1
        if plain:
            plain[number % len(plain)] = stamp
            cells.value[number % len(plain)] = stamp
        assert cells.value.tolist() == plain
