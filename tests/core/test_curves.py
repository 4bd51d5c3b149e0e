"""The two curves against their own inverses and against Lambert's W."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import lambertw

from mayfly.core.curves import g, g_inverse, reserve_ratio

laws = settings(max_examples=100, deadline=None)
exponents = st.floats(-15, -0.31)  # powers of ten


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


@laws
@given(st.one_of(exponents.map(lambda e: 10.0**e), st.floats(0.001, 0.999), exponents.map(lambda e: 1 - 10.0**e)))
def test_g_undoes_its_inverse(y: float) -> None:
    y = min(y, 1 - 1e-12)
    back = float(g(g_inverse(column(y)))[0])
    assert abs(back - y) <= 1e-9 * y
    assert abs(back - y) <= 1e-3 * (1 - y)  # what is left to come keeps its digits too


def test_inverse_of_g_is_monotone_through_the_seams_of_its_branches() -> None:
    y = np.unique(np.concatenate([np.logspace(-15, -0.001, 40_000), 1 - np.logspace(-12, -0.5, 20_000), [0.0]]))
    assert (np.diff(g_inverse(y)) > 0).all()
    near = 1e-3 * (1 + np.arange(-400, 401) * 1e-9)  # where the series hands over to the table
    assert (np.diff(g_inverse(near)) > 0).all()


def test_g_is_monotone_through_its_seam() -> None:
    x = 0.02 * (1 + np.arange(-400, 401) * 1e-8)
    assert (np.diff(g(x)) > 0).all()


@laws
@given(st.floats(1e-4, 1 - 1e-9))
def test_inverse_of_g_is_lambert_w(y: float) -> None:
    expected = -1 - float(lambertw(-(1 - y) / np.e, -1).real)
    assert np.isclose(float(g_inverse(column(y))[0]), expected, rtol=1e-9)


def test_ends_of_g_and_its_inverse() -> None:
    assert g(column(0.0, np.inf)).tolist() == [0.0, 1.0]
    assert g_inverse(column(0.0, 1.0, 2.0)).tolist() == [0.0, np.inf, np.inf]


@laws
@given(st.floats(-12, 12).map(lambda e: 10.0**e))
def test_reserve_ratio_solves_its_equation(z: float) -> None:
    over = float(reserve_ratio(column(z))[0]) - 1
    assert over > 0
    # r - 1 alone is rounded to one part in 1e16 of r: that much of z cannot be had back.
    assert abs(over - np.log1p(over) - z) <= 1e-9 * z + 4e-16 * over


@laws
@given(st.floats(1e-4, 500.0))
def test_reserve_ratio_is_lambert_w(z: float) -> None:
    expected = -float(lambertw(-np.exp(-1 - z), -1).real)
    assert np.isclose(float(reserve_ratio(column(z))[0]), expected, rtol=1e-10)


def test_reserve_ratio_rises_from_one_to_no_end() -> None:
    z = np.logspace(-12, 12, 50_000)
    assert (np.diff(reserve_ratio(z)) > 0).all()
    assert reserve_ratio(column(0.0, np.inf)).tolist() == [1.0, np.inf]


def test_long_columns_give_what_short_ones_give() -> None:
    """Blocks leave no seam, and a table keeps its shape."""
    y = np.random.default_rng(3).random((5, 9_000))
    expected = np.array([[g_inverse(column(value))[0] for value in row[:50]] for row in y])
    assert np.allclose(g_inverse(y)[:, :50], expected, rtol=1e-14)
    assert np.allclose(g_inverse(y)[-1, -1], g_inverse(y[-1, -1:]), rtol=1e-14)
    assert reserve_ratio(y).shape == y.shape
