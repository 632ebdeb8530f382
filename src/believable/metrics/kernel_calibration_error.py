"""Kernel calibration errors of the whole probability vector: the squared error, and its root."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from believable import _check, _kernels
from believable._types import Ints
from believable.errors import InputError, UndefinedError
from believable.metrics.kernel_blocks import KernelBlocks, value_of_blocks
from believable.metrics.kernel_vectors import (
    Kernel,
    Vectors,
    biased_skce,
    block_sums,
    pair_rows,
    similarity_of,
    unbiased_skce,
)
from believable.metrics.table import Estimate, metric
from believable.predictions import Predictions, as_predictions

Estimator = Literal["unbiased", "biased", "block", "linear"]


class KernelPairs(NamedTuple):
    """The vectors to compare and the kernel that compares them."""

    vectors: Vectors
    similarity: _kernels.Similarity


def _pairs(
    source: Predictions, *, kernel: Kernel = "tv", bandwidth: float | None = None, what: str = "the SKCE"
) -> KernelPairs:
    vectors = Vectors.of(source, what)
    return KernelPairs(vectors, similarity_of(vectors, kernel, bandwidth))


def _mean_over_pairs(pairs: KernelPairs, *, estimator: Estimator = "unbiased", block_size: int | None = None) -> float:
    vectors, similarity = pairs
    if estimator == "unbiased":
        return unbiased_skce(vectors, similarity)
    if estimator == "biased":
        return biased_skce(vectors, similarity)
    size = 2 if estimator == "linear" else block_size or max(2, isqrt(len(vectors)))
    total, weight = block_sums(vectors, similarity, size)
    return float(total.sum() / weight.sum())


def _interval_of_square(
    predictions: Predictions, level: float, options: Mapping[str, Any], cluster: Ints | None
) -> Estimate:
    """Return the interval and the estimate, from the unbiased mean over pairs and its variance.

    The variance of such a mean has two parts (Hoeffding 1948): the variation between rows in their mean over partners,
    which vanishes for calibrated scores, and the variation between pairs, which remains. A bootstrap would pair rows
    with copies of themselves and overestimate the error.
    """
    if cluster is not None:
        raise InputError(
            "intervals of the kernel errors do not support clusters: leave {argument} out",
            argument="clusters",
        )
    asked = {name: options[name] for name in ("kernel", "bandwidth") if name in options}
    vectors, similarity = _pairs(predictions, what="the kernel calibration error", **asked)
    squared = unbiased_skce(vectors, similarity)
    sums, w = pair_rows(vectors, similarity), vectors.weight
    total, pairs = float(w.sum()), float(w.sum()) ** 2 - float((w**2).sum())
    partner = sums.rows / (total - w)
    first = 4 * float(np.sum(w**2 * (partner - squared) ** 2)) / total**2
    second = 2 * sums.squares / pairs**2
    # The means over partners are noisy themselves, so the first part contains the second twice.
    reach = -NormalDist().inv_cdf((1 - level) / 2) * float(np.sqrt(max(first - second, second)))
    return Estimate(squared, squared - reach, squared + reach, level, "pairs")


@metric(
    alias="skce",
    counts=_pairs,
    says=_mean_over_pairs,
    interval=_interval_of_square,
    needs="pairs",
    low=-2.0,
    high=2.0,
    kinds=("binary", "multiclass"),
    repeats=False,
    of="canonical",
    reference="Widmann et al. 2019",
)
def squared_kernel_calibration_error(
    predictions: Any,
    actuals: Any = None,
    *,
    estimator: Estimator = "unbiased",
    kernel: Kernel = "tv",
    bandwidth: float | None = None,
    block_size: int | None = None,
    sample_weight: Any = None,
) -> float:
    """Squared kernel calibration error of the whole probability vector.

    The mean over pairs of rows of h_ij = k(P_i, P_j) <e_i - P_i, e_j - P_j>, with e_i the unit vector of row i's label:
    do rows with similar predictions err in the same direction? This metric and its root are the only ones here that
    look at the whole vector. 1-D scores become the vectors (1 - p, p). In [-2, 2] for kernels of at most 1; 0 is best.
    The unbiased estimators have mean 0 for calibrated predictions, so they can be negative.

    - "unbiased": over pairs of different rows, sum of w_i w_j h_ij / (W^2 - sum w^2). It needs two rows.
    - "biased": over all pairs, including each row with itself, / W^2; never negative. `kernel_calibration_error` is its
      root.
    - "block": the mean of the unbiased values of consecutive blocks of `block_size` rows, weighted by their pairs; rows
      at the end that do not fill a block are left out. For n too large for n^2 pairs. **Depends on the order of rows.**
    - "linear": the same with blocks of 2. It depends on the order of rows, too.

    Kernels: "tv" is exp(-TV / nu), with TV half the sum of absolute differences; "gaussian" is exp(-d^2 / (2 nu^2)).
    The default bandwidth nu is the weighted median distance over all pairs (including each row with itself) of at most
    1000 rows, taken evenly from the rows sorted by their descending probabilities; 1 if that median is 0.

    Soft labels: e_i is the mixture of the two unit vectors, the expected value over independent labels. "unbiased"
    leaves out the pair of a row with itself, whatever its label.

    Time grows as n^2 K (for blocks of B rows, as n B K) and memory as n K, because no n x n matrix is formed. For 1-D
    scores with the kernel "tv", time grows as n log n.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, or KernelBlocks
        Scores of one event, one column of probabilities per class, or the blocks of a stream.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    estimator : {"unbiased", "biased", "block", "linear"}
        The mean over pairs, as above.
    kernel : {"tv", "gaussian"} or callable
        A callable takes two blocks of rows, arrays of shape (a, K) and (b, K), and returns the (a, b) array of its
        values. It must be symmetric.
    bandwidth : float, optional
        The bandwidth nu, above 0.
    block_size : int, optional
        Rows per block for "block", about sqrt(n) by default.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), NeurIPS.

    Examples
    --------
    >>> p, y = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]], [0, 1, 2, 2]
    >>> round(squared_kernel_calibration_error(p, y), 6)
    0.013612
    >>> round(squared_kernel_calibration_error(p, y, estimator="biased"), 6)
    0.135209
    """
    _check.choice(estimator, get_args(Estimator), "estimator")
    if block_size is not None:
        if estimator != "block":
            raise InputError(
                "{argument} applies to estimator='block', not to {estimator!r}",
                argument="block_size",
                estimator=estimator,
            )
        block_size = _check.positive_integer(block_size, "block_size", 2)
    if isinstance(predictions, KernelBlocks):
        return value_of_blocks(predictions, estimator, kernel, bandwidth, block_size)
    pairs = _pairs(as_predictions(predictions, actuals, sample_weight), kernel=kernel, bandwidth=bandwidth)
    return _mean_over_pairs(pairs, estimator=estimator, block_size=block_size)


# --- kernel calibration error of the whole probability vector ---------------------------------------------------------


ROUNDING_OF_SQUARES = 1e-12  # rounding can push a squared error of 0 this far below 0


def _root(pairs: KernelPairs) -> float:
    squared = biased_skce(pairs.vectors, pairs.similarity)
    if squared < -ROUNDING_OF_SQUARES:
        raise UndefinedError(f"the kernel is not positive semi-definite: the squared error is {squared:g}")
    return float(max(squared, 0.0) ** 0.5)


def _interval_of_root(
    predictions: Predictions, level: float, options: Mapping[str, Any], cluster: Ints | None
) -> Estimate:
    found = _interval_of_square(predictions, level, options, cluster)
    squared, low, high = (float(np.sqrt(max(end, 0.0))) for end in (found.value, found.low, found.high))
    return Estimate(squared, low, high, level, "pairs")


@metric(
    alias="kce",
    counts=_pairs,
    says=_root,
    interval=_interval_of_root,
    needs="pairs",
    high=2**0.5,
    kinds=("binary", "multiclass"),
    of="canonical",
    reference="Widmann et al. 2019",
)
def kernel_calibration_error(
    predictions: Any,
    actuals: Any = None,
    *,
    kernel: Kernel = "tv",
    bandwidth: float | None = None,
    sample_weight: Any = None,
) -> float:
    """Kernel calibration error of the whole probability vector: the root of the biased squared error.

    sqrt( sum_ij w_i w_j k(P_i, P_j) <e_i - P_i, e_j - P_j> ) / W, with P_i the probabilities of row i and e_i the unit
    vector of its label, and with each row paired with itself too: the norm of the mean of (e - P) k(P, ·), its largest
    product with a vector field of norm 1. In [0, sqrt(2)] for kernels of at most 1; 0 is best. Sampling noise makes it
    positive even for calibrated predictions, less so the more rows there are.

    Vectors, labels, kernels and cost are those of `squared_kernel_calibration_error`.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), or Predictions
        Scores of one event, or one column of probabilities per class.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    kernel : {"tv", "gaussian"} or callable
        A callable must be a positive semi-definite kernel.
    bandwidth : float, optional
        The bandwidth nu, above 0; by default the median distance.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), NeurIPS.

    Examples
    --------
    >>> p, y = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]], [0, 1, 2, 2]
    >>> round(kernel_calibration_error(p, y), 6)
    0.367707
    """
    checked = as_predictions(predictions, actuals, sample_weight)
    return _root(_pairs(checked, kernel=kernel, bandwidth=bandwidth, what="the kernel calibration error"))
