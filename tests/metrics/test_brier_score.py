"""The Brier score against its literal definition."""

from math import fsum

from believable import brier_score
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, close, mean, over, rows, single


@over(BINARY, SOFT, MULTILABEL)
def test_one_column(ask, data):
    """The Brier score is the mean of (p - y)^2, over all entries of independent columns."""
    literal = mean([((p - y) ** 2, w) for p, y, w in single(data)])
    assert ask(brier_score, data) == close(literal)
    assert ask(brier_score, data, scale_by_half=True) == close(literal)


@over(MATRIX)
def test_matrix(ask, data):
    """Of a matrix it is the mean over rows of the sum over classes, halved on request."""
    literal = mean([(fsum((p[k] - (k == y)) ** 2 for k in range(len(p))), w) for p, y, w in rows(data)])
    assert ask(brier_score, data) == close(literal)
    assert ask(brier_score, data, scale_by_half=True) == close(literal / 2)
