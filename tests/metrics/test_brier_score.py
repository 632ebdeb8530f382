"""The Brier score against its literal definition."""

from math import fsum

import numpy as np
import pytest

from believable import Predictions, ScoreSums, brier_score, interval, scorer
from believable.errors import InputError, UndefinedError
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


@over(BINARY, SOFT, MATRIX, MULTILABEL)
def test_each_row(ask, data):
    """With reduction="none", every row has its own score, and their weighted mean is the score."""
    each = ask(brier_score, data, reduction="none")
    literal = []
    for p, y, _ in rows(data):
        if data.kind == "multilabel":
            literal.append(fsum((a - b) ** 2 for a, b in zip(p, y, strict=True)) / len(p))
        elif isinstance(p, list):
            literal.append(fsum((p[k] - (k == y)) ** 2 for k in range(len(p))))
        else:
            literal.append(y * (1 - p) ** 2 + (1 - y) * p**2)
    assert each.tolist() == close(literal)
    assert mean(list(zip(each.tolist(), [w for _, _, w in rows(data)], strict=True))) == close(ask(brier_score, data))
    halved = ask(brier_score, data, reduction="none", scale_by_half=True)
    assert halved.tolist() == close((each / 2 if data.scores.ndim == 2 and data.kind == "plain" else each).tolist())


def test_rows_in_blocks():
    """More rows than fit into a block."""
    p, y = np.random.default_rng(0).dirichlet(np.ones(3), 50_000), np.arange(50_000) % 3
    expected = ((p - np.eye(3)[y]) ** 2).sum(axis=1)
    assert np.allclose(brier_score(p, y, reduction="none"), expected, rtol=1e-12, atol=0)


def test_a_score_of_each_row_is_no_summary():
    """A statistic has no rows, and where one number is needed an array is refused."""
    sums = ScoreSums.of(Predictions([0.1, 0.8], [0, 1]))
    with pytest.raises(UndefinedError, match="reduction='none' scores each row: pass the predictions, not a statistic"):
        brier_score(sums, reduction="none")
    with pytest.raises(InputError, match="reduction must be one of 'mean', 'none', got 'sum'"):
        brier_score([0.1], [1], reduction="sum")
    with pytest.raises(InputError, match="reduction must be 'mean' here, because one number is needed"):
        interval("brier", [0.1, 0.8], [0, 1], options={"reduction": "none"})
    with pytest.raises(InputError, match="reduction must be 'mean' here"):
        scorer("brier", reduction="none")
