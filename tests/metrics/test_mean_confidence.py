"""Mean confidence against its literal definition."""

from believable import mean_confidence
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, close, mean, over, rows, single


@over(BINARY, SOFT, MULTILABEL)
def test_one_column(ask, data):
    """The confidence of a single score is max(p, 1 - p)."""
    assert ask(mean_confidence, data) == close(mean([(max(p, 1 - p), w) for p, _, w in single(data)]))


@over(MATRIX)
def test_matrix(ask, data):
    """The confidence of a row is its largest entry."""
    assert ask(mean_confidence, data) == close(mean([(max(p), w) for p, _, w in rows(data)]))
