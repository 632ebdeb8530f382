"""The hypothesis of calibration: labels drawn from the scores, and the `TestResult` of a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from believable import _kernels
from believable._types import Array, Float64s
from believable.errors import InputError
from believable.inference.cells import Cells
from believable.predictions import Predictions
from believable.stats.points import Points


@dataclass(frozen=True, slots=True)
class TestResult:
    """Result of a test of the hypothesis that the scores are calibrated.

    Attributes
    ----------
    statistic : float
        The test statistic.
    p_value : float
        Probability of a statistic at least as extreme if the scores are calibrated.
    df : float or None
        Degrees of freedom, if the reference distribution has any.
    n : int
        Number of rows.
    method : str
        Where the p-value comes from.
    """

    statistic: float
    p_value: float
    df: float | None
    n: int
    method: str

    __test__ = False  # keeps pytest from collecting the class

    def __str__(self) -> str:
        df = "" if self.df is None else f", df {self.df:g}"
        return f"statistic {self.statistic:.4g}{df}, p = {self.p_value:.3g} (n = {self.n:,}, {self.method})"

    __repr__ = __str__


def refuse_weights(points: Points, what: str) -> None:
    """Raise unless the points count rows with outcomes of 0 and 1; `what` names the test."""
    if not (np.array_equal(points.w, points.n) and np.array_equal(points.w2, points.n)):
        raise InputError(f"{what} does not support weights: it counts rows")
    if np.any(points.wy != np.rint(points.wy)):
        raise InputError(f"{what} counts events: it needs outcomes of 0 and 1, not soft labels")


# --- labels drawn from 1-D scores -------------------------------------------------------------------------------------


NUMBERS_DRAWN_AT_ONCE = 1 << 22  # bounds memory


def batches(n_resamples: int, width: int) -> Iterator[int]:
    """Yield the sizes of batches of replicates, each of `width` numbers, that fit in memory."""
    step = max(1, NUMBERS_DRAWN_AT_ONCE // width)
    for start in range(0, n_resamples, step):
        yield min(step, n_resamples - start)


def drawn_at_scores(score: Float64s, n: Array, size: int, rng: np.random.Generator) -> Float64s:
    """Draw the number of events among the n rows at each score, `size` times."""
    if n.max() == 1:
        return (rng.random((size, len(score))) < score).astype(np.float64)
    return rng.binomial(n, score, (size, len(score))).astype(np.float64)


def resampling_p_value(observed: float, replicates: Array, noise: float = 0.0) -> float:
    """Return (1 + number of replicates at least as large) / (1 + number of replicates), allowing for rounding."""
    largest = float(np.abs(replicates).max(initial=0)) or 1.0
    short = 1e-12 * abs(observed) + 1e-9 * largest * float(np.std(replicates / largest)) + noise
    return float((1 + np.count_nonzero(replicates >= observed - short)) / (1 + len(replicates)))


# --- labels drawn from predictions of any kind ------------------------------------------------------------------------


UNIFORMS_AT_ONCE = 1 << 20  # bounds memory


class LabelDraws:
    """Random labels of every row, drawn from its own probabilities."""

    def __init__(self, source: Predictions, rng: np.random.Generator) -> None:
        self.source, self.rng = source, rng
        self.reached = np.cumsum(source.scores, axis=1, dtype=np.float64) if source.kind == "multiclass" else None

    def draw(self) -> Array:
        """Draw one set of labels; a soft label becomes a hard one."""
        if self.reached is None:
            return (self.rng.random(self.source.scores.shape) < self.source.scores).astype(np.int8)
        goal = self.rng.random(len(self.source)) * self.reached[:, -1]
        return np.asarray(np.count_nonzero(goal[:, None] >= self.reached[:, :-1], axis=1))


def drawn_outcomes(source: Predictions, cells: Cells, n_draws: int, rng: np.random.Generator) -> Float64s:
    """Draw labels of rows with several dependent pairs, and return the weighted outcomes of each cell."""
    cell = cells_of_classes(source, cells)
    sums = np.empty((n_draws, len(cells)))
    per_draw = cell.size if source.kind == "multilabel" else len(source)
    step = max(1, UNIFORMS_AT_ONCE // per_draw)
    reached = chance = None
    weight = None if source.weights is None else source.weights.astype(np.float64, copy=False)
    if source.kind == "multilabel":
        chance = source.scores.astype(np.float64, copy=False).ravel()
        weight = None if weight is None else np.repeat(weight, source.n_classes)
    else:
        reached = np.cumsum(source.scores, axis=1, dtype=np.float64)
    for start in range(0, n_draws, step):
        uniform = rng.random((min(step, n_draws - start), per_draw))
        if reached is not None:
            found = _kernels.redrawn_labels(uniform, reached, cell, weight, len(cells))
        else:
            assert chance is not None
            found = _kernels.redrawn_events(uniform, chance, cell.ravel(), weight, len(cells))
        sums[start : start + len(uniform)] = found
    return sums


def cells_of_classes(source: Predictions, cells: Cells) -> Array:
    """Return the cell of every entry of the matrix, as an (n, K) array; -1 for entries outside the view."""
    view, scores = cells.statistic.view, source.scores
    cell = np.full(scores.shape, -1, np.int32)
    for rows in _kernels.row_blocks(*scores.shape):
        block = scores[rows]
        column = np.broadcast_to(np.arange(block.shape[1]), block.shape)
        stratum = column
        if view.notion in ("top_r", "classwise_top_r"):
            column = _kernels.top_ranked(block, view.r or 1)[1]
            ranks = np.broadcast_to(np.arange(column.shape[1]), column.shape)
            stratum = ranks if view.notion == "top_r" else column
            block = np.take_along_axis(block, column, axis=1)
        at = np.repeat(np.arange(rows.start, rows.stop), column.shape[1])
        score, stratum, column = block.ravel(), stratum.ravel(), column.ravel()
        if view.threshold is not None:
            kept = score > score.dtype.type(view.threshold)
            at, score, stratum, column = at[kept], score[kept], stratum[kept], column[kept]
        cell[at, column] = cells.locate(score, None if view.pooled else stratum)
    return cell
