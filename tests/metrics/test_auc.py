"""The AUC against its literal definition."""

from itertools import combinations
from math import fsum

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from believable import CellStats, Predictions, Summary, auc, interval
from believable.errors import InputError, UndefinedError
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, close, every_edge, on_edges, over, pairs, rows


def one(group):
    """Share of the weight of (positive, negative) pairs in which the positive scores higher, ties half; or None."""
    positive = [(p, w) for p, y, w in group if y == 1]
    negative = [(p, w) for p, y, w in group if y == 0]
    if not positive or not negative:
        return None
    won = [w * v * (1.0 if p > q else 0.5 if p == q else 0.0) for p, w in positive for q, v in negative]
    return fsum(won) / (fsum(w for _, w in positive) * fsum(v for _, v in negative))


@over(BINARY, SOFT, MATRIX, MULTILABEL)
def test_definition(ask, data):
    """The AUC is the share of pairs in the right order, one-vs-rest and averaged for more than two classes."""
    groups = pairs(data, "binary" if data.scores.ndim == 1 or data.scores.shape[1] == 2 else "classwise")
    values = [one(group) for group in groups]
    if None in values:
        with pytest.raises(UndefinedError, match="needs positives and negatives"):
            ask(auc, data)
    else:
        assert ask(auc, data) == close(fsum(values) / len(values))


@every_edge
def test_neighbours(ask, n_bins, dtype):
    """Scores that differ by one float are not tied."""
    data = on_edges(n_bins, dtype)
    assert ask(auc, data) == close(one(pairs(data, "binary")[0]))


@over(MATRIX, MULTILABEL)
def test_weighted_mean_over_classes(ask, data):
    """`average="weighted"` weights the value of each class by the rows that have it."""
    groups = pairs(data, "binary" if data.scores.shape[1] == 2 else "classwise")
    values = [one(group) for group in groups]
    if None in values:
        with pytest.raises(UndefinedError, match="needs positives and negatives"):
            ask(auc, data, average="weighted")
        return
    weights = [fsum(w * y for _, y, w in group) for group in groups]
    expected = fsum(v * w for v, w in zip(values, weights, strict=True)) / fsum(weights)
    assert ask(auc, data, average="weighted") == close(expected)


@over(MATRIX)
def test_one_against_one(ask, data):
    """`multi_class="ovo"` compares every two classes on their rows alone, by the score of the one and of the other."""
    there = list(rows(data))
    values, weights = [], []
    for pair in combinations(range(data.scores.shape[1]), 2):
        both = [(p, y, w) for p, y, w in there if y in pair]
        values.append([one([(p[k], float(y == k), w) for p, y, w in both]) for k in pair])
        weights.append(fsum(w for *_, w in both))
    if any(None in two for two in values):
        with pytest.raises(UndefinedError, match="needs positives and negatives, but class"):
            ask(auc, data, multi_class="ovo")
        return
    means = [fsum(two) / 2 for two in values]
    assert ask(auc, data, multi_class="ovo") == close(fsum(means) / len(means))
    expected = fsum(v * w for v, w in zip(means, weights, strict=True)) / fsum(weights)
    assert ask(auc, data, multi_class="ovo", average="weighted") == close(expected)


RNG = np.random.default_rng(11)
P = RNG.dirichlet([0.5, 0.8, 1.5, 0.3], 600)
P[::3] = np.round(P[::3] * 4) / 4  # ties
P /= P.sum(axis=1, keepdims=True)
Y = np.array([RNG.choice(4, p=row) for row in P])
W = RNG.integers(0, 4, 600).astype(float)


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_scikit_learn(average):
    """The same as `roc_auc_score`; its "ovo" takes no weights, but rows may be repeated."""
    one_vs_rest = roc_auc_score(Y, P, average=average, multi_class="ovr")
    assert auc(P, Y, average=average) == close(one_vs_rest)
    weighted = roc_auc_score(Y, P, average=average, multi_class="ovr", sample_weight=W)
    assert auc(P, Y, average=average, sample_weight=W) == close(weighted)
    assert auc(P, Y, average=average, multi_class="ovo") == close(
        roc_auc_score(Y, P, average=average, multi_class="ovo")
    )
    again = np.repeat(np.arange(600), W.astype(int))
    repeated = roc_auc_score(Y[again], P[again], average=average, multi_class="ovo")
    assert auc(P, Y, average=average, multi_class="ovo", sample_weight=W) == close(repeated)
    columns = (RNG.random((600, 4)) < P).astype(int)
    several = Predictions(P, columns, multilabel=True, sample_weight=W)
    assert auc(several, average=average) == close(roc_auc_score(columns, P, average=average, sample_weight=W))


def test_one_event_has_one_value():
    """With two classes, or one event, the choices change nothing."""
    p, y = P[:, 0], (Y == 0).astype(int)
    for given in (p, np.column_stack([1 - p, p])):
        for average in ("macro", "weighted"):
            for multi_class in ("ovr", "ovo"):
                assert auc(given, y, average=average, multi_class=multi_class) == close(roc_auc_score(y, p))


def test_statistics():
    """One class against the rest is read from cells, with its weights; pairs of classes need the rows."""
    given = Predictions(P, Y)
    cells = CellStats.of(given, given.view("classwise"))
    points = auc(cells, average="weighted")
    assert points == pytest.approx(roc_auc_score(Y, P, average="weighted", multi_class="ovr"), abs=2e-3)
    assert points != pytest.approx(auc(cells), abs=1e-4)
    for source in (cells, Summary.of(Predictions(P, Y))):
        with pytest.raises(UndefinedError, match="multi_class='ovo' needs the rows of predictions"):
            auc(source, multi_class="ovo")


def test_intervals():
    """Both choices have an interval around their own value."""
    for options in ({"average": "weighted"}, {"multi_class": "ovo"}, {"multi_class": "ovo", "average": "weighted"}):
        found = interval("auc", P, Y, options=options, n_resamples=100, random_state=0)
        assert found.value == close(auc(P, Y, **options))
        assert found.low < found.value < found.high


def test_refused():
    """Other words, and independent columns for "ovo"."""
    with pytest.raises(InputError, match="average must be one of 'macro', 'weighted', got 'micro'"):
        auc(P, Y, average="micro")
    with pytest.raises(InputError, match="multi_class must be one of 'ovr', 'ovo', got 'raise'"):
        auc(P, Y, multi_class="raise")
    columns = Predictions(P, (P > 0.3).astype(int), multilabel=True)
    with pytest.raises(InputError, match="multi_class='ovo' compares classes of which one is the label"):
        auc(columns, multi_class="ovo")
