"""The limits of the cumulative tests."""

from math import erfc, exp, pi, sqrt

import numpy as np
import pytest

from believable._kernels import range_tail, sup_tail


def area(y, x):
    """The integral by trapezoids."""
    return (y[1:] + y[:-1]) / 2 @ np.diff(x)


@pytest.mark.parametrize("x", [0.3, 0.7, 1.0, 1.2, 1.5, 2.0, 2.5, 4.0])
def test_two_series_agree(x):
    """Reflections and eigenvalues tell the same, whichever the function uses."""
    odd = [pi * (2 * k + 1) for k in range(60)]
    reflected = 2 * sum((-1) ** k * erfc((2 * k + 1) * x / sqrt(2)) for k in range(60))
    spectral = 1 - 4 * sum((-1) ** k / m * exp(-((m / x) ** 2) / 8) for k, m in enumerate(odd))
    assert sup_tail(x) == pytest.approx(reflected, abs=1e-14) == pytest.approx(spectral, abs=1e-14)
    reflected = 4 * sum((-1) ** (k - 1) * k * erfc(k * x / sqrt(2)) for k in range(1, 60))
    spectral = 1 - 8 * sum((1 / x**2 + 1 / m**2) * exp(-((m / x) ** 2) / 2) for m in odd)
    assert range_tail(x) == pytest.approx(reflected, abs=1e-14) == pytest.approx(spectral, abs=1e-14)


@pytest.mark.parametrize(
    ("tail", "mean", "square"), [(sup_tail, sqrt(pi / 2), None), (range_tail, sqrt(8 / pi), 4 * np.log(2))]
)
def test_moments(tail, mean, square):
    """The means are sqrt(pi / 2) and sqrt(8 / pi), and the mean square of the range is 4 log 2."""
    x = np.linspace(0, 9, 9001)
    values = np.array([tail(s) for s in x])
    assert np.all(np.diff(values) <= 1e-15)
    assert area(values, x) == pytest.approx(mean, rel=1e-9)
    assert square is None or area(2 * x * values, x) == pytest.approx(square, rel=1e-6)


def test_simulation():
    """A long random walk gets as far as the limit says, up to its last steps."""
    rng = np.random.default_rng(1)
    walk = np.cumsum(rng.choice(np.array([-1, 1], np.int8), (2000, 4000)), axis=1, dtype=np.int16) / sqrt(4000)
    high, low = np.maximum(walk.max(axis=1), 0), np.minimum(walk.min(axis=1), 0)
    for x in (1.0, 1.5, 2.0):
        assert np.mean(np.maximum(high, -low) > x) == pytest.approx(sup_tail(x), abs=0.04)
        assert np.mean(high - low > x) == pytest.approx(range_tail(x), abs=0.04)


def test_ends():
    """Nothing is below 0, nothing reaches infinity."""
    for tail in (sup_tail, range_tail):
        assert tail(0.0) == tail(1e-300) == tail(0.05) == 1
        assert tail(float("inf")) == 0
        assert 0 < tail(8.0) < 1e-13
