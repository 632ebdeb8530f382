"""The average calibration error against its literal definition."""

from math import fsum

from believable import average_calibration_error
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
    return fsum(abs(cell.gap) for cell in found) / len(found)


@over(BINARY, SOFT, MATRIX, MULTILABEL)
@choices(*BINS)
def test_definition(ask, data, bins):
    """Every bin that is not empty counts the same."""
    assert ask(average_calibration_error, data, **bins) == close(literal(data, **bins))


@over(MATRIX)
def test_classwise(ask, data):
    """So does every bin of every class."""
    assert ask(average_calibration_error, data, notion="classwise") == close(literal(data, notion="classwise"))


@every_edge
def test_edges(ask, n_bins, dtype):
    """Edges belong to the bin below."""
    data = on_edges(n_bins, dtype)
    assert ask(average_calibration_error, data, n_bins=n_bins) == close(literal(data, n_bins=n_bins))
