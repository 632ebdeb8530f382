"""Sampling noise of new data of the same kind, including clusters of rows, for given true rates.

Each kind of data provides two things: the variance of the observed gaps, and draws of outcomes at any rates.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from believable import _kernels
from believable._types import Float64s, Ints
from believable.inference.cells import ABSENT_SHARE, Cells, pooled_rate
from believable.inference.clusters import clustering, drawn_counts, residuals_by_unit, unit_of_rows, weights_by_unit
from believable.inference.inversion import NARROWEST_SHAPE_BANDWIDTH, Noise
from believable.inference.null import cells_of_classes
from believable.inference.question import Question
from believable.predictions import Predictions

MAX_POINTS_DRAWN_ANEW = 60  # with more points, noise is drawn once and scaled for every candidate
MOST_LABELS_PER_ROW = 1e4  # a soft label is worth no more labels than this
LABELS_TO_DRAW, FEWEST_LABEL_DRAWS = 2_000_000, 100  # to see how the classes of one row depend on each other
BOUNDS_OF_WIDENING = (0.7, 4.0)  # limits of the factor by which dependence between bins changes the spread


def noise_of_pairs(cells: Cells, n_draws: int, rng: np.random.Generator) -> tuple[Float64s, Noise]:
    """Return the noise of independent pairs: a random number of pairs in each cell, and random outcomes."""
    calibrated = cells.draw(cells.conf, rng, n_draws)  # drawn as in the noise floor, so that the two agree
    times, cells = cells.times(rng, n_draws), cells.as_observed()
    if cells.are_bins or len(cells) <= MAX_POINTS_DRAWN_ANEW:

        def drawn(rate: Float64s | None, again: np.random.Generator) -> tuple[Float64s, Float64s | None]:
            if rate is None:
                return calibrated, None
            wy, w = cells.draw_anew(rate, again, times)
            # Metrics of points use outcomes minus scores only, so points can keep their weight.
            return (wy, w) if cells.are_bins else (cells.w * cells.conf + (wy - w * cells.conf), None)

        return _variance_of_gaps(cells), drawn
    # The metric adds up many points, so it suffices to draw the noise once and to scale it for each rate.
    typical = _typical(cells)
    scale = np.sqrt(np.maximum(cells.variance(typical), 1e-6))
    unit = (cells.draw(typical, rng, n_draws) - cells.w * typical) / scale

    def scaled(rate: Float64s | None, again: np.random.Generator) -> tuple[Float64s, Float64s | None]:
        if rate is None:
            return calibrated, None
        occurred = cells.w * (cells.conf + times * (rate - cells.conf))
        return occurred + unit * np.sqrt(cells.variance(rate)), None

    return _variance_of_gaps(cells), scaled


def _typical(cells: Cells) -> Float64s:
    """Return the rates of cells, shrunk towards their scores because single outcomes say little; never 0 or 1."""
    return np.asarray((cells.wy / cells.w * cells.size + cells.conf + 0.25) / (cells.size + 1.5))


def _variance_of_gaps(cells: Cells) -> Float64s:
    """Return the variance of the gaps at the observed rates, but no smaller than for calibrated scores."""
    seen, calibrated = cells.variance(_typical(cells)), cells.variance(cells.conf)
    return np.asarray(np.maximum(np.maximum(seen, calibrated), 1e-6) / cells.size)


def with_soft_labels(rows: Predictions, cells: Cells) -> Cells:
    """Return cells of as many pairs as soft labels are worth: the mean of five labels varies like a fifth of one.

    The variance of labels is that of differences between neighbours in the order of scores; if each label were drawn
    as 0 or 1, it would be larger by the mean of y (1 - y).
    """
    if not np.issubdtype(rows.labels.dtype, np.floating):
        return cells
    pairs = rows.all_pairs(cells.statistic.view)
    stratum = np.zeros(len(pairs.score)) if pairs.stratum is None else pairs.stratum
    outcome, order = pairs.outcome.astype(np.float64), np.lexsort((pairs.score, stratum))
    changes = (np.diff(pairs.score[order]) != 0) | (np.diff(stratum[order]) != 0)
    first = np.concatenate([[0], np.flatnonzero(changes) + 1])
    residual, n = (outcome - pairs.score)[order], np.diff(np.append(first, len(order)))
    # Equal scores have no order, so neighbours among them count with the mean over all orders.
    mean = np.add.reduceat(residual, first) / n
    squares = np.add.reduceat((residual - np.repeat(mean, n)) ** 2, first)
    between = np.diff(mean) ** 2 + (squares / n)[1:] + (squares / n)[:-1]
    seen = float(squares.sum() + between.sum() / 2) / max(len(residual) - 1, 1)
    drawn = seen + float(np.mean(outcome * (1 - outcome)))
    return replace(cells, size=cells.size * min(drawn / max(seen, 1e-300), MOST_LABELS_PER_ROW))


def noise_of_points(
    rows: Predictions, cells: Cells, cluster: Ints | None, n_draws: int, rng: np.random.Generator
) -> tuple[Float64s, Noise]:
    """Return the noise of points with clusters or several pairs per row, by resampling what each unit adds to them."""
    unit, n_units = unit_of_rows(cluster, len(rows), rng)
    residuals = residuals_by_unit(rows, cells, unit, n_units)
    spare = (drawn_counts(n_units, n_draws, rng) - 1) * np.sqrt(n_units / max(n_units - 1, 1))
    drift = np.asarray(spare @ residuals)
    variance = np.asarray(residuals.multiply(residuals).sum(axis=0)).ravel() / cells.w**2
    variance = np.maximum(variance, _of_one_pair(cells))
    return variance, lambda rate, again: (cells.w * (cells.conf if rate is None else rate) + drift, None)


def _of_one_pair(cells: Cells) -> Float64s:
    """Return a lower bound for the variance of gaps of cells with one or two pairs."""
    return np.asarray(cells.variance(cells.conf) / (cells.size + 1) ** 2)


def bins_of_units(
    question: Question, rows: Predictions, cells: Cells, cluster: Ints | None, n_draws: int, rng: np.random.Generator
) -> tuple[Cells, float]:
    """Return bins with clusters, or with several pairs per row, in a form that can be drawn as if independent.

    Clusters reduce the effective number of pairs in each bin. Dependence between bins (what one class loses, another
    gains) changes the spread of the error, but hardly its mean. The second result is the ratio of the spread when whole
    units are drawn to that when bins are drawn independently, both at the observed rates. Noise from the residuals
    themselves would not do: in bins with almost no events, it would remove some.
    """
    if rows.kind == "multiclass" and cluster is None:
        return cells, _widened_by_exclusion(question, rows, cells, n_draws, rng)
    fewer = replace(cells, size=cells.size / clustering(rows, cells, cluster))
    unit, n_units = unit_of_rows(cluster, len(rows), rng)
    weight, residuals = weights_by_unit(rows, cells, unit, n_units), residuals_by_unit(rows, cells, unit, n_units)
    counts = drawn_counts(n_units, n_draws, rng)
    w = np.maximum(np.asarray(counts @ weight), ABSENT_SHARE * cells.w)
    whole = question.replicates(cells.with_outcomes(w * cells.conf + np.asarray(counts @ residuals), w))
    rate = np.broadcast_to(np.clip(cells.wy / cells.w, 0, 1), w.shape)
    apart = question.replicates(cells.with_outcomes(*fewer.draw_anew(rate, rng, cells.times(rng, n_draws))))
    widened = float(np.std(whole)) / max(float(np.std(apart)), 1e-300) if np.std(apart) > 0 else 1.0
    return fewer, float(np.clip(widened, *BOUNDS_OF_WIDENING)) * widened_by_few(cluster)


def widened_by_few(cluster: Ints | None) -> float:
    """Return how much wider Student's t is than the normal distribution, for a variance that few clusters estimate."""
    if cluster is None:
        return 1.0
    df, level = max(len(np.unique(cluster)) - 1, 1), 0.95
    return _kernels.t_quantile(level, df) / NormalDist().inv_cdf((1 + level) / 2)


def _widened_by_exclusion(
    question: Question, rows: Predictions, cells: Cells, n_draws: int, rng: np.random.Generator
) -> float:
    """Return the ratio of the spread of the error when labels of rows are drawn to that when bins are drawn alone.

    Drawing rows again would not do if bins hold a few rows: a row that is drawn twice repeats its outcome.
    """
    n_draws = int(np.clip(LABELS_TO_DRAW // len(rows), FEWEST_LABEL_DRAWS, n_draws))
    cell, scores = cells_of_classes(rows, cells), rows.scores
    weight = None if rows.weights is None else rows.weights.astype(np.float64, copy=False)
    # Scores are moved towards what cells of similar scores show; the last entry is for classes outside the view.
    typical, conf = np.append(pooled_rate(cells), 0.5), np.append(cells.conf, 0.5)
    raised = np.where(typical > conf, (1 - typical) / np.maximum(1 - conf, 1e-12), 1.0)
    lowered = np.where(typical < conf, typical / np.maximum(conf, 1e-12), 1.0)
    moments, drawn = np.zeros((2, len(cells) + 1)), np.zeros((n_draws, len(cells)))
    for here in _kernels.row_blocks(*scores.shape):
        chance = lowered[cell[here]] * (1 - raised[cell[here]] * (1 - scores[here].astype(np.float64, copy=False)))
        chance /= chance.sum(axis=1, keepdims=True)
        each = np.ones(len(chance)) if weight is None else weight[here]
        for power, sums in enumerate(moments, start=1):
            sums += np.bincount(cell[here].ravel() + 1, (each[:, None] * chance**power).ravel(), len(sums))
        own_weight = None if weight is None else each
        reached, uniform = np.cumsum(chance, axis=1), rng.random((n_draws, len(chance)))
        drawn += _kernels.redrawn_labels(uniform, reached, cell[here], own_weight, len(cells))
    rate, square = moments[:, 1:] / cells.w
    alone = replace(cells, spread=square - rate**2)
    apart = question.replicates(cells.with_outcomes(alone.draw(np.clip(rate, 0, 1), rng, n_draws)))
    whole = question.replicates(cells.with_outcomes(drawn))
    return float(np.clip(np.std(whole) / max(float(np.std(apart)), 1e-300), *BOUNDS_OF_WIDENING))


# --- p-value of an error with clusters of rows ------------------------------------------------------------------------


POINTS_OF_CLUSTERED_TEST = 200  # scores are merged into about this many points
MAX_SIGNED_UNITS = 200  # more clusters are merged at random, which preserves the variance of every sum


def chance_of_clusters(error: Question, cluster: Ints, n_draws: int, rng: np.random.Generator) -> float:
    """Return the p-value of an error with clusters: (1 + number of draws as large) / (1 + draws).

    If the scores are calibrated, a cluster's contribution to the gaps of the cells, its sums of w (y - p), has mean 0,
    and either sign is taken to be equally likely. So the sign of each cluster is drawn at random. With five clusters
    or fewer, the p-value cannot fall below 1 in 20: so few do not show how clusters differ.

    Parameters
    ----------
    error : Question
        A calibration error of predictions.
    cluster : ndarray
        The cluster of each row; numbers may be missing.
    n_draws : int
        Number of draws of the signs.
    rng : numpy Generator
        Source of randomness.
    """
    rows, cells = error.rows, error.cells(POINTS_OF_CLUSTERED_TEST)
    assert rows is not None
    assert cells is not None
    _, unit = np.unique(cluster, return_inverse=True)
    n_units = int(unit.max()) + 1
    if n_units > MAX_SIGNED_UNITS:
        unit, n_units = rng.permutation(n_units)[unit] % MAX_SIGNED_UNITS, MAX_SIGNED_UNITS
    added = residuals_by_unit(rows, cells, unit, n_units)
    drift = np.asarray((2.0 * rng.integers(0, 2, (n_draws, n_units)) - 1) @ added)
    at = None
    if error.is_fixed_point:  # it exceeds a value exactly if its norm at that bandwidth does, which is faster
        at = max(float(error.replicates(cells.with_outcomes(cells.wy))[0]), NARROWEST_SHAPE_BANDWIDTH)
    observed = float(error.replicates(cells.with_outcomes(cells.wy), at)[0])
    shown = error.replicates(cells.with_outcomes(cells.w * cells.conf + drift), at)
    return float((1 + np.count_nonzero(shown >= observed * (1 - 1e-9))) / (1 + n_draws))
