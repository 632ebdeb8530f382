"""The top-label calibration error against its literal definition."""

from believable import top_label_calibration_error
from tests.metrics.literal import (
    BINS,
    MATRIX,
    NORMS,
    binned_error,
    cells,
    choices,
    close,
    every_edge,
    matrix_on_edges,
    over,
)


@over(MATRIX)
@choices(*BINS, {"threshold": 0.3})
def test_definition(ask, data, bins):
    """Confidences are kept apart by the predicted class, argmax ties to the lowest."""
    found = cells(data, notion="top_label", **bins)
    for norm in NORMS if found else ():
        assert ask(top_label_calibration_error, data, norm=norm, **bins) == close(binned_error(found, norm))


@every_edge
def test_edges(ask, n_bins, dtype):
    """Edges belong to the bin below."""
    data = matrix_on_edges(n_bins, dtype)
    literal = binned_error(cells(data, n_bins, notion="top_label"))
    assert ask(top_label_calibration_error, data, n_bins=n_bins) == close(literal)
