"""The Kuiper calibration error against its literal definition."""

from math import fsum

import pytest

from believable import kolmogorov_smirnov_calibration_error, kuiper_calibration_error
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, choices, close, mean, over, pairs


def literal(data, **view):
    """The largest |sum of w (y - p)| / W over any interval of scores, which is max C - min C."""
    values = []
    for group in pairs(data, **view):
        if not group:
            continue
        total = fsum(w for _, _, w in group)
        at = [fsum(w * (y - p) for p, y, w in group if p == s) for s in sorted({p for p, _, _ in group})]
        intervals = [fsum(at[i : j + 1]) for i in range(len(at)) for j in range(i, len(at))]
        values.append((max(map(abs, intervals)) / total, total))
    return mean(values)


@over(BINARY, SOFT, MULTILABEL)
def test_definition(ask, data):
    """The largest gap over any interval of scores."""
    assert ask(kuiper_calibration_error, data) == close(literal(data))


@over(MATRIX)
@choices({"notion": None}, {"notion": "classwise"}, {"notion": "top_label"}, {"notion": "rth", "r": 2}, name="view")
def test_matrix(ask, data, view):
    """Of a matrix, the confidences, or any notion; groups are averaged by weight."""
    assert ask(kuiper_calibration_error, data, **view) == close(literal(data, **view))


@over(BINARY)
def test_never_below_kolmogorov_smirnov(ask, data):
    """The range holds the distance from 0, and is at most twice as large."""
    ks, kuiper = ask(kolmogorov_smirnov_calibration_error, data), ask(kuiper_calibration_error, data)
    assert ks <= kuiper + 1e-15
    assert kuiper <= 2 * ks + 1e-15


def test_starts_from_zero():
    """The gap before the first score counts: scores that are too high everywhere have their whole bias."""
    assert kuiper_calibration_error([0.25, 0.5], [0, 0]) == pytest.approx(0.375)
