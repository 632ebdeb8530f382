"""How much rows differ: second moments of what they add to `ScoreSums`, for intervals without the rows.

Of 1-D scores the cells say it; of a matrix they do not, because they hold each class apart.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from believable._types import Array, Float64s

OF_ROWS = ("brier", "nll", "correct", "confidence", "entropy")
MOMENTS = ("w2x", "w2xx", "w2y", "w2y_brier", "by_chance")


def row_moments(terms: Mapping[str, Array], weight: Float64s, multilabel: bool) -> dict[str, Float64s]:
    """The fields `MOMENTS` of `ScoreSums`, from the terms of a matrix's rows.

    An infinite log loss counts as 0 here: then there is no interval, and nobody reads them.
    """
    square = weight * weight
    of_rows = [_by_row(terms[name]) for name in OF_ROWS]
    brier, y, p = of_rows[0], terms["y"], terms["p"]
    return {
        "w2x": np.array([np.sum(square * x) for x in of_rows]),
        "w2xx": np.array([np.sum(square * x * x) for x in of_rows]),
        "w2y": np.asarray(np.einsum("i,ij->j", square, y)),
        "w2y_brier": np.asarray(np.einsum("i,ij->j", square * brier, y)),
        "by_chance": np.array([np.sum(square * one) for one in _variances(p, terms["entropy"], multilabel)]),
    }


def _by_row(x: Array) -> Float64s:
    x = np.where(np.isinf(x), 0, x)
    return np.asarray(x if x.ndim == 1 else x.sum(axis=1), np.float64)


def _variances(p: Float64s, entropy: Float64s, multilabel: bool) -> tuple[Float64s, Float64s]:
    """Of a row's Brier score and log loss, if its label is drawn from its own probabilities."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if multilabel:  # labels of their own: p (1 - p) (1 - 2p)^2 and p (1 - p) logit(p)^2
            both = p * (1 - p)
            logit = np.where(both > 0, np.log(p) - np.log1p(-p), 0)
            return (both * (1 - 2 * p) ** 2).sum(axis=1), (both * logit**2).sum(axis=1)
        squares = (p * p).sum(axis=1)
        log = np.where(p > 0, np.log(p), 0)
    brier = 4 * ((p**3).sum(axis=1) - squares**2)
    nll = (p * log**2).sum(axis=1) - entropy.sum(axis=1) ** 2
    return np.maximum(brier, 0), np.maximum(nll, 0)
