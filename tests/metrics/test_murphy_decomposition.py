"""The Murphy decomposition against its literal definition."""

from math import fsum

import numpy as np
import pytest

from believable import BinStats, CellStats, Predictions, brier_score, murphy_decomposition
from tests.metrics.literal import BINARY, BINS, MATRIX, MULTILABEL, SOFT, Data, cells, choices, over

VIEWS = ({}, {"notion": "classwise"}, {"notion": "classwise", "pooled": True}, {"notion": "top_r", "r": 2})


def literal(found):
    """The five parts and the score, row by row; each group has its base rate."""
    total = fsum(cell.weight for cell in found)
    rate = {}
    for group in {cell.group for cell in found}:
        inside = [pair for cell in found if cell.group == group for pair in cell.pairs]
        rate[group] = fsum(w * y for _, y, w in inside) / fsum(w for _, _, w in inside)

    def mean(term):
        return fsum(w * term(cell, p, y) for cell in found for p, y, w in cell.pairs) / total

    return (
        mean(lambda cell, p, y: (cell.conf - cell.acc) ** 2),
        mean(lambda cell, p, y: (cell.acc - rate[cell.group]) ** 2),
        mean(lambda cell, p, y: rate[cell.group] * (1 - rate[cell.group])),
        mean(lambda cell, p, y: (p - cell.conf) ** 2),
        2 * mean(lambda cell, p, y: (p - cell.conf) * (y - cell.acc)),
        mean(lambda cell, p, y: (p - y) ** 2),
    )


def parts(found):
    return (
        found.reliability,
        found.resolution,
        found.uncertainty,
        found.within_variance,
        found.within_covariance,
        found.score,
    )


def check(found, expected):
    assert parts(found) == pytest.approx(expected, rel=1e-12, abs=2e-15)
    together = found.reliability - found.resolution + found.uncertainty
    together += found.within_variance - found.within_covariance
    assert together == pytest.approx(found.score, rel=1e-12, abs=1e-15)


@over(BINARY, SOFT)
@choices(*BINS)
def test_definition(ask, data, bins):
    """The parts are those of the formulas, and add up to the Brier score."""
    found = ask(murphy_decomposition, data, **bins)
    check(found, literal(cells(data, **bins)))
    assert found.score == pytest.approx(ask(brier_score, data), rel=1e-12)


@pytest.mark.slow
@over(MATRIX)
@choices(*BINS)
@choices(*VIEWS, name="view")
def test_groups(ask, data, bins, view):
    """Groups kept apart have base rates of their own."""
    check(ask(murphy_decomposition, data, **bins, **view), literal(cells(data, **bins, **view)))


@over(MULTILABEL)
def test_independent_columns(ask, data):
    """Labels of their own are groups of their own."""
    check(ask(murphy_decomposition, data), literal(cells(data)))


def test_constant_bins_are_murphys():
    """Where all scores of a bin are equal nothing is left within."""
    found = murphy_decomposition([0.2, 0.2, 0.7, 0.7, 0.7], [0, 1, 1, 1, 0], n_bins=2)
    assert (found.within_variance, found.within_covariance) == pytest.approx((0, 0), abs=1e-16)


def test_one_row():
    """One row is all reliability."""
    found = murphy_decomposition([0.7], [1])
    assert parts(found) == pytest.approx((0.09, 0, 0, 0, 0, 0.09), abs=1e-15)


def test_statistics():
    """Bins and cells give what the data give."""
    data: Data = BINARY["ties and weights"]
    checked = Predictions(data.scores, data.labels, sample_weight=data.weights)
    expected = parts(murphy_decomposition(checked, n_bins=5))
    for source, choice in ((BinStats.of(checked, n_bins=5), {}), (CellStats.of(checked), {"n_bins": 5})):
        assert parts(murphy_decomposition(source, **choice)) == pytest.approx(expected, rel=1e-12, abs=1e-16)


def test_borrowed_arrays_are_counted_with_squares():
    """Arrays looked at for one call have their squares counted too."""
    rng = np.random.default_rng(2)
    p = rng.random(50)
    assert np.isfinite(murphy_decomposition(p, rng.integers(0, 2, 50)).within_variance)
