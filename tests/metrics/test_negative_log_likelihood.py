"""The negative log-likelihood against its literal definition."""

from math import fsum, inf, log, log1p

import pytest

from believable import negative_log_likelihood
from tests.metrics.literal import BINARY, MATRIX, MULTILABEL, SOFT, close, mean, over, rows, single


def minus_log(p):
    return -log(p) if p > 0 else inf


def clipped(p, eps):
    return min(max(p, eps), 1 - eps)


@over(BINARY, SOFT, MULTILABEL)
def test_one_column(ask, data):
    """The NLL is the mean of -log of the probability of what happened, infinite where that is 0."""
    terms = [(minus_log(p) if y else -log1p(-p) if p < 1 else inf, w) for p, y, w in single(data)]
    assert ask(negative_log_likelihood, data) == close(mean(terms))


@over(MATRIX)
def test_matrix(ask, data):
    """Of a matrix, it is the probability of the label that counts."""
    terms = [(minus_log(p[int(y)]), w) for p, y, w in rows(data)]
    assert ask(negative_log_likelihood, data) == close(mean(terms))


@over(BINARY, SOFT, MULTILABEL)
@pytest.mark.parametrize("eps", [1e-7, 0.1])
def test_clipped_column(ask, data, eps):
    """On request, probabilities are clipped to [eps, 1 - eps] first."""
    terms = [(-log(clipped(p, eps)) if y else -log1p(-clipped(p, eps)), w) for p, y, w in single(data)]
    assert ask(negative_log_likelihood, data, eps=eps) == close(mean(terms))


@over(MATRIX)
@pytest.mark.parametrize("eps", [1e-7, 0.1])
def test_clipped_matrix(ask, data, eps):
    """So are those of a matrix."""
    terms = [(-log(clipped(p[int(y)], eps)), w) for p, y, w in rows(data)]
    assert ask(negative_log_likelihood, data, eps=eps) == close(mean(terms))


def test_infinite():
    """A zero probability for what happened is infinitely bad, for what did not happen it costs nothing."""
    assert negative_log_likelihood([0.0, 0.5], [1, 1]) == inf
    assert negative_log_likelihood([1.0, 0.5], [0, 1]) == inf
    assert negative_log_likelihood([[0.0, 1.0], [0.5, 0.5]], [0, 1]) == inf
    assert negative_log_likelihood([0.0, 1.0], [0, 1]) == 0
    assert negative_log_likelihood([0.0, 0.5], [1, 1], sample_weight=[0, 1]) == close(log(2))


@over(BINARY, SOFT, MATRIX, MULTILABEL)
@pytest.mark.parametrize("eps", [None, 0.1])
def test_each_row(ask, data, eps):
    """With reduction="none", every row has its own score, and their weighted mean is the score."""

    def cost(p, y):
        p = p if eps is None else clipped(p, eps)
        return (y * minus_log(p) if y else 0) + ((1 - y) * (-log1p(-p) if p < 1 else inf) if y < 1 else 0)

    each = ask(negative_log_likelihood, data, reduction="none", eps=eps)
    literal = []
    for p, y, _ in rows(data):
        if data.kind == "multilabel":
            literal.append(fsum(cost(a, b) for a, b in zip(p, y, strict=True)) / len(p))
        else:
            literal.append(cost(p[int(y)], 1) if isinstance(p, list) else cost(p, y))
    assert each.tolist() == close(literal)
    average = mean(list(zip(each.tolist(), [w for _, _, w in rows(data)], strict=True)))
    assert average == close(ask(negative_log_likelihood, data, eps=eps))
