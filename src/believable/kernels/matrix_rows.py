"""What the rows of a matrix of probabilities add to proper scores, without a matrix of labels.

The plain form is `believable.stats.sums.row_terms`; here every entry's logarithm is taken once, sums over classes are
made at once, and blocks are turned on their side where classes are few, because short rows do not vectorise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from believable._types import Array, Float64s, Floats, Ints
from believable.kernels.reference import FEW_COLUMNS, label_scores, top_hit

TINY = np.finfo(np.float64).tiny  # 0 log 0 is 0: whatever the logarithm is, as long as it is finite


class MatrixRows(NamedTuple):
    """One entry per row; but `p` and `squared_deviation` are sums over the rows, by class.

    Attributes
    ----------
    brier, nll, correct, confidence, entropy, spread, spread_variance
        What the row adds to the sums of that name.
    squares, cubes, log_squares
        Sums over classes of p^2, p^3 and p log(p)^2.
    p, squared_deviation
        Weighted sums over rows of p, and of its squared difference from their mean.
    """

    brier: Float64s
    nll: Float64s
    correct: Array
    confidence: Floats
    entropy: Float64s
    spread: Float64s
    spread_variance: Float64s
    squares: Float64s
    cubes: Float64s
    log_squares: Float64s
    p: Float64s
    squared_deviation: Float64s


def matrix_rows(matrix: Floats, labels: Ints, weight: Float64s | None, buffers: Float64s) -> MatrixRows:
    """The terms of some rows; `buffers` are three times as many numbers, for every matrix on the way.

    New memory for each would cost more than all that is done with it.
    """
    confidence, correct = top_hit(matrix, labels)
    n, aside = len(matrix), matrix.shape[1] <= FEW_COLUMNS
    classes, rows = (0, 1) if aside else (1, 0)
    turned = matrix.T if aside else matrix
    p, log, work = (buffer[: matrix.size].reshape(turned.shape) for buffer in buffers)
    p[...] = turned
    own = label_scores(matrix, labels).astype(np.float64)
    at_labels = (labels, np.arange(n)) if aside else (np.arange(n), labels)
    weights = None if weight is None else weight if aside else weight[:, None]

    np.log(np.maximum(p, TINY, out=log), out=log)
    np.multiply(p, log, out=work)
    entropy = -work.sum(axis=classes)
    log *= work
    log_squares = log.sum(axis=classes)

    square = np.multiply(p, p, out=log)
    cubes = np.multiply(square, p, out=work).sum(axis=classes)
    square[at_labels] = 0  # apart: a label's 1 - p would be lost beside its p
    others = square.sum(axis=classes)
    squares = others + own * own
    spread = (1 - p.sum(axis=classes)) + 2 * (squares - own)
    not_p = np.subtract(1, p, out=log)
    tilt = np.subtract(not_p, p, out=work)
    not_p *= p
    tilt *= tilt
    not_p *= tilt
    spread_variance = not_p.sum(axis=classes)

    weighted = p if weights is None else np.multiply(p, weights, out=work)
    total = weighted.sum(axis=rows)
    mean = total / (n if weight is None else weight.sum())
    p -= mean[:, None] if aside else mean
    p *= p
    if weights is not None:
        p *= weights
    with np.errstate(divide="ignore"):
        nll = -np.log(own)
    return MatrixRows(
        brier=others + (1 - own) ** 2,
        nll=nll,
        correct=correct,
        confidence=confidence,
        entropy=entropy,
        spread=spread,
        spread_variance=spread_variance,
        squares=squares,
        cubes=cubes,
        log_squares=log_squares,
        p=total,
        squared_deviation=p.sum(axis=rows),
    )
