"""Sharpness against its literal definition."""

from math import fsum

import numpy as np
import pytest

from believable import sharpness
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, Data, close, mean, over, rows


def literal(data):
    table = [(p if isinstance(p, list) else [p], w) for p, _, w in rows(data)]
    variances = []
    for k in range(len(table[0][0])):
        middle = mean([(p[k], w) for p, w in table])
        variances.append(mean([((p[k] - middle) ** 2, w) for p, w in table]))
    return fsum(variances) / len(variances)


@over(BINARY, SOFT, MATRIX, MULTILABEL)
def test_definition(ask, data):
    """Sharpness is the variance of the predictions, averaged over classes."""
    assert ask(sharpness, data) == close(literal(data))


def test_narrow(ask):
    """Scores that hardly differ have a variance that is as exact as any, and a constant has none."""
    narrow = Data(0.9 + np.arange(10) / 1000, np.arange(10) % 2)
    assert ask(sharpness, narrow) == pytest.approx(literal(narrow), rel=1e-12, abs=0)
    assert ask(sharpness, Data(np.full(50_000, 0.9), np.arange(50_000) % 2)) == close(0)
