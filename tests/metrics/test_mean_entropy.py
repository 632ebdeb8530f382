"""Mean entropy against its literal definition."""

from math import fsum, log, log1p

from believable import mean_entropy
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, close, mean, over, rows, single


@over(BINARY, SOFT, MULTILABEL)
def test_one_column(ask, data):
    """The entropy of a single score is -p log p - (1 - p) log(1 - p), with 0 log 0 = 0."""
    terms = [(0.0 if p in (0, 1) else -p * log(p) - (1 - p) * log1p(-p), w) for p, _, w in single(data)]
    assert ask(mean_entropy, data) == close(mean(terms))


@over(MATRIX)
def test_matrix(ask, data):
    """The entropy of a row is -sum_k p_k log p_k."""
    terms = [(fsum(-q * log(q) for q in p if q > 0), w) for p, _, w in rows(data)]
    assert ask(mean_entropy, data) == close(mean(terms))
