"""Accuracy against its literal definition."""

from believable import accuracy
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, close, mean, over, ranking, rows, single


@over(BINARY, SOFT, MULTILABEL)
def test_one_column(ask, data):
    """A score above 1/2 predicts 1, others predict 0; accuracy is the share of rows (entries) that are right."""
    literal = mean([((p > 0.5) == y, w) for p, y, w in single(data)])
    assert ask(accuracy, data) == close(literal)


@over(MATRIX)
def test_matrix(ask, data):
    """A row predicts its largest entry, ties to the lowest class."""
    literal = mean([(ranking(p)[0] == y, w) for p, y, w in rows(data)])
    assert ask(accuracy, data) == close(literal)


def test_half_predicts_zero():
    """A score of exactly 1/2 predicts class 0, as two equal columns do."""
    assert accuracy([0.5, 0.5, 0.5], [0, 0, 1]) == accuracy([[0.5, 0.5]] * 3, [0, 0, 1]) == close(2 / 3)
