"""The static calibration error against its literal definition."""

from math import fsum

from believable import static_calibration_error
from tests.metrics.literal import (
    MATRIX,
    MULTILABEL,
    NORMS,
    binned_error,
    cells,
    choices,
    close,
    every_edge,
    matrix_on_edges,
    over,
)


@over(MATRIX, MULTILABEL)
def test_definition(ask, data):
    """The SCE is the mean over classes of the one-vs-rest ECE in bins of equal width."""
    found = cells(data, 15, notion="classwise")
    n_classes = data.scores.shape[1]
    each = [binned_error([cell for cell in found if cell.group == k]) for k in range(n_classes)]
    assert ask(static_calibration_error, data, n_bins=15) == close(fsum(each) / n_classes)


@over(MATRIX, MULTILABEL)
@choices({}, {"threshold": 0.05}, {"pooled": True}, {"edges": [0, 0.01, 0.5, 1]}, name="choice")
def test_norms(ask, data, choice):
    """Of any order, the root is taken once over the bins of all classes."""
    found = cells(data, notion="classwise", **choice)
    for norm in NORMS:
        assert ask(static_calibration_error, data, norm=norm, **choice) == close(binned_error(found, norm))


@every_edge
def test_edges(ask, n_bins, dtype):
    """Edges belong to the bin below."""
    data = matrix_on_edges(n_bins, dtype)
    literal = binned_error(cells(data, n_bins, notion="classwise"))
    assert ask(static_calibration_error, data, n_bins=n_bins) == close(literal)
