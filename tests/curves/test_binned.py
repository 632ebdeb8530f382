"""The binned curve and the reliability table against their literal definition."""

from math import nan, sqrt

import numpy as np

from believable import calibration_curve, reliability_table
from tests.metrics.literal import (
    BINARY,
    BINS,
    MATRIX,
    cells,
    choices,
    close,
    every_edge,
    on_edges,
    over,
    table,
)

Z = {0.95: 1.959963984540054, 0.9: 1.6448536269514722}  # quantiles of the normal distribution


def wilson(cell, level):
    """The two rates q with (acc - q)^2 = z^2 q (1 - q) / n."""
    z2 = Z[level] ** 2 / cell.effective_n
    a, b, c = 1 + z2, 2 * cell.acc + z2, cell.acc**2
    high = (b + sqrt(max(b * b - 4 * a * c, 0))) / (2 * a)
    return c / (a * high), high


def check_table(data, level=0.95, **choice):
    found = table(data, **choice)
    result = reliability_table(data.scores, data.labels, sample_weight=data.weights, level=level, **choice)
    assert result.edges.tolist() == [[cell.low, cell.high] for cell in found]
    assert result.stratum.tolist() == [cell.group for cell in found]
    assert result.n.tolist() == [len(cell.pairs) for cell in found]
    assert result.weight.tolist() == close([cell.weight for cell in found])
    for name in ("conf", "acc", "gap"):
        assert getattr(result, name).tolist() == close([getattr(cell, name) if cell.pairs else nan for cell in found])
    ends = [wilson(cell, level) if cell.pairs else (nan, nan) for cell in found]
    assert result.low.tolist() == close([low for low, _ in ends])
    assert result.high.tolist() == close([high for _, high in ends])


def check_curve(data, **choice):
    found = cells(data, **choice)
    mean_predicted, fraction, counts = calibration_curve(data.scores, data.labels, sample_weight=data.weights, **choice)
    assert mean_predicted.tolist() == close([cell.conf for cell in found])
    assert fraction.tolist() == close([cell.acc for cell in found])
    assert counts.tolist() == [len(cell.pairs) for cell in found]


@over(BINARY, MATRIX)
@choices(*BINS)
def test_calibration_curve(data, bins):
    """The curve is the mean score, mean outcome and number of rows of every bin that is not empty."""
    check_curve(data, **bins)


@over(MATRIX)
def test_pooled_curve(data):
    """Classes in common bins have one curve."""
    check_curve(data, notion="classwise", pooled=True, threshold=0.05)


@over(BINARY, MATRIX)
@choices(*BINS, {"level": 0.9})
def test_reliability_table(data, bins):
    """The table has every bin, empty ones too, with the Wilson interval of its effective size."""
    check_table(data, **bins)


@over(MATRIX)
@choices(
    {"notion": "classwise"},
    {"notion": "top_label"},
    {"notion": "top_r", "r": 2, "threshold": 0.1},
    {"notion": "classwise_top_r", "r": 2},
    name="view",
)
@choices({"n_bins": 5}, {"n_bins": 5, "strategy": "quantile"})
def test_groups(data, view, bins):
    """Classes and ranks that are kept apart follow each other, with bins of their own."""
    check_table(data, **view, **bins)


@every_edge
def test_edges(n_bins, dtype):
    """Edges belong to the bin below, and are told as rounded to the type of the scores."""
    check_table(on_edges(n_bins, dtype), n_bins=n_bins)
    check_curve(on_edges(n_bins, dtype), n_bins=n_bins)


def test_the_highest_level():
    """The last level below 1 has intervals, and they are not all of [0, 1]."""
    table = reliability_table(np.repeat([0.2, 0.8], 100), np.tile([0, 1], 100), level=1 - 2**-53, n_bins=2)
    assert np.all((table.low > 0) & (table.low < 0.5) & (table.high > 0.5) & (table.high < 1))


def test_order():
    """Scores come first and predictions are returned first."""
    conf, acc, counts = calibration_curve(np.array([0.2, 0.4, 0.9]), np.array([1, 0, 1]), n_bins=2)
    assert (conf.tolist(), acc.tolist(), counts.tolist()) == (close([0.3, 0.9]), [0.5, 1], [2, 1])
