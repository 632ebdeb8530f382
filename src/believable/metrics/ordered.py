"""Scores for ordered classes: the ranked probability score and the ordinal log score.

Both score the cumulative probabilities at each of the K - 1 thresholds between the classes, so that probability on a
class far from the observed one costs more than probability on its neighbour.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from believable import _kernels
from believable._types import Float64s
from believable.errors import InputError, UndefinedError
from believable.metrics.table import metric
from believable.stats.source import Source, rows_in, source_of


class _Thresholds(NamedTuple):
    """Weighted sums over rows and thresholds: of squared probabilities on the wrong side, and of log losses."""

    squares: float
    losses: float
    w: float
    n_thresholds: int


def _thresholds(source: Source) -> _Thresholds:
    rows = rows_in(source)
    if rows is None:
        raise UndefinedError(
            "scores for ordered classes need whole rows: pass the predictions, not a statistic of them"
        )
    if rows.kind != "multiclass":
        raise InputError(
            "{argument} must have one column per class, in the order of the classes; for one event, use brier_score or "
            "negative_log_likelihood",
            argument="predictions",
        )
    squares = losses = w = 0.0
    for block in _kernels.row_blocks(*rows.scores.shape):
        weight = np.ones(len(rows.labels[block])) if rows.weights is None else rows.weights[block]
        below, above = _sides(rows.scores[block].astype(np.float64))
        is_below = rows.labels[block, None] <= np.arange(rows.n_classes - 1)
        with np.errstate(divide="ignore"):
            of_row = -np.log(np.where(is_below, below, above)).sum(axis=1)
        squares += float((weight * ((below - is_below) ** 2).sum(axis=1)).sum())
        losses += float((weight * of_row).sum())
        w += float(weight.sum(dtype=np.float64))
    return _Thresholds(squares, losses, w, rows.n_classes - 1)


def _sides(p: Float64s) -> tuple[Float64s, Float64s]:
    """Return the probabilities below and above each threshold, for each row.

    Each side is summed by itself, so that a tiny probability is not lost as the difference of two numbers near 1.
    """
    below, above = np.cumsum(p, axis=1)[:, :-1], np.cumsum(p[:, ::-1], axis=1)[:, -2::-1]
    return np.minimum(below, 1), np.minimum(above, 1)


# --- ranked probability score -----------------------------------------------------------------------------------------


def _mean_square(sums: _Thresholds) -> float:
    return sums.squares / sums.n_thresholds / sums.w


@metric(
    alias="rps",
    counts=_thresholds,
    says=_mean_square,
    needs="rows",
    kinds=("multiclass",),
    ordered=True,
    reference="Epstein 1969",
)
def ranked_probability_score(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    r"""Mean squared difference between cumulative probabilities and outcomes, for ordered classes.

    .. math:: \frac{1}{K - 1} \sum_{k=1}^{K-1} (F_k - y_k)^2

    averaged over rows, with F_k the predicted probability of the classes 1 to k, and y_k = 1 if the label is among
    them. The columns must be in the order of the classes. In [0, 1], 0 is best. Because of the factor 1/(K - 1), the
    score of two classes is the binary Brier score; some authors leave the factor out.

    Probability on a class far from the observed one costs more than on its neighbour, unlike in the Brier score of
    several classes, which ignores the order.

    `evaluate` computes it only if it is named, because the order of the columns may have no meaning.

    References
    ----------
    Epstein (1969), Journal of Applied Meteorology; Murphy (1971), Journal of Applied Meteorology.

    Examples
    --------
    >>> near, far = ranked_probability_score([[0.5, 0.3, 0.2]], [0]), ranked_probability_score([[0.5, 0.3, 0.2]], [2])
    >>> round(near, 12), round(far, 12)
    (0.145, 0.445)
    """
    return _mean_square(_thresholds(source_of(predictions, actuals, sample_weight)))


# --- ordinal log score ------------------------------------------------------------------------------------------------


def _mean_loss(sums: _Thresholds) -> float:
    return sums.losses / sums.w


@metric(
    alias="ordlog",
    counts=_thresholds,
    says=_mean_loss,
    needs="rows",
    kinds=("multiclass",),
    high=math.inf,
    ordered=True,
    reference="Tödter and Ahrens 2012",
)
def ordinal_log_score(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    r"""Log loss of the cumulative probabilities, summed over the thresholds between ordered classes.

    .. math:: -\sum_{k=1}^{K-1} \left[ y_k \log F_k + (1 - y_k) \log (1 - F_k) \right]

    averaged over rows, with F_k the predicted probability of the classes 1 to k, and y_k = 1 if the label is among
    them. The columns must be in the order of the classes. In nats; 0 is best. It is infinite if all classes on the
    observed side of a threshold had probability 0. For two classes it is the negative log-likelihood. Also called the
    ranked ignorance score.

    `evaluate` computes it only if it is named, because the order of the columns may have no meaning.

    References
    ----------
    Tödter, Ahrens (2012), Monthly Weather Review.

    Examples
    --------
    >>> near, far = ordinal_log_score([[0.5, 0.3, 0.2]], [0]), ordinal_log_score([[0.5, 0.3, 0.2]], [2])
    >>> round(near, 12), round(far, 12)
    (0.916290731874, 2.302585092994)
    """
    return _mean_loss(_thresholds(source_of(predictions, actuals, sample_weight)))
