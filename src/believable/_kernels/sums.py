"""Sums by code: counts, weights and moments of the rows with the same code, a whole number."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from believable._kernels.rows import label_scores
from believable._types import Array, Float64s, Floats, Ints

N_LANES = 8  # number of small tables among which the rows of long blocks alternate
MOST_CODES_FOR_LANES, FEWEST_ROWS_FOR_LANES = 512, 1 << 12


def n_moments(weighted: bool, squares: bool) -> int:
    """Return the number of sums by code: n, p, pp; or n, w, wp, w2, w2p, wpp, w2pp. Without squares, no pp."""
    return (5 + 2 * squares) if weighted else (2 + squares)


def _moments(
    code: Ints, n_codes: int, score: Array, weight: Array | None, squares: bool, share: Array | None = None
) -> Float64s:
    """Return the moments by code; `share` is the part of each row to count."""
    score = score.astype(np.float64, copy=False)
    if weight is None:
        terms: list[Array | None] = [None, score]
        terms += [score * score] if squares else []
    else:
        weight2 = weight * weight
        first, first2 = weight * score, weight2 * score
        terms = [None, weight, first, weight2, first2]
        terms += [first * score, first2 * score] if squares else []
    if share is not None:
        terms = [share if term is None else term * share for term in terms]
    if len(code) < FEWEST_ROWS_FOR_LANES or n_codes > MOST_CODES_FOR_LANES:
        return np.array([np.bincount(code, term, n_codes) for term in terms], np.float64)
    # Rows alternate among several tables: shorter chains of additions round less and wait less.
    code = code + _lane(len(code), n_codes)
    sums = np.array([np.bincount(code, term, N_LANES * n_codes) for term in terms], np.float64)
    return np.asarray(sums.reshape(len(terms), N_LANES, n_codes).sum(axis=1))


@lru_cache(maxsize=8)
def _lane(n: int, n_codes: int) -> Ints:
    return np.arange(n, dtype=np.int64) % N_LANES * n_codes


def pair_sums(
    code: Ints, n_codes: int, score: Array, outcome: Array, weight: Array | None, squares: bool = True
) -> tuple[Float64s, Float64s]:
    """Return moments by code, of all pairs and of those with outcome 1; a fractional outcome counts as a share of one.

    The codes may be overwritten.
    """
    if outcome.dtype.kind == "f":
        share = outcome.astype(np.float64, copy=False)
        return _moments(code, n_codes, score, weight, squares), _moments(code, n_codes, score, weight, squares, share)
    code = code.astype(np.int64, copy=False)
    code *= 2
    code += outcome
    split = _moments(code, 2 * n_codes, score, weight, squares).reshape(-1, n_codes, 2)
    return split[:, :, 0] + split[:, :, 1], split[:, :, 1]


def classwise_sums(
    matrix: Floats,
    labels: Ints,
    weight: Array | None,
    edges: Floats,
    assign: Callable[[Floats], Ints],
    squares: bool = True,
) -> tuple[Float64s, Float64s]:
    """Return moments by (class, bin) for every entry of a matrix, of all entries and of those at the labels.

    Most entries of a wide matrix lie in the first bin: those are summed by matrix products, the others are assigned.
    """
    n, n_classes = matrix.shape
    n_bins = len(edges) - 1
    labels = labels.astype(np.int64, copy=False)  # a smaller integer type would overflow in the codes
    n_codes = n_classes * n_bins
    flat = matrix.ravel()
    beyond = np.flatnonzero(flat > edges[1])
    column = (beyond % n_classes).astype(np.int64)
    beyond_weight = None if weight is None else weight[beyond // n_classes]
    scores = flat[beyond]
    total = _moments(column * n_bins + assign(scores), n_codes, scores, beyond_weight, squares)

    first = matrix.astype(np.float64, order="C")  # makes ravel a view
    first.ravel()[beyond] = 0
    into = total.reshape(len(total), n_classes, n_bins)[:, :, 0]
    into[0] += n - np.bincount(column, minlength=n_classes)
    if weight is None:
        factors = np.ones((1, n))
        into[1:2] += factors @ first
    else:
        factors = np.stack([weight, weight * weight])
        into[[1, 3]] += factors @ (matrix <= edges[1])
        into[[2, 4]] += factors @ first
    if squares:
        first *= first
        into[-len(factors) :] += factors @ first

    own = label_scores(matrix, labels)
    return total, _moments(labels.astype(np.int64) * n_bins + assign(own), n_codes, own, weight, squares)
