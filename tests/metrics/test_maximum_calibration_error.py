"""The maximum calibration error against its literal definition."""

from believable import maximum_calibration_error
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
    return max(abs(cell.gap) for cell in cells(data, **choice))


@over(BINARY, SOFT, MATRIX, MULTILABEL)
@choices(*BINS)
def test_definition(ask, data, bins):
    """The MCE is the largest gap of any bin that is not empty."""
    assert ask(maximum_calibration_error, data, **bins) == close(literal(data, **bins))


@over(MATRIX)
@choices({"notion": "top_r", "r": 2}, {"notion": "classwise", "threshold": 0.05, "pooled": True}, name="view")
def test_views(ask, data, view):
    """It is the largest of every class or rank."""
    assert ask(maximum_calibration_error, data, **view) == close(literal(data, **view))


@every_edge
def test_edges(ask, n_bins, dtype):
    """Edges belong to the bin below."""
    data = on_edges(n_bins, dtype)
    assert ask(maximum_calibration_error, data, n_bins=n_bins) == close(literal(data, n_bins=n_bins))
