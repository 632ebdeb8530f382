"""How often calibrated scores show as large an error, where rows come in clusters."""

from __future__ import annotations

import numpy as np

from believable._types import Ints
from believable.inference._cells import Cells
from believable.inference._inversion import NARROWEST
from believable.inference._question import Question
from believable.inference._units import residuals_by_unit
from believable.predictions import Predictions

FINEST = 200  # points that stand for the scores
MOST = 200  # clusters; more are put together at random, which keeps the variance of every sum


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
    assert isinstance(error.source, Predictions)
    counted = error.statistic(FINEST)
    assert counted is not None
    cells = Cells.of(*counted)
    _, unit = np.unique(cluster, return_inverse=True)
    n_units = int(unit.max()) + 1
    if n_units > MOST:
        unit, n_units = rng.permutation(n_units)[unit] % MOST, MOST
    added = residuals_by_unit(error.source, cells, unit, n_units)
    drift = np.asarray((2.0 * rng.integers(0, 2, (n_draws, n_units)) - 1) @ added)
    at = None
    if error.is_fixed_point:  # it exceeds a value where its norm at that bandwidth does, which takes less time
        at = max(float(error.replicates(cells.with_outcomes(cells.wy))[0]), NARROWEST)
    observed = float(error.replicates(cells.with_outcomes(cells.wy), at)[0])
    shown = error.replicates(cells.with_outcomes(cells.w * cells.conf + drift), at)
    return float((1 + np.count_nonzero(shown >= observed * (1 - 1e-9))) / (1 + n_draws))
