"""Noise: what new data of the same kind would show, rows in clusters included, if their true rates were these.

For each kind of data two things: the variance of the observed gaps, and draws of outcomes at any rates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from believable._types import Float64s, Ints
from believable.inference.cells import ABSENT_SHARE, Cells
from believable.inference.clusters import clustering, drawn_counts, residuals_by_unit, unit_of_rows, weights_by_unit
from believable.inference.inversion import NARROWEST_SHAPE_BANDWIDTH, Noise
from believable.inference.question import Question
from believable.predictions import Predictions

MAX_POINTS_DRAWN_ANEW = 60  # up to here outcomes are drawn anew for every candidate
BOUNDS_OF_WIDENING = (0.7, 4.0)  # bounds of what it may come to that bins hang together


def noise_of_pairs(cells: Cells, n_draws: int, rng: np.random.Generator) -> tuple[Float64s, Noise]:
    """Pairs independent of each other: as many in each cell as chance has it, and their outcomes."""
    calibrated = cells.draw(cells.conf, rng, n_draws)  # as the noise floor has it: then the two agree
    times = cells.times(rng, n_draws)
    if cells.are_bins or len(cells) <= MAX_POINTS_DRAWN_ANEW:

        def drawn(rate: Float64s | None, again: np.random.Generator) -> tuple[Float64s, Float64s | None]:
            if rate is None:
                return calibrated, None
            wy, w = cells.draw_anew(rate, again, times)
            # Points are read for what is left of outcomes less scores, and keep their weight.
            return (wy, w) if cells.are_bins else (cells.w * cells.conf + (wy - w * cells.conf), None)

        return _variance_of_gaps(cells), drawn
    # There are many points, and what is read of them adds many up: the noise is drawn once and scaled for each rate.
    typical = _typical(cells)
    scale = np.sqrt(np.maximum(cells.variance(typical), 1e-6))
    unit = (cells.draw(typical, rng, n_draws) - cells.w * typical) / scale

    def scaled(rate: Float64s | None, again: np.random.Generator) -> tuple[Float64s, Float64s | None]:
        if rate is None:
            return calibrated, None
        happened = cells.w * (cells.conf + times * (rate - cells.conf))
        return happened + unit * np.sqrt(cells.variance(rate)), None

    return _variance_of_gaps(cells), scaled


def _typical(cells: Cells) -> Float64s:
    """The rates of cells, pulled to their scores because a lone outcome says little, and never quite 0 or 1."""
    return np.asarray((cells.wy / cells.w * cells.size + cells.conf + 0.25) / (cells.size + 1.5))


def _variance_of_gaps(cells: Cells) -> Float64s:
    """Of outcomes as they were seen, but no smaller than if scores were calibrated."""
    seen, calibrated = cells.variance(_typical(cells)), cells.variance(cells.conf)
    return np.asarray(np.maximum(np.maximum(seen, calibrated), 1e-6) / cells.size)


def noise_of_points(
    rows: Predictions, cells: Cells, cluster: Ints | None, n_draws: int, rng: np.random.Generator
) -> tuple[Float64s, Noise]:
    """Points whose pairs come in clusters, or several to a row: what units add to them, drawn with replacement."""
    unit, n_units = unit_of_rows(cluster, len(rows), rng)
    residuals = residuals_by_unit(rows, cells, unit, n_units)
    spare = (drawn_counts(n_units, n_draws, rng) - 1) * np.sqrt(n_units / max(n_units - 1, 1))
    drift = np.asarray(spare @ residuals)
    variance = np.asarray(residuals.multiply(residuals).sum(axis=0)).ravel() / cells.w**2
    variance = np.maximum(variance, _of_one_pair(cells))
    return variance, lambda rate, again: (cells.w * (cells.conf if rate is None else rate) + drift, None)


def _of_one_pair(cells: Cells) -> Float64s:
    """A floor for the variance of gaps that were seen once or twice."""
    return np.asarray(cells.variance(cells.conf) / (cells.size + 1) ** 2)


def bins_of_units(
    question: Question, rows: Predictions, cells: Cells, cluster: Ints | None, n_draws: int, rng: np.random.Generator
) -> tuple[Cells, float]:
    """Bins whose pairs come in clusters, or several to a row, made ready to be drawn as if they were independent.

    Clusters leave fewer effective pairs in each bin. That bins hang together (a wrong answer is taken from one class
    and given to another) changes how much the error varies, but hardly its mean: the second result is how many times
    more it varies when units are drawn whole than when bins are drawn one by one, both at the observed rates. Noise
    from residuals themselves would not do: where next to nothing happens, it would take some away.
    """
    fewer = replace(cells, size=cells.size / clustering(rows, cells, cluster))
    unit, n_units = unit_of_rows(cluster, len(rows), rng)
    weight, residuals = weights_by_unit(rows, cells, unit, n_units), residuals_by_unit(rows, cells, unit, n_units)
    counts = drawn_counts(n_units, n_draws, rng)
    w = np.maximum(np.asarray(counts @ weight), ABSENT_SHARE * cells.w)
    whole = question.replicates(cells.with_outcomes(w * cells.conf + np.asarray(counts @ residuals), w))
    rate = np.broadcast_to(np.clip(cells.wy / cells.w, 0, 1), w.shape)
    apart = question.replicates(cells.with_outcomes(*fewer.draw_anew(rate, rng, cells.times(rng, n_draws))))
    widened = float(np.std(whole)) / max(float(np.std(apart)), 1e-300) if np.std(apart) > 0 else 1.0
    return fewer, float(np.clip(widened, *BOUNDS_OF_WIDENING))


# --- how often calibrated scores show as large an error, where rows come in clusters ----------------------------------


POINTS_OF_CLUSTERED_TEST = 200  # that stand for the scores
MAX_SIGNED_UNITS = 200  # clusters; more are put together at random, which keeps the variance of every sum


def chance_of_clusters(error: Question, cluster: Ints, n_draws: int, rng: np.random.Generator) -> float:
    """The chance that a calibrated model shows at least the observed error, (1 + as large) / (1 + draws).

    What a cluster adds to the gaps of the cells, its sums of w (y - p), is 0 on average if scores are calibrated, and
    as likely the other way round. So the sign of each cluster is tossed. With five clusters or fewer this cannot come
    out below 1 in 20: so few say nothing about how clusters differ.

    Parameters
    ----------
    error : Question
        A calibration error asked of predictions.
    cluster : ndarray
        The cluster of each row; numbers may be missing.
    n_draws : int
    rng : numpy Generator
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
    if error.is_fixed_point:  # it exceeds a value where its norm at that bandwidth does, which takes less time
        at = max(float(error.replicates(cells.with_outcomes(cells.wy))[0]), NARROWEST_SHAPE_BANDWIDTH)
    observed = float(error.replicates(cells.with_outcomes(cells.wy), at)[0])
    shown = error.replicates(cells.with_outcomes(cells.w * cells.conf + drift), at)
    return float((1 + np.count_nonzero(shown >= observed * (1 - 1e-9))) / (1 + n_draws))
