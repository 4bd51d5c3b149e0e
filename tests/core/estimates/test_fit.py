"""Algorithm 2 against scipy, finite differences and its own second run."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from mayfly.core.estimates.fit import _downhill, fit_decay
from mayfly.core.model import DAY, WEEK

BIN = 1200.0
BINS = int(WEEK / BIN)


def histograms(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean cumulative clicks per page of sources that differ in everything; with the decays behind them."""
    profit = 10 ** rng.uniform(-1, 2, count)
    decay = 10 ** rng.uniform(np.log10(0.4), np.log10(12), count) / DAY
    bins = rng.integers(BINS // 7, BINS, count)
    pages = rng.integers(10, 400, count)
    clicks = np.zeros((count, BINS))
    for row in range(count):
        age = rng.exponential(1 / decay[row], rng.poisson(profit[row] * pages[row]))
        place = (age // BIN).astype(int)
        clicks[row] = np.bincount(place[place < bins[row]], minlength=BINS)[:BINS] / pages[row]
    return np.cumsum(clicks, axis=1), bins, decay


def scipy_fit(clicks: np.ndarray, bins: int) -> tuple[float, float]:
    """The same least squares, on the same scaled data, by trust regions from several starts."""
    age = (np.arange(bins) + 1) * BIN / DAY
    target = clicks[:bins] / clicks[bins - 1]
    fits = [
        least_squares(
            lambda p: p[0] * (1 - np.exp(-p[1] * age)) - target,
            (1.0, start),
            bounds=((0, 1 / 100), (np.inf, 200.0)),
            x_scale=(1.0, start),
        )
        for start in (0.5, 5.0)
    ]
    best = min(fits, key=lambda fit: fit.cost)
    return float(best.x[0] * clicks[bins - 1]), float(best.x[1]) / DAY


def test_profit_and_decay_are_those_of_scipy_on_nearly_all_histograms() -> None:
    clicks, bins, _ = histograms(220, np.random.default_rng(8))
    some = clicks[np.arange(len(clicks)), bins - 1] > 0
    clicks, bins = clicks[some][:200], bins[some][:200]
    assert len(bins) == 200
    profit, decay = fit_decay(clicks, bins, BIN, np.full(200, 1 / DAY))
    expected = np.array([scipy_fit(row, count) for row, count in zip(clicks, bins.tolist(), strict=True)])
    agrees = (np.abs(profit / expected[:, 0] - 1) < 0.01) & (np.abs(decay / expected[:, 1] - 1) < 0.01)
    assert agrees.mean() >= 0.95


def test_the_way_down_is_that_of_the_error() -> None:
    """P is where F is lowest for this μ, and the move goes against the slope of footnote 4 (by finite differences)."""
    rng = np.random.default_rng(2)
    counts = np.arange(60) < rng.integers(5, 61, (7, 1))
    age = np.where(counts, (np.arange(60) + 1) / 10, 0.0)
    target = np.where(counts, np.sort(rng.random((7, 60)), axis=1), 0.0)
    decay = rng.uniform(0.2, 5, 7)

    def error(profit: np.ndarray, decay: np.ndarray) -> np.ndarray:
        return np.array(
            [
                sum((p * (1 - np.exp(-m * a)) - t) ** 2 for a, t in zip(ages, ts, strict=True))
                for ages, ts, p, m in zip(age, target, profit, decay, strict=True)
            ]
        )

    value, move, profit = _downhill(age, target, decay)
    assert np.allclose(value, error(profit, decay), rtol=1e-10)
    for off in (0.99, 1.01):
        assert (error(off * profit, decay) > value).all()
    step = 1e-5
    slope = (error(profit, decay + step) - error(profit, decay - step)) / (2 * step)
    assert (np.sign(move) == -np.sign(slope)).all()
    short = _downhill(age, target, decay + 1e-3 * move)[0]
    assert (short < value).all()


def test_a_second_fit_from_the_last_result_stays_there() -> None:
    clicks, bins, _ = histograms(60, np.random.default_rng(4))
    some = clicks[np.arange(60), bins - 1] > 0
    clicks, bins = clicks[some], bins[some]
    first = fit_decay(clicks, bins, BIN, np.full(len(bins), 1 / DAY))
    second = fit_decay(clicks, bins, BIN, first[1])
    assert np.allclose(second[0], first[0], rtol=1e-3)
    assert np.allclose(second[1], first[1], rtol=1e-3)


def test_profit_and_decay_are_recovered_from_many_clicks() -> None:
    rng = np.random.default_rng(6)
    profit, decay = np.array([0.5, 4.0, 30.0]), np.array([0.7, 1.5, 6.0]) / DAY
    pages = 20_000
    clicks = np.zeros((3, BINS))
    for row in range(3):
        place = (rng.exponential(1 / decay[row], rng.poisson(profit[row] * pages)) // BIN).astype(int)
        clicks[row] = np.bincount(place[place < BINS], minlength=BINS) / pages
    fitted = fit_decay(np.cumsum(clicks, axis=1), np.full(3, BINS), BIN, np.full(3, 1 / DAY))
    assert np.allclose(fitted[0], profit, rtol=0.03)
    assert np.allclose(fitted[1], decay, rtol=0.03)


def test_a_fit_does_not_depend_on_its_neighbours() -> None:
    """All histograms go down together, and each ends where it would have ended alone."""
    clicks, bins, _ = histograms(12, np.random.default_rng(9))
    clicks += 0.1  # no row without a click
    start = np.full(12, 1 / DAY)
    together = fit_decay(clicks, bins, BIN, start)
    for row in range(12):
        one = slice(row, row + 1)
        alone = fit_decay(clicks[one], bins[one], BIN, start[one])
        assert np.isclose(alone[0][0], together[0][row], rtol=1e-6)
        assert np.isclose(alone[1][0], together[1][row], rtol=1e-6)


def test_histograms_without_a_bend_end_in_bounds() -> None:
    """Clicks all at once, and clicks at an even pace for ever: finite, positive, and within the range of decays."""
    at_once = np.ones(BINS)
    even = np.arange(1, BINS + 1) / BINS
    last = np.concatenate([np.zeros(BINS - 1), [1.0]])
    rows = np.stack([at_once, even, last])
    profit, decay = fit_decay(rows, np.full(3, BINS), BIN, np.full(3, 1 / DAY))
    assert (np.isfinite(profit) & (profit > 0)).all()
    assert (decay * DAY >= 0.00999).all()
    assert (decay * DAY <= 200.001).all()
    assert decay[0] > decay[1]
