"""Statistics of a matrix from one read that checks it: the same numbers and the same errors as from checked predictions."""

from __future__ import annotations

import numpy as np
import pytest

from believable import BinStats, CellStats, Predictions
from believable.errors import InputError
from believable.predictions import predictions as module

NOTIONS = ["confidence", "top_label", "classwise"]


def arrays(width, dtype=np.float32):
    """A matrix of probabilities and labels."""
    rng = np.random.default_rng(3)
    return rng.dirichlet(np.full(width, 0.3), 400).astype(dtype), rng.integers(0, width, 400)


def pair_by_pair(predictions, view, edges):
    """n, wp and wy of the view's pairs, by group and bin."""
    pairs = predictions.all_pairs(view)
    index = edges.index(pairs.score)
    key = index if pairs.stratum is None else pairs.stratum * len(edges) + index
    score = pairs.score.astype(float)
    return [np.bincount(key, term, view.n_strata * len(edges)) for term in (None, score, pairs.outcome)]


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("width", [4, 50])
def test_counts_are_those_of_the_pairs(width, notion):
    """Bins hold the pairs of the view, whether the arrays were looked at before or not; cells coarsen to the same."""
    matrix, labels = arrays(width)
    checked, unseen = Predictions(matrix, labels), Predictions.borrowing(matrix, labels, None)
    view = checked.view(notion)
    for predictions in (unseen, checked):
        stats = BinStats.of(predictions, view, n_bins=10)
        n, wp, wy = pair_by_pair(checked, view, stats.edges[0])
        assert np.array_equal(stats.key, np.flatnonzero(n))
        assert np.array_equal(stats.n, n[stats.key])
        assert np.allclose(stats.wp, wp[stats.key], rtol=1e-12, atol=0)
        assert np.array_equal(stats.wy, wy[stats.key])
        cells = CellStats.of(predictions, view, cells=40).coarsen(10)
        assert np.array_equal(cells.key, stats.key)
        assert np.array_equal(cells.n, stats.n)
        assert np.allclose(cells.wpp, stats.wpp, rtol=1e-12, atol=0)


@pytest.mark.parametrize("notion", NOTIONS)
def test_a_false_alarm_is_not_heard(notion, monkeypatch):
    """Where quick sums of rows look odd and exact ones do not, the counts are what they would have been."""
    matrix, labels = arrays(4)
    view = Predictions(matrix, labels).view(notion)
    wanted = BinStats.of(Predictions(matrix, labels), view)
    monkeypatch.setattr(module, "ROW_SUM_TOLERANCE", 0.0)
    found = BinStats.of(Predictions.borrowing(matrix, labels, None), view)
    assert np.array_equal(found.n, wanted.n)
    assert np.allclose(found.wp, wanted.wp, rtol=1e-12, atol=0)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(
    ("entry", "label", "words"),
    [
        (np.nan, 0, "finite, got NaN (missing) at row 7"),
        (-0.5, 0, "must lie in [0, 1], got -0.5 at row 7"),
        (0.9, 0, "must sum to 1"),
        (None, 4, "actuals must be integers 0..3, got 4 at row 7"),
        (None, -1, "actuals must be integers 0..3, got -1 at row 7"),
    ],
)
def test_errors_are_those_of_the_checks(notion, entry, label, words):
    """What a kernel finds wrong is said as if it had been checked before."""
    matrix, labels = arrays(4)
    view = Predictions(matrix, labels).view(notion)
    matrix[7] = [0.25, 0.25, 0.25, 0.25]
    labels[7] = label
    if entry is not None:
        matrix[7, 2] = entry
    with pytest.raises(InputError) as error:
        BinStats.of(Predictions.borrowing(matrix, labels, None), view)
    assert words in str(error.value)
