"""The adaptive calibration error against its literal definition."""

import pytest

from believable import adaptive_calibration_error
from tests.metrics.literal import (
    BINARY,
    MATRIX,
    MULTILABEL,
    NORMS,
    SOFT,
    binned_error,
    cells,
    choices,
    close,
    over,
)


@over(BINARY, SOFT)
@pytest.mark.parametrize("n_bins", [1, 2, 10, 15, 250])
def test_one_column(ask, data, n_bins):
    """The ACE of 1-D scores is the weighted mean gap of bins of equal weight."""
    literal = binned_error(cells(data, n_bins, "quantile"))
    assert ask(adaptive_calibration_error, data, n_bins=n_bins) == close(literal)


@over(MATRIX, MULTILABEL)
@choices({}, {"threshold": 0.05}, {"pooled": True}, {"threshold": 0.05, "pooled": True}, name="view")
def test_matrix(ask, data, view):
    """The ACE of a matrix makes bins of equal weight for every class, from the entries kept."""
    found = cells(data, 10, "quantile", notion="classwise", **view)
    for norm in NORMS:
        assert ask(adaptive_calibration_error, data, norm=norm, **view) == close(binned_error(found, norm))


@over(MATRIX)
@choices({"notion": "confidence"}, {"notion": "top_label"}, name="view")
def test_other_notions(ask, data, view):
    """Any notion can have bins of equal weight."""
    literal = binned_error(cells(data, 5, "quantile", **view))
    assert ask(adaptive_calibration_error, data, n_bins=5, **view) == close(literal)
