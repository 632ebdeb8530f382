"""Sharpness against its literal definition."""

from math import fsum

from believable import sharpness
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, close, mean, over, rows


@over(BINARY, SOFT, MATRIX, MULTILABEL)
def test_definition(ask, data):
    """Sharpness is the variance of the predictions, averaged over classes."""
    table = [(p if isinstance(p, list) else [p], w) for p, _, w in rows(data)]
    variances = []
    for k in range(len(table[0][0])):
        middle = mean([(p[k], w) for p, w in table])
        variances.append(mean([((p[k] - middle) ** 2, w) for p, w in table]))
    assert ask(sharpness, data) == close(fsum(variances) / len(variances))
