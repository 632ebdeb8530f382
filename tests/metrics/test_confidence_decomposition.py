"""Over- and under-confidence against their literal definition."""

from math import fsum

from believable import confidence_decomposition
from tests.metrics.literal import (
    BINARY,
    BINS,
    MATRIX,
    MULTILABEL,
    SOFT,
    binned_error,
    cells,
    choices,
    close,
    every_edge,
    on_edges,
    over,
)


def agrees(ask, data, **choice):
    found = cells(data, **choice)
    total = fsum(cell.weight for cell in found)
    result = ask(confidence_decomposition, data, **choice)
    assert result.over == close(fsum(-cell.gap * cell.weight / total for cell in found if cell.gap < 0))
    assert result.under == close(fsum(cell.gap * cell.weight / total for cell in found if cell.gap > 0))
    assert result.total == float(result) == close(binned_error(found))


@over(BINARY, SOFT, MATRIX, MULTILABEL)
@choices(*BINS)
def test_definition(ask, data, bins):
    """Bins with conf above acc make the over-confident part, bins below the other, and both the ECE."""
    agrees(ask, data, **bins)


@over(MATRIX)
@choices({"notion": "top_r", "r": 2}, {"notion": "classwise", "threshold": 0.05, "pooled": True}, name="view")
def test_views(ask, data, view):
    """So for every notion."""
    agrees(ask, data, **view)


@every_edge
def test_edges(ask, n_bins, dtype):
    """Edges belong to the bin below."""
    agrees(ask, on_edges(n_bins, dtype), n_bins=n_bins)
