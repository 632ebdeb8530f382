"""What the rows of a matrix of probabilities add to proper scores, without a matrix of labels.

The plain form is `believable.stats.sums.row_terms`; here every entry's logarithm is taken once, sums over classes are
made at once, and blocks are turned on their side where classes are few, because short rows do not vectorise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from believable._types import Array, Float64s, Floats, Ints
from believable.kernels._backend import twin
from believable.kernels.compiled import matrix_rows as compiled
from believable.kernels.matrix_moments import well_formed
from believable.kernels.pass_sums import MatrixSums
from believable.kernels.reference import FEW_COLUMNS, label_scores, top_hit

ENTRIES = 1 << 17  # of a block of rows
OF_ROWS = ("brier", "nll", "correct", "confidence", "entropy")
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


@twin(compiled.matrix_sums)
def matrix_sums(matrix: Floats, labels: Ints, weights: Float64s | None, tolerance: float = np.inf) -> MatrixSums:
    """The fields of `believable.ScoreSums`, but for kind and n_classes, of a matrix with one label for each row.

    They are invalid where the moments of `believable.kernels.top_moments` are.
    """
    n, n_classes = matrix.shape
    step = min(n, max(1, ENTRIES // n_classes))
    buffers = np.empty((3, step * n_classes))
    parts = []
    for start in range(0, n, step):
        rows = slice(start, start + step)
        if not well_formed(matrix[rows], labels[rows], tolerance):
            return MatrixSums.invalid()
        given = None if weights is None else weights[rows]
        parts.append(_sums(matrix_rows(matrix[rows], labels[rows], given, buffers), labels[rows], given, n_classes))
    whole: dict[str, Any] = {name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]}
    # Deviations are from each part's own mean (Chan et al. 1983): a sum of squares less a square would cancel.
    mean = whole["wp"] / whole["w"]
    moved = [part["deviation"] + part["w"] * (part["wp"] / part["w"] - mean) ** 2 for part in parts]
    whole = {name: value if np.ndim(value) else float(value) for name, value in whole.items()}
    return MatrixSums(whole | {"n": n, "deviation": np.sum(moved, axis=0)}, True)


def _sums(of: MatrixRows, labels: Ints, given: Float64s | None, n_classes: int) -> dict[str, Any]:
    """What a block of rows adds."""
    weight = np.ones(len(labels)) if given is None else given
    square = weight * weight

    def by_label(values: Array) -> Array:
        return np.bincount(labels, values, n_classes)

    finite = [np.where(np.isinf(x), 0, x) for x in (np.asarray(getattr(of, name), np.float64) for name in OF_ROWS)]
    brier_variance = np.maximum(4 * (of.cubes - of.squares**2), 0)
    nll_variance = np.maximum(of.log_squares - of.entropy**2, 0)
    return {
        "n": len(labels),
        "w": float(np.sum(weight)),
        "w2": float(np.sum(square)),
        **{name: float(np.sum(weight * getattr(of, name))) for name in (*OF_ROWS, "spread")},
        "spread_variance": float(np.sum(square * of.spread_variance)),
        "w2_squared": float(np.sum(square * of.brier)),
        "wp": of.p,
        "wy": by_label(weight),
        "deviation": of.squared_deviation,
        "w2x": np.array([np.sum(square * x) for x in finite]),
        "w2xx": np.array([np.sum(square * x * x) for x in finite]),
        "w2y": by_label(square),
        "w2y_brier": by_label(square * of.brier),
        "by_chance": np.array([np.sum(square * one) for one in (brier_variance, nll_variance)]),
    }


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
