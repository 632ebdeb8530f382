"""The maximum mean calibration error against its literal definition."""

from dataclasses import replace
from math import exp, fsum, sqrt

import numpy as np
import pytest

from believable import CellStats, Predictions, _kernels, maximum_mean_calibration_error
from believable.errors import InputError, UndefinedError
from believable.metrics.maximum_mean_calibration_error import _root, _unbiased
from believable.stats.source import count_points
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, Data, choices, close, mean, over, pairs


def products(group, bandwidth, same):
    """w_i w_j (y_i - p_i)(y_j - p_j) k, summed over pairs; a row with itself if `same`."""
    return fsum(
        v * w * (y - p) * (z - q) * exp(-abs(p - q) / bandwidth)
        for i, (p, y, v) in enumerate(group)
        for j, (q, z, w) in enumerate(group)
        if same or i != j
    )


def literal(data, bandwidth=0.4, unbiased=False, **view):
    values = []
    for group in pairs(data, **view):
        if not group:
            continue
        total = fsum(w for _, _, w in group)
        if unbiased:
            weight = fsum(v * w for i, (_, _, v) in enumerate(group) for j, (_, _, w) in enumerate(group) if i != j)
            values.append((products(group, bandwidth, False) / weight, total))
        else:
            values.append((sqrt(max(products(group, bandwidth, True), 0)) / total, total))
    return mean(values)


@over(BINARY, SOFT, MULTILABEL)
@choices({}, {"bandwidth": 0.003}, {"bandwidth": 50}, name="kernel")
def test_definition(ask, data, kernel):
    """The root of the double sum, whatever the bandwidth."""
    value, expected = ask(maximum_mean_calibration_error, data, **kernel), literal(data, **kernel)
    assert value == close(expected)


@over({name: data for name, data in BINARY.items() if len(data.scores) > 1}, MULTILABEL)
@choices({}, {"bandwidth": 0.003}, name="kernel")
def test_unbiased(ask, data, kernel):
    """The double sum without the diagonal, signed, over W^2 - sum w^2."""
    value = ask(maximum_mean_calibration_error, data, unbiased=True, **kernel)
    assert value == pytest.approx(literal(data, unbiased=True, **kernel), rel=1e-11, abs=1e-15)


@over(MATRIX)
@choices({"notion": None}, {"notion": "classwise"}, {"notion": "top_label"}, {"notion": "rth", "r": 2}, name="view")
def test_matrix(ask, data, view):
    """Of a matrix, the confidences, or any notion; groups are averaged by weight."""
    assert ask(maximum_mean_calibration_error, data, **view) == close(literal(data, **view))


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-6, 1e-3, 9e-3, 1.1e-2, 1.0, 1e6])
def test_running_sums(bandwidth):
    """Sums that fade are those of all pairs, for points close together and far apart, and in batches."""
    rng = np.random.default_rng(1)
    x = np.sort(np.concatenate([rng.random(40), 0.5 + 1e-7 * rng.random(40), np.zeros(3), np.ones(3)]))
    values = rng.standard_normal((3, len(x)))
    with np.errstate(over="ignore"):
        kernel = np.exp(-(np.abs(x[:, None] - x) / bandwidth))
    form = np.einsum("bi,ij,bj->b", values, kernel, values)
    assert _kernels.faded_sums(x, values, bandwidth) == pytest.approx(values @ np.triu(kernel), abs=1e-11)
    assert _kernels.faded_before(x, values, bandwidth) == pytest.approx(values @ np.triu(kernel, 1), abs=1e-11)
    assert _kernels.faded_around(x, values, bandwidth) == pytest.approx(values @ (kernel - np.eye(len(x))), abs=1e-11)
    assert _kernels.laplace_form(x, values, bandwidth) == pytest.approx(form, rel=1e-11)


def test_near_zero_is_exact():
    """Residuals that nearly cancel leave no noise under the root: the value shrinks as the root of the distance."""
    for apart in (1e-6, 1e-10, 1e-14):
        q = 0.5 + apart
        value = maximum_mean_calibration_error([0.5, q], [1, 0])
        exact = sqrt((apart**2 + 2 * 0.5 * q * ((q - 0.5) / 0.4)) / 4)  # (0.5 - q)^2 + 2 0.5 q (1 - k)
        assert value == pytest.approx(exact, rel=1e-5)


def test_cells():
    """From cells it is the error of the data, up to the width of a cell."""
    rng = np.random.default_rng(3)
    p = rng.random(2000)
    data = Predictions(p, rng.random(2000) < p**2)
    for unbiased in (False, True):
        assert maximum_mean_calibration_error(CellStats.of(data), unbiased=unbiased) == pytest.approx(
            maximum_mean_calibration_error(data, unbiased=unbiased), abs=1e-4
        )


@pytest.mark.parametrize("function", [_root, _unbiased])
def test_replicates(function):
    """Many outcomes on the same scores are one call, and each is its own value."""
    rng = np.random.default_rng(4)
    (points,) = count_points(Predictions(np.round(rng.random(50), 1), rng.integers(0, 2, 50)))
    many = rng.binomial(points.n, points.score, (6, len(points.score))).astype(float)
    expected = [function(replace(points, wy=row, w2y=row), 0.4) for row in many]
    assert function(replace(points, wy=many, w2y=many), 0.4) == pytest.approx(expected, rel=1e-12)


def test_mean_zero_when_calibrated():
    """The unbiased square has mean 0 for calibrated scores; the plug-in has not."""
    rng = np.random.default_rng(5)
    signed, plain = [], []
    for _ in range(400):
        p = rng.random(30)
        y = rng.random(30) < p
        signed.append(maximum_mean_calibration_error(p, y, unbiased=True))
        plain.append(maximum_mean_calibration_error(p, y) ** 2)
    error = np.std(signed) / sqrt(len(signed))
    assert abs(np.mean(signed)) < 3 * error
    assert np.mean(plain) > 10 * error


def test_what_is_undefined():
    """One row has no pairs, a share is no outcome, and a bandwidth is above 0."""
    with pytest.raises(UndefinedError, match="it needs two rows of every class or rank"):
        maximum_mean_calibration_error([0.3], [1], unbiased=True)
    with pytest.raises(UndefinedError, match="it needs two rows of every class or rank"):
        maximum_mean_calibration_error([0.3, 0.4], [1, 0], unbiased=True, sample_weight=[1, 0])
    with pytest.raises(UndefinedError, match="got soft labels"):
        maximum_mean_calibration_error(Predictions([0.3, 0.4], [0.5, 0], soft_labels=True), unbiased=True)
    with pytest.raises(InputError, match="bandwidth must be above 0, got 0"):
        maximum_mean_calibration_error([0.3], [1], bandwidth=0)
    with pytest.raises(InputError, match="unbiased must be True or False"):
        maximum_mean_calibration_error([0.3], [1], unbiased="yes")


def test_row_with_nearly_all_weight(ask):
    """Weights that differ by many orders keep the unbiased value exact."""
    data = Data(np.array([0.2, 0.5, 0.8, 0.8]), np.array([0, 1, 0, 1]), np.array([1e9, 1.0, 1.0, 2.0]))
    assert ask(maximum_mean_calibration_error, data, unbiased=True) == close(literal(data, unbiased=True))
