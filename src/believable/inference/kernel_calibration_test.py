"""Kernel test of calibration of the whole probability vector."""

from __future__ import annotations

from math import copysign, erfc, inf, isqrt, sqrt
from typing import Any, Literal, get_args

import numpy as np

from believable import _check, _kernels
from believable._check import generator
from believable._types import Float64s
from believable.errors import InputError, UndefinedError
from believable.inference.null import TestResult, batches, drawn_at_scores, resampling_p_value
from believable.metrics.kernel_blocks import KernelBlocks, value_of_blocks
from believable.metrics.kernel_vectors import (
    Kernel,
    Vectors,
    block_sums,
    line_total,
    on_a_line,
    similarity_of,
    unbiased_skce,
)
from believable.predictions import as_predictions

Method = Literal["auto", "block", "resampling"]
MAX_ROWS_PAIRED, MAX_ROWS_ON_A_LINE = (
    1000,
    100_000,
)  # the most rows for which "auto" resamples: n^2 pairs, or n log n along a line


def kernel_calibration_test(
    predictions: Any,
    actuals: Any = None,
    *,
    kernel: Kernel = "tv",
    bandwidth: float | None = None,
    method: Method = "auto",
    block_size: int | None = None,
    n_resamples: int = 999,
    random_state: Any = None,
    sample_weight: Any = None,
) -> TestResult:
    """Test whole probability vectors for calibration, by the squared kernel calibration error (SKCE).

    The hypothesis concerns the whole vector: given the prediction P, each class k occurs with probability P_k. 1-D
    scores become the vectors (1 - p, p).

    - "resampling": the statistic is the unbiased SKCE of all pairs. Labels are drawn from the predictions, and the
      p-value is (1 + number of replicates with an SKCE as large) / (1 + n_resamples). Time grows as n^2 for every
      replicate (n log n for 1-D scores with the kernel "tv"), memory as n (K + n_resamples).
    - "block": the statistic is the mean of the unbiased SKCE over consecutive blocks of rows, weighted by their pairs
      and divided by its standard error; the p-value is its upper normal tail. Fast for any n, but with less power. With
      few blocks it rejects slightly too rarely, because the mean is skewed. It depends on the order of the rows, which
      should be arbitrary.
    - "auto": "resampling" for at most 1000 rows (100,000 for 1-D scores with the kernel "tv"), otherwise "block".

    If all blocks have the same value, as with predictions of 0 and 1, the statistic is 0 with p-value 1 if that value
    is 0, and infinite with p-value 0 if it is larger. With soft labels, which vary less than drawn labels, "resampling"
    is conservative.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), Predictions, or KernelBlocks
        Scores of one event, one column of probabilities per class, or the blocks of a stream.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    kernel, bandwidth
        As for `squared_kernel_calibration_error`.
    method : {"auto", "block", "resampling"}
        Where the p-value comes from, as above.
    block_size : int, optional
        Rows per block for "block", at least 2 and about sqrt(n) by default. Larger blocks have more power.
    n_resamples : int
        Number of sets of labels drawn.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    TestResult
        With `statistic`, `p_value`, `df` (None), `n` and `method` ("block" or "resampling").

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), NeurIPS.
    Zaremba, Gretton, Blaschko (2013), NeurIPS.

    Examples
    --------
    >>> p, y = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]], [0, 1, 2, 2]
    >>> result = kernel_calibration_test(p, y, random_state=1)
    >>> round(result.statistic, 4), result.p_value
    (0.0136, 0.286)
    """
    _check.choice(method, get_args(Method), "method")
    n_resamples = _check.positive_integer(n_resamples, "n_resamples")
    if block_size is not None:
        if method != "block":
            raise InputError(
                "{argument} applies to method='block', not to {method!r}", argument="block_size", method=method
            )
        block_size = _check.positive_integer(block_size, "block_size", 2)
    if isinstance(predictions, KernelBlocks):
        if method == "resampling":
            raise UndefinedError("resampling needs the rows, and a KernelBlocks holds only sums: use method='block'")
        value_of_blocks(predictions, "block", kernel, bandwidth, block_size)
        return _beside(predictions.value, predictions.standard_error, predictions.n)
    rng = generator(random_state)
    vectors = Vectors.of(as_predictions(predictions, actuals, sample_weight), "the kernel test")
    similarity = similarity_of(vectors, kernel, bandwidth)
    if method == "auto":
        most = MAX_ROWS_ON_A_LINE if on_a_line(vectors, similarity) else MAX_ROWS_PAIRED
        method = "resampling" if len(vectors) <= most else "block"
    if method == "block":
        return _by_blocks(vectors, similarity, block_size)
    return _by_resampling(vectors, similarity, n_resamples, rng)


def _by_blocks(vectors: Vectors, similarity: _kernels.Similarity, size: int | None) -> TestResult:
    size = size or max(2, isqrt(len(vectors)))
    if len(vectors) < 2 * size:
        raise UndefinedError(f"two blocks of {size} rows need {2 * size} rows, but there are only {len(vectors)}")
    total, pairs = block_sums(vectors, similarity, size)
    value = float(total.sum() / pairs.sum())
    spread = total - value * pairs
    m = len(total)
    error = sqrt(float(spread @ spread) * m / (m - 1)) / float(pairs.sum())
    return _beside(value, error, len(vectors))


def _beside(value: float, error: float, n: int) -> TestResult:
    """Return the ratio of a value to its standard error, with the upper normal tail as p-value."""
    z = value / error if error else copysign(inf, value) if value else 0.0
    return TestResult(z, 1.0 if z == 0 and not error else erfc(z / sqrt(2)) / 2, None, n, "block")


def _by_resampling(
    vectors: Vectors, similarity: _kernels.Similarity, n_resamples: int, rng: np.random.Generator
) -> TestResult:
    observed = unbiased_skce(vectors, similarity)
    noise = 0.0
    if on_a_line(vectors, similarity):
        drawn = _along_a_line(vectors, similarity.bandwidth, n_resamples, rng)
    else:
        labels = _kernels.draw_labels(vectors.points, n_resamples, rng)
        drawn = _kernels.skce_replicates(vectors.points, vectors.weight, _of_vectors(vectors, similarity), labels)
        noise = (
            1e-12 if vectors.points.shape[1] > _kernels.FEW_CLASSES else 0.0
        )  # terms near 1 cancel with many classes
    p_value = resampling_p_value(observed, drawn / _kernels.pair_weight(vectors.weight), noise)
    return TestResult(observed, p_value, None, len(vectors), "resampling")


def _of_vectors(vectors: Vectors, similarity: _kernels.Similarity) -> _kernels.Similarity:
    """Return the kernel of the vectors (1 - p, p) as a function of p alone, as in `Vectors.places`."""
    if vectors.score is None or callable(similarity.name):
        return similarity
    return _kernels.Similarity(lambda x, y: similarity.between(x[:, [1, 1]], y[:, [1, 1]]))


def _along_a_line(vectors: Vectors, bandwidth: float, n_resamples: int, rng: np.random.Generator) -> Float64s:
    """Return sums over pairs, i != j, for labels drawn at 1-D scores."""
    assert vectors.score is not None
    order = _kernels.ascending(vectors.score)
    p, w, one = vectors.score[order], vectors.weight[order], np.ones(len(order), np.int64)
    found = []
    for size in batches(n_resamples, len(p)):
        values = drawn_at_scores(p, one, size, rng)
        values -= p
        values *= w
        found.append(line_total(p, values, bandwidth))
    return np.concatenate(found)
