"""Common ground of the kernel calibration errors and their test: vectors, residuals, kernels, sums over pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from believable import _check, _kernels
from believable._types import Float64s
from believable.errors import InputError, UndefinedError
from believable.predictions import Predictions

KernelName = Literal["tv", "gaussian"]
Kernel = KernelName | Callable[[Any, Any], Any]
ROWS_TO_TRY_A_KERNEL = 64  # a callable kernel is checked for symmetry on this many rows


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Probability vectors P, residuals R (label as a unit vector, minus P) and weights of mean 1.

    1-D scores become the vectors (1 - p, p), and are also kept in `score`: their total variation distance is |p - q|,
    so pairs can be summed along a line. A soft label is the mixture of the two unit vectors.
    """

    points: Float64s
    residuals: Float64s
    weight: Float64s
    score: Float64s | None

    def __len__(self) -> int:
        return len(self.points)

    @classmethod
    def of(cls, predictions: Predictions, what: str) -> Vectors:
        """Return the vectors of predictions; multilabel columns do not form one vector and are refused."""
        n = len(predictions)
        weight = np.ones(n) if predictions.weights is None else predictions.weights / predictions.weights.mean()
        if predictions.kind == "multilabel":
            raise UndefinedError(f"{what} is defined for binary and multiclass predictions, these are multilabel")
        if predictions.kind == "binary":
            p = predictions.scores.astype(np.float64)
            excess = predictions.labels.astype(np.float64) - p
            return cls(np.column_stack([1 - p, p]), np.column_stack([-excess, excess]), weight, p)
        points = np.ascontiguousarray(predictions.scores, np.float64)
        residuals = -points
        residuals[np.arange(n), predictions.labels.astype(np.intp)] += 1
        return cls(points, residuals, weight, None)

    def places(self, similarity: _kernels.Similarity) -> Float64s:
        """Return rows with the distances of the vectors: (p, p) instead of (1 - p, p), whose 1 - p is rounded.

        A callable kernel gets the vectors themselves.
        """
        if self.score is None or callable(similarity.name):
            return self.points
        return np.column_stack([self.score, self.score])


def similarity_of(vectors: Vectors, kernel: Kernel, bandwidth: float | None) -> _kernels.Similarity:
    """Return the kernel requested, with the bandwidth given or the median distance."""
    if callable(kernel):
        if bandwidth is not None:
            raise InputError(
                "{argument} applies to the kernels 'tv' and 'gaussian'; a callable kernel sets its own",
                argument="bandwidth",
            )
        _check.takes(kernel, "kernel", "x, y")
        return _kernels.Similarity(_own(kernel, vectors.points[:ROWS_TO_TRY_A_KERNEL]))
    _check.choice(kernel, get_args(KernelName), "kernel")
    if bandwidth is not None:
        return _kernels.Similarity(kernel, checked_bandwidth(bandwidth))
    rows, weight = _kernels.spread_rows(vectors.points, vectors.weight)
    if vectors.score is None:
        chosen = vectors.points[rows]
        distance = _kernels.distances(chosen, chosen, kernel)
    else:  # the vectors would lose the differences of small scores when 1 - p is rounded
        p = vectors.score[rows]
        distance = np.abs(p[:, None] - p)
        if kernel == "gaussian":
            distance = 2 * distance**2
    middle = _kernels.middle_of_pairs(distance, weight)
    middle = middle**0.5 if kernel == "gaussian" else middle
    return _kernels.Similarity(kernel, middle or 1.0)


def checked_bandwidth(value: Any) -> float:
    """Return the bandwidth, checked to be a number above 0."""
    if _check.number(value, "bandwidth", 0) == 0:
        raise InputError("{argument} must be above 0, got {got!r}", argument="bandwidth", got=value)
    return float(value)


def _own(kernel: Callable[[Any, Any], Any], some: Float64s) -> Callable[[Float64s, Float64s], Float64s]:
    """Wrap a user's kernel so that its values are checked; symmetry is checked on some rows only."""

    def checked(x: Float64s, y: Float64s) -> Float64s:
        found = np.asarray(kernel(_read_only(x), _read_only(y)))
        if found.shape != (len(x), len(y)) or found.dtype.kind not in "biuf":
            raise InputError(
                f"the kernel must return numbers of shape {(len(x), len(y))} for {len(x)} and {len(y)} rows, got "
                f"shape {found.shape} of {found.dtype}"
            )
        if not np.isfinite(found).all():
            raise InputError("the kernel returned a number that is not finite")
        return found.astype(np.float64)

    first = checked(some, some)
    if not np.allclose(first, first.T, rtol=1e-6, atol=1e-9 * np.abs(first).max()):
        raise InputError("the kernel is not symmetric: k(x, y) and k(y, x) differ")
    return checked


def _read_only(block: Float64s) -> Float64s:
    view = block.view()
    view.flags.writeable = False
    return view


# --- sums over pairs --------------------------------------------------------------------------------------------------


def on_a_line(vectors: Vectors, similarity: _kernels.Similarity) -> bool:
    """Return whether pairs can be summed along a line: total variation of 1-D scores."""
    return vectors.score is not None and similarity.name == "tv"


def pair_rows(vectors: Vectors, similarity: _kernels.Similarity) -> _kernels.SkceRows:
    """Return each row's sum of h over the other rows, and the sum of squares; see `_kernels.skce_rows`."""
    w = vectors.weight
    if vectors.score is None or not on_a_line(vectors, similarity):
        return _kernels.skce_rows(vectors.places(similarity), vectors.residuals, w, similarity)
    order = _kernels.ascending(vectors.score)
    p, nu = vectors.score[order], similarity.bandwidth
    excess = vectors.residuals[order, 1]
    values = w[order] * excess
    rows = np.empty(len(p))
    rows[order] = 2 * excess * _kernels.faded_around(p, values, nu)
    squared = values * values
    squares = 8 * float((squared * _kernels.faded_before(p, squared, nu / 2)).sum())
    return _kernels.SkceRows(rows, squares)


def unbiased_skce(vectors: Vectors, similarity: _kernels.Similarity) -> float:
    """Return the mean of h over pairs of different rows."""
    if len(vectors) < 2:
        raise UndefinedError("the unbiased SKCE compares pairs of rows: it needs at least two rows")
    if vectors.score is not None and on_a_line(vectors, similarity):
        order = _kernels.ascending(vectors.score)
        values = vectors.weight[order] * vectors.residuals[order, 1]
        total = float(line_total(vectors.score[order], values, similarity.bandwidth))
    else:
        total = float(vectors.weight @ pair_rows(vectors, similarity).rows)
    return total / _kernels.pair_weight(vectors.weight)


def line_total(p: Float64s, values: Float64s, bandwidth: float) -> Any:
    """Return the sum of w_i w_j h_ij over i != j, for ascending 1-D scores and values w (y - p), along the last axis.

    The factor 4: <e_i - P_i, e_j - P_j> is twice (y_i - p_i)(y_j - p_j), and each pair counts twice.
    """
    return 4 * (values * _kernels.faded_before(p, values, bandwidth)).sum(axis=-1)


def biased_skce(vectors: Vectors, similarity: _kernels.Similarity) -> float:
    """Return the mean of h over all pairs, including each row with itself.

    Equal vectors are merged first, so that residuals that cancel do so before they are squared. The root of a value
    near 0 is then as accurate as that of any other.
    """
    values = vectors.residuals * vectors.weight[:, None]
    total = vectors.weight.sum() ** 2
    if vectors.score is not None and on_a_line(vectors, similarity):
        order = _kernels.ascending(vectors.score)
        return float(2 * _kernels.laplace_form(vectors.score[order], values[order, 1], similarity.bandwidth) / total)
    points = vectors.places(similarity)
    order = _kernels.row_order(points)
    points = points[order]
    starts = _kernels.runs(points)
    values = np.add.reduceat(values[order], starts, axis=0)
    points = points[starts]
    return float(_kernels.skce_rows(points, values, np.ones(len(points)), similarity, diagonal=True).rows.sum() / total)


def block_sums(vectors: Vectors, similarity: _kernels.Similarity, size: int) -> tuple[Float64s, Float64s]:
    """Return the numerators and denominators of the unbiased SKCE of consecutive blocks of rows."""
    if len(vectors) < size:
        raise UndefinedError(f"a block takes {size} rows, but there are only {len(vectors)}")
    if vectors.score is not None and on_a_line(vectors, similarity):
        rows = len(vectors) // size * size
        excess, w = vectors.residuals[:rows, 1], vectors.weight[:rows].reshape(-1, size)
        p, values = vectors.score[:rows].reshape(-1, size), excess.reshape(-1, size) * w
        # As in `line_total`; this sum equals W^2 - sum w^2 without a difference that would cancel.
        pairs = 2 * (w[:, 1:] * np.cumsum(w, axis=1)[:, :-1]).sum(axis=1)
        return 4 * _kernels.pairs_of_blocks(p, values, similarity.bandwidth), pairs
    return _kernels.skce_blocks(vectors.places(similarity), vectors.residuals, vectors.weight, similarity, size)
