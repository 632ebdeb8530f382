"""The sweep calibration error against its literal definition."""

from fractions import Fraction

import numpy as np
import pytest

from believable import CellStats, Predictions, sweep_calibration_error
from believable.errors import InputError
from tests.metrics.literal import BINARY, MATRIX, SOFT, Data, binned_error, cells, choices, close, over, pairs


def monotone(found):
    rates = [
        sum(Fraction(w) * Fraction(y) for _, y, w in cell.pairs) / sum(Fraction(w) for _, _, w in cell.pairs)
        for cell in found
    ]
    return all(rates[i] <= rates[i + 1] for i in range(len(rates) - 1))


def literal(data, norm=1, **view):
    best = cells(data, 1, "quantile", **view)
    for n_bins in range(2, len({p for p, _, _ in pairs(data, **view)[0]}) + 1):
        found = cells(data, n_bins, "quantile", **view)
        if not monotone(found):
            break
        best = found
    return binned_error(best, norm)


@over(BINARY, SOFT)
def test_definition(ask, data):
    """The number of bins grows as long as accuracies do not decrease, at most to the number of distinct scores."""
    assert ask(sweep_calibration_error, data) == close(literal(data))


@over(BINARY, SOFT)
@pytest.mark.parametrize("norm", [1.5, 2, "max"])
def test_norms(ask, data, norm):
    """The same bins, for every norm."""
    assert ask(sweep_calibration_error, data, norm=norm) == close(literal(data, norm))


def test_cells_and_bad_norms():
    """Cells take the norm too; below 1 there is none."""
    cells_of = CellStats.of(Predictions([0.1, 0.2, 0.8, 0.9], [0, 1, 0, 1]))
    for norm in (1, 2, "max"):
        expected = sweep_calibration_error([0.1, 0.2, 0.8, 0.9], [0, 1, 0, 1], norm=norm)
        assert sweep_calibration_error(cells_of, norm=norm) == close(expected)
    for norm in (0.5, "2", True):
        with pytest.raises(InputError, match="norm must be a number"):
            sweep_calibration_error(cells_of, norm=norm)


@over(MATRIX)
@choices({"notion": "confidence"}, name="view")
def test_matrix(ask, data, view):
    """Of a matrix, it is the confidences that are swept."""
    assert ask(sweep_calibration_error, data, **view) == close(literal(data, **view))


@pytest.mark.parametrize(
    ("scores", "labels", "weights"),
    [
        ([0.2, 0.3, 0.4, 0.9], [1, 0, 1, 1], [1e-4, 3e3, 3e3, 0.1]),
        ([0.1, 0.3, 0.5, 0.7, 0.8], [1, 0, 1, 1, 1], [0.3, 1e3, 3e3, 1e3, 0.1]),
        ([0.1, 0.2, 0.3, 0.4], [1, 0, 1, 1], [1e9, 2e9, 3e9, 1e-9]),
    ],
)
def test_light_last_bin(ask, scores, labels, weights):
    """A bin that is light beside the others still has its own accuracy."""
    data = Data(np.array(scores), np.array(labels), np.array(weights))
    assert ask(sweep_calibration_error, data) == close(literal(data))
