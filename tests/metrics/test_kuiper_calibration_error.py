"""The Kuiper calibration error against its literal definition."""

from math import fsum

import numpy as np
import pytest

from believable import (
    cutoff_calibration_error,
    evaluate,
    interval,
    kolmogorov_smirnov_calibration_error,
    kuiper_calibration_error,
)
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


@over({name: data for name, data in BINARY.items() if data.weights is None})
def test_no_other_cutoff_gains_more(data):
    """Acting at scores of at least t, where that gains y - t, is at most the error worse than any other cutoff."""
    p, y = np.asarray(data.scores, np.float64), np.asarray(data.labels, np.float64)
    error = kuiper_calibration_error(data.scores, data.labels)
    cutoffs = [*np.unique(p), 2.0]
    for t in np.linspace(0, 1, 21):
        gained = fsum((y - t)[p >= t])
        best = max(fsum((y - t)[p >= cutoff]) for cutoff in cutoffs)
        assert (best - gained) / len(p) <= error + 1e-12


def test_new_name():
    """The cutoff calibration error is the same function, and the same metric wherever one is named."""
    p, y = [0.1, 0.3, 0.6, 0.8], [0, 1, 1, 0]
    assert cutoff_calibration_error is kuiper_calibration_error
    assert evaluate(p, y, ["cutoff_calibration_error"])["kuiper"] == cutoff_calibration_error(p, y)
    assert interval("cutoff calibration error", p, y, random_state=0).value == cutoff_calibration_error(p, y)
