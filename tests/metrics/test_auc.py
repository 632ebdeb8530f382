"""The AUC against its literal definition."""

from math import fsum

import pytest

from believable import auc
from believable.errors import UndefinedError
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, close, every_edge, on_edges, over, pairs


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
