"""ICI, E50, E90, Emax and ECI against local regression in exact fractions."""

from fractions import Fraction
from math import fsum

import numpy as np
import pytest

from believable import Predictions, calibration_index, integrated_calibration_index
from tests.curves.literal_local import local_rate
from tests.metrics.literal import BINARY, MATRIX, choices, over, pairs

NEAR = {"rel": 1e-9, "abs": 1e-12}


def indices(group, degree=2, **smoother):
    """All five of one group."""
    g = {p: local_rate(group, p, degree=degree, **smoother) for p in {p for p, _, _ in group}}
    distances = sorted((abs(g[p] - p), w) for p, _, w in group)
    total = sum(Fraction(w) for _, w in distances)

    def quantile(share):
        reached = Fraction(0)
        for distance, w in distances:
            reached += Fraction(w)
            if reached >= (share - Fraction(1, 10**9)) * total:
                return distance
        raise AssertionError

    mean, square = (fsum(w * distance**power for distance, w in distances) / float(total) for power in (1, 2))
    return [mean, quantile(Fraction(1, 2)), quantile(Fraction(9, 10)), distances[-1][0], 100 * square]


def found(result):
    return [result.ici, result.e50, result.e90, result.emax, result.eci]


@over({name: BINARY[name] for name in ("ties", "constant", "one row", "0 and 1", "ties and weights", "in order")})
@choices({}, {"degree": 1, "span": 0.5}, {"bandwidth": 0.2})
def test_definition(ask, data, bins):
    """Mean, quantiles, maximum and mean square of the distances between scores and curve."""
    assert found(ask(calibration_index, data, **bins)) == pytest.approx(indices(pairs(data)[0], **bins), **NEAR)


def test_groups():
    """Groups that are kept apart have each index, averaged by weight."""
    data = MATRIX["argmax ties"]
    expected = np.mean([indices(group) for group in pairs(data, "classwise")], axis=0)
    result = calibration_index(data.scores, data.labels, notion="classwise")
    assert found(result) == pytest.approx(expected.tolist(), **NEAR)


def test_result():
    """The result is the ICI as a number, and says how the curve was smoothed."""
    rng = np.random.default_rng(20240606)
    p = rng.random(100)
    data = Predictions(p, rng.random(100) < p)
    result = calibration_index(data, span=0.6)
    assert float(result) == result.ici == integrated_calibration_index(data, span=0.6)
    assert result.settings == {"span": 0.6, "bandwidth": None, "degree": 2, "neighbours": None}
    assert result.e50 <= result.e90 <= result.emax
