"""The top-r calibration error against its literal definition."""

import pytest

from believable import top_r_calibration_error
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
@choices(*BINS, {"pooled": True}, {"threshold": 0.05})
def test_definition(ask, data, bins):
    """The three largest entries, at most K, are kept apart by rank, ties to the lower class first."""
    found = cells(data, notion="top_r", r=min(3, data.scores.shape[1]), **bins)
    for norm in NORMS:
        assert ask(top_r_calibration_error, data, norm=norm, **bins) == close(binned_error(found, norm))


@over(MATRIX)
@pytest.mark.parametrize("r", [1, 2, 9, 40])
def test_ranks(ask, data, r):
    """Another r takes as many ranks, at most K."""
    literal = binned_error(cells(data, notion="top_r", r=min(r, data.scores.shape[1])))
    assert ask(top_r_calibration_error, data, r=r) == close(literal)


@every_edge
def test_edges(ask, n_bins, dtype):
    """Edges belong to the bin below."""
    data = matrix_on_edges(n_bins, dtype)
    literal = binned_error(cells(data, n_bins, notion="top_r", r=3))
    assert ask(top_r_calibration_error, data, n_bins=n_bins) == close(literal)
