"""The root mean square calibration error against its literal definition."""

from math import fsum, sqrt

from believable import root_mean_square_calibration_error
from tests.metrics.literal import (
    BINARY,
    BINS,
    MATRIX,
    MULTILABEL,
    SOFT,
    cells,
    choices,
    close,
    every_edge,
    on_edges,
    over,
)


def literal(data, **choice):
    found = cells(data, **choice)
    return sqrt(fsum(cell.weight * cell.gap**2 for cell in found) / fsum(cell.weight for cell in found))


@over(BINARY, SOFT, MATRIX, MULTILABEL)
@choices(*BINS)
def test_definition(ask, data, bins):
    """The RMSCE is the root of the weighted mean squared gap; quantile bins of confidences make it the TCE."""
    assert ask(root_mean_square_calibration_error, data, **bins) == close(literal(data, **bins))


@over(MATRIX)
@choices({"notion": "top_r", "r": 2}, {"notion": "classwise", "threshold": 0.05}, name="view")
def test_views(ask, data, view):
    """The root is taken once, over all classes or ranks."""
    assert ask(root_mean_square_calibration_error, data, **view) == close(literal(data, **view))


@every_edge
def test_edges(ask, n_bins, dtype):
    """Edges belong to the bin below."""
    data = on_edges(n_bins, dtype)
    assert ask(root_mean_square_calibration_error, data, n_bins=n_bins) == close(literal(data, n_bins=n_bins))
