"""The debiased calibration error against its literal definition."""

from math import fsum, sqrt

import pytest

from believable import debiased_calibration_error
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
