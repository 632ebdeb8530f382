"""The sweep calibration error against its literal definition."""

from fractions import Fraction

import numpy as np
from believable import sweep_calibration_error
from tests.metrics.literal import BINARY, MATRIX, SOFT, Data, binned_error, cells, choices, close, over, pairs


def monotone(found):
    rates = [
        sum(Fraction(w) * Fraction(y) for _, y, w in cell.pairs) / sum(Fraction(w) for _, _, w in cell.pairs)
        for cell in found
    ]
    return all(rates[i] <= rates[i + 1] for i in range(len(rates) - 1))


def literal(data, **view):
    best = cells(data, 1, "quantile", **view)
    for n_bins in range(2, len({p for p, _, _ in pairs(data, **view)[0]}) + 1):
        found = cells(data, n_bins, "quantile", **view)
        if not monotone(found):
            break
        best = found
    return binned_error(best)


@over(BINARY, SOFT)
def test_definition(ask, data):
    """The number of bins grows as long as accuracies do not decrease, at most to the number of distinct scores."""
    assert ask(sweep_calibration_error, data) == close(literal(data))


@over(MATRIX)
@choices({"notion": "confidence"}, name="view")
def test_matrix(ask, data, view):
    """Of a matrix, it is the confidences that are swept."""
    assert ask(sweep_calibration_error, data, **view) == close(literal(data, **view))


def test_light_last_bin(ask):
    """A bin that is light beside the others still has its own accuracy."""
    rng = np.random.default_rng(5)
    scores, labels = np.sort(rng.random(12)), np.array([0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1])
    data = Data(scores, labels, np.array([1e7 / 3] * 8 + [1e-7 / 3] * 4))
    assert ask(sweep_calibration_error, data) == close(literal(data))
