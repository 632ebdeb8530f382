"""The debiased calibration error against its literal definition."""

from math import exp, fsum, pi, sqrt

import numpy as np
import pytest

from believable import BinStats, Predictions, debiased_calibration_error, interval
from believable.errors import InputError, UndefinedError
from tests.metrics.literal import (
    BINARY,
    BINS,
    MATRIX,
    MULTILABEL,
    Data,
    cells,
    choices,
    close,
    every_edge,
    on_edges,
    over,
)


def noise(cell, variance):
    """v_c / n_c; v_c is the sample variance (ddof 1) of the residuals, n_c the effective size."""
    n = cell.effective_n
    if variance == "label":
        return cell.acc * (1 - cell.acc) / (n - 1)
    about_mean = fsum(w * (y - p - cell.gap) ** 2 for p, y, w in cell.pairs) / cell.weight
    return n / (n - 1) * about_mean / n


def agrees(ask, data, variance="residual", strategy="quantile", **choice):
    found = cells(data, strategy=strategy, **choice)
    total = fsum(cell.weight for cell in found)
    kept = [cell for cell in found if cell.effective_n >= 2]
    squared = fsum(cell.weight / total * (cell.gap**2 - noise(cell, variance)) for cell in kept)
    result = ask(debiased_calibration_error, data, variance=variance, strategy=strategy, **choice)
    assert result.squared == close(squared)
    assert result.value == close(sqrt(max(squared, 0)))
    assert (result.n_cells, result.n_skipped) == (len(found), len(found) - len(kept))


@over(BINARY, MATRIX, MULTILABEL)
@choices(*BINS, {})
@pytest.mark.parametrize("variance", ["residual", "label"])
def test_definition(ask, data, bins, variance):
    """Each bin's squared gap is reduced by the variance of its mean, and bins of fewer than two rows add nothing."""
    agrees(ask, data, variance, **bins)


@over(MATRIX)
@choices({"notion": "classwise", "threshold": 0.05}, {"notion": "top_r", "r": 2, "pooled": True}, name="view")
def test_views(ask, data, view):
    """So for every notion."""
    agrees(ask, data, n_bins=4, **view)


@every_edge
def test_edges(ask, n_bins, dtype):
    """Edges belong to the bin below."""
    agrees(ask, on_edges(n_bins, dtype), strategy="uniform", n_bins=n_bins)


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 7.3])
def test_two_equal_weights_are_two_rows(ask, weight):
    """Two rows of one weight have the effective size 2, whatever the weight."""
    data = BINARY["in order"]
    agrees(ask, Data(data.scores, data.labels, data.labels * 0 + weight), n_bins=20)


# --- absolute gaps ---


def mean_size(gap, variance):
    """E|X| for X normal around the gap, by Simpson's rule between places where nothing is left."""
    if variance <= 0:
        return abs(gap)
    sd, n = sqrt(variance), 4000
    total = 0.0
    for start, end in ((-12.0, -gap / sd), (-gap / sd, 12.0)):  # the kink of |gap + sd z| is an end
        if end <= start:
            continue
        step = (end - start) / n
        for i in range(n + 1):
            z = start + i * step
            weight = 1 if i in (0, n) else 4 if i % 2 else 2
            total += weight * step / 3 * abs(gap + sd * z) * exp(-z * z / 2) / sqrt(2 * pi)
    return total


@pytest.mark.parametrize("variance", ["residual", "label"])
@pytest.mark.parametrize("name", ["random", "ties", "0 and 1", "weights with zeros", "unequal weights", "one class"])
def test_absolute_gaps(ask, name, variance):
    """Each gap counts twice, less the mean size of a gap with as much noise again."""
    data = BINARY[name]
    found = cells(data, n_bins=7, strategy="quantile")
    total = fsum(cell.weight for cell in found)
    kept = [cell for cell in found if cell.effective_n >= 2]
    signed = fsum(
        cell.weight / total * (2 * abs(cell.gap) - mean_size(cell.gap, max(noise(cell, variance), 0))) for cell in kept
    )
    result = ask(debiased_calibration_error, data, n_bins=7, norm=1, variance=variance)
    assert result.signed == pytest.approx(signed, rel=1e-9, abs=1e-12)
    assert (result.value, float(result)) == (max(result.signed, 0), max(result.signed, 0))
    assert (result.norm, result.n_skipped) == (1, len(found) - len(kept))


def test_what_is_left_of_the_bias():
    """For normal gaps of no true error, 2 - sqrt(2) of the mean absolute gap is left, as the docstring says."""
    steps = np.linspace(-10, 10, 4001)
    density = np.exp(-(steps**2) / 2) / sqrt(2 * pi) * (steps[1] - steps[0])
    left = fsum(d * (2 * abs(z) - mean_size(z, 1.0)) for z, d in zip(steps[::20], density[::20] * 20, strict=True))
    assert left / sqrt(2 / pi) == pytest.approx(2 - sqrt(2), rel=5e-3)  # the sum over steps is that coarse


def test_no_other_norm():
    """Other powers have no established correction, and a result of absolute gaps has no square."""
    for norm in (3, 1.5, "max", "1", True, None, 0):
        with pytest.raises(
            InputError, match="norm must be 1 or 2, got .*: no other norm has an established correction"
        ):
            debiased_calibration_error([0.2, 0.8], [0, 1], norm=norm)
    with pytest.raises(UndefinedError, match="read `signed`"):
        debiased_calibration_error([0.2, 0.8], [0, 1], norm=1).squared  # noqa: B018 - reading it raises


def test_interval_is_of_the_error_that_is_estimated():
    """That of absolute gaps is the interval of the ECE in the same bins, that of squared ones of the RMSCE."""
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p**1.3
    for norm, name in ((1, "ece"), (2, "rmsce")):
        found = interval("dce", p, y, options={"norm": norm}, random_state=0)
        other = interval(name, p, y, options={"strategy": "quantile"}, random_state=0)
        assert (found.low, found.high, found.estimate) == (other.low, other.high, other.estimate)
    uniform = BinStats.of(Predictions(p, y))
    assert interval("dce", uniform, random_state=0).high == interval("rmsce", uniform, random_state=0).high
