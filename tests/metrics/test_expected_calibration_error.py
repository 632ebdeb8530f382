"""The expected calibration error against its literal definition."""

import numpy as np
import pytest

from believable import expected_calibration_error
from tests.metrics.literal import (
    BINARY,
    BINS,
    MATRIX,
    MULTILABEL,
    NORMS,
    SOFT,
    Data,
    binned_error,
    cells,
    choices,
    close,
    every_edge,
    long,
    matrix_on_edges,
    on_edges,
    over,
)

VIEWS = (
    {"notion": "confidence"},
    {"notion": "confidence", "threshold": 0.05},
    {"notion": "top_label"},
    {"notion": "top_label", "pooled": True},
    {"notion": "classwise"},
    {"notion": "classwise", "pooled": True},
    {"notion": "classwise", "threshold": 0.05},
    {"notion": "classwise", "threshold": 0.05, "pooled": True},
    {"notion": "top_r", "r": 2},
    {"notion": "top_r", "r": 2, "pooled": True},
    {"notion": "top_r", "r": 2, "threshold": 0.05},
    {"notion": "classwise_top_r", "r": 2},
    {"notion": "classwise_top_r", "r": 2, "threshold": 0.05},
    {"notion": "rth", "r": 2},
    {"notion": "within_top_r", "r": 2},
)


def agrees(ask, data, **choice):
    found = cells(data, **choice)
    for norm in NORMS:
        assert ask(expected_calibration_error, data, norm=norm, **choice) == close(binned_error(found, norm)), norm


@over(BINARY, SOFT, MULTILABEL)
@choices(*BINS)
def test_one_column(ask, data, bins):
    """The error is the weighted p-mean of the gaps of right-closed bins."""
    agrees(ask, data, **bins)


@over(MATRIX)
@choices(*VIEWS, name="view")
@choices(*BINS)
def test_notions(ask, data, view, bins):
    """Every notion is a way to make pairs of a matrix, kept apart or pooled, all or those above a threshold."""
    agrees(ask, data, **view, **bins)


@every_edge
def test_edges(ask, n_bins, dtype):
    """A score on an edge k/M belongs to the bin below it, in the type of the scores."""
    agrees(ask, on_edges(n_bins, dtype), n_bins=n_bins)
    agrees(ask, on_edges(n_bins, dtype), edges=[m / n_bins for m in range(n_bins + 1)])


@every_edge
@choices({"notion": "confidence"}, {"notion": "classwise"}, {"notion": "top_r", "r": 3}, name="view")
def test_matrix_edges(ask, n_bins, dtype, view):
    """So does an entry of a matrix."""
    agrees(ask, matrix_on_edges(n_bins, dtype), n_bins=n_bins, **view)


@every_edge
def test_threshold_on_score(ask, n_bins, dtype):
    """A score equal to the threshold, in the type of the scores, is not above it."""
    for k in (1, 3, n_bins - 1):
        agrees(ask, on_edges(n_bins, dtype), n_bins=n_bins, threshold=k / n_bins)


def test_threshold_type():
    """A threshold is a number, whatever type holds it."""
    scores = np.array([0.3, 0.6], np.float32)
    values = {expected_calibration_error(scores, [0, 1], threshold=kind(0.3)) for kind in (float, np.float64)}
    assert len(values) == 1


@pytest.mark.slow
@choices(*BINS)
def test_long(ask, bins):
    """The number of rows makes no difference to the definition."""
    agrees(ask, long(33_000), **bins)


@pytest.mark.slow
@choices({"notion": "confidence"}, {"notion": "classwise"}, {"notion": "rth", "r": 9}, name="view")
def test_long_and_wide(ask, view):
    """Nor does the number of columns."""
    agrees(ask, long(2_700, 100), n_bins=4, **view)


@pytest.mark.parametrize("name", ["two columns", "two columns float32", "two columns at 1/2"])
@choices(*BINS)
def test_two_columns(ask, name, bins):
    """The binary notion of two columns is the answer of the second."""
    matrix = MATRIX[name]
    column = Data(matrix.scores[:, 1], matrix.labels)
    agrees(ask, matrix, notion="binary", **bins)
    assert ask(expected_calibration_error, matrix, notion="binary", **bins) == close(
        binned_error(cells(column, **bins))
    )
