"""The kernel calibration curve against means weighted by Gaussians and their mirror images, one by one."""

from math import exp, fsum, sqrt

import numpy as np
import pytest

from believable import CellStats, Predictions, kernel_calibration_curve, smooth_calibration_error
from believable.curves import smoothed
from believable.errors import InputError, UndefinedError
from tests.curves.literal_local import places, shares_near
from tests.metrics.literal import BINARY, MATRIX, SOFT, over, pairs

RNG = np.random.default_rng(20240603)
Z = 1.959963984540054


def reflected(t, p, s):
    """The Gaussian at p and all its images in 0 and 1, up to a common factor: far images add nothing."""
    turns = int(20 * s) + 2
    return fsum(
        exp(-((t - image) ** 2) / (2 * s * s))
        for turn in range(-turns, turns + 1)
        for image in (2 * turn + p, 2 * turn - p)
    )


def local_mean(group, t, s):
    """Weighted mean of the outcomes, and the weights of the pairs in it."""
    k = [w * reflected(t, p, s) for p, _, w in group]
    total = fsum(k)
    shares = [part / total for part in k]
    return fsum(share * y for share, (_, y, _) in zip(shares, group, strict=True)), shares


@over(BINARY, {"soft, ties, weights": SOFT["soft, ties, weights"]})
@pytest.mark.parametrize("s", [0.06, 0.5])
def test_definition(data, s):
    """At 101 places it is the mean of the outcomes under the reflected Gaussian."""
    group = pairs(data)[0]
    found = kernel_calibration_curve(
        Predictions(data.scores, data.labels, sample_weight=data.weights, soft_labels=data.kind == "soft"), bandwidth=s
    )
    at = places(group)
    assert found.x.tolist() == pytest.approx(at, rel=1e-15)
    expected = [local_mean(group, t, s)[0] for t in found.x[::20].tolist()]
    assert found.y[::20].tolist() == pytest.approx(expected, abs=1e-12)
    total = fsum(w for _, _, w in group)
    assert (found.weight / total).tolist() == pytest.approx(shares_near(group, at), abs=1e-12)


@over({name: BINARY[name] for name in ("random", "ties and weights", "0 and 1")})
def test_interval(data):
    """The variance is that of the weighted mean, outcomes happening at the rate of the curve; images included."""
    group, s = pairs(data)[0], 0.2
    found = kernel_calibration_curve(data.scores, data.labels, bandwidth=s, sample_weight=data.weights)
    for i in (0, 3, 50, 100):
        _, shares = local_mean(group, float(found.x[i]), s)
        g = np.interp([p for p, _, _ in group], found.x, found.y)
        half = Z * sqrt(fsum(share**2 * rate * (1 - rate) for share, rate in zip(shares, g, strict=True)))
        assert found.low[i] == pytest.approx(max(found.y[i] - half, 0), abs=1e-12)
        assert found.high[i] == pytest.approx(min(found.y[i] + half, 1), abs=1e-12)


def test_default_bandwidth():
    """The bandwidth is the smooth calibration error, unless another is asked for."""
    p = RNG.random(300)
    data = Predictions(p, RNG.random(300) < p)
    found = kernel_calibration_curve(data)
    assert found.settings == {"bandwidth": smooth_calibration_error(data), "notion": "binary", "level": 0.95}
    same = kernel_calibration_curve(data, bandwidth=found.settings["bandwidth"])
    assert np.array_equal(found.y, same.y)
    assert found.method == "kernel"


def test_far_from_all_scores():
    """Where no score is near the rate is that of the nearest, however narrow the kernel is; no bandwidth is the limit."""
    scores, labels = [0.1, 0.1, 0.2, 0.9], [0, 1, 1, 0]
    for s in (0, 1e-9, 1e-5, 1e-3):
        y = kernel_calibration_curve(scores, labels, bandwidth=s).y
        assert y[[0, 20, 90, 100]].tolist() == [0.5, 1.0, 0.0, 0.0]
    assert kernel_calibration_curve([0.0, 1.0], [0, 1]).y[[0, 50, 100]].tolist() == [0, 0.5, 1]


def test_wide_kernels_are_flat():
    """A bandwidth without end gives the mean of all outcomes."""
    for s in (3.0, 1e6):
        assert kernel_calibration_curve([0.0, 0.3, 1.0], [1, 0, 1], bandwidth=s).y == pytest.approx(2 / 3)


def test_one_row_and_one_class():
    """One score is one point, and outcomes that never happen give zero."""
    one = kernel_calibration_curve([0.7], [1])
    assert [one.x.tolist(), one.y.tolist(), one.weight.tolist()] == [[0.7], [1.0], [1.0]]
    assert not kernel_calibration_curve(RNG.random(30), np.zeros(30, int)).high.any()


def test_the_highest_level():
    """The last level below 1 has a band that holds the usual one."""
    p, y = RNG.random(50), RNG.integers(0, 2, 50)
    curve, usual = kernel_calibration_curve(p, y, level=1 - 2**-53), kernel_calibration_curve(p, y)
    assert np.all((curve.low <= usual.low) & (usual.high <= curve.high))


def test_merging(monkeypatch):
    """Cells of a two-hundredth of the bandwidth move the curve by less than a hundredth of its standard error."""
    p = RNG.random(6000)
    data = Predictions(p, RNG.random(6000) < p)
    for s in (0.1, 0.4):
        exact = kernel_calibration_curve(data, bandwidth=s)
        with monkeypatch.context() as patch:
            patch.setattr(smoothed, "MAX_SCORES_UNMERGED", 100)
            found = kernel_calibration_curve(data, bandwidth=s)
        assert np.all(np.abs(found.y - exact.y) < (exact.high - exact.low) / 400)
        assert found.low == pytest.approx(exact.low, abs=1e-3)
        assert np.array_equal(found.weight, exact.weight)


def test_matrix_and_cells():
    """Of a matrix the confidences are looked at; cells of a fine grid answer like the data."""
    data = MATRIX["random"]
    found = kernel_calibration_curve(data.scores, data.labels, bandwidth=0.1)
    group = pairs(data)[0]
    assert found.y[::25].tolist() == pytest.approx([local_mean(group, t, 0.1)[0] for t in found.x[::25].tolist()])
    cells = CellStats.of(Predictions(data.scores, data.labels))
    assert kernel_calibration_curve(cells, bandwidth=0.1).y == pytest.approx(found.y, abs=1e-3)
    with pytest.raises(UndefinedError, match="a curve needs one set of scores, but there are 4"):
        kernel_calibration_curve(data.scores, data.labels, notion="classwise")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth": -1}, "bandwidth must be a number from 0 to inf, got -1"),
        ({"level": 0}, "level must lie strictly between 0 and 1, got 0"),
    ],
)
def test_bad_choices(options, message):
    """Choices that make no sense are refused by name."""
    with pytest.raises(InputError, match=message):
        kernel_calibration_curve([0.1, 0.9], [0, 1], **options)
