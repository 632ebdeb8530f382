"""The safe Hosmer–Lemeshow test: an e-value for calibration, by betting on a recalibration learnt from other rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import _check, _kernels
from believable._check import generator
from believable._types import Float64s, Notion
from believable.errors import UndefinedError
from believable.inference.null import refuse_weights
from believable.stats.source import Points, count_points, one_stratum, source_of

EHL = "the safe Hosmer–Lemeshow test"
MAX_SPLITS = 100_000
MAX_ROWS = 10**9  # NumPy draws a random part of fewer rows only


@dataclass(frozen=True, slots=True)
class EValue:
    """An e-value for the hypothesis that the scores are calibrated.

    Attributes
    ----------
    value : float
        The e-value: at most 1 on average if the scores are calibrated, and large if they are not. May be infinite.
    p_value : float
        min(1, 1 / value), a valid p-value.
    n : int
        Number of rows.
    n_splits : int
        Number of random splits over which the e-value was averaged.
    """

    value: float
    p_value: float
    n: int
    n_splits: int

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"e-value {self.value:.4g}, p <= {self.p_value:.3g} (n = {self.n:,}, {self.n_splits} splits)"

    __repr__ = __str__


def safe_hosmer_lemeshow(
    predictions: Any,
    actuals: Any = None,
    *,
    n_splits: int = 10,
    share: float = 0.5,
    notion: Notion | None = None,
    r: int | None = None,
    random_state: Any = None,
    sample_weight: Any = None,
) -> EValue:
    r"""Compute an e-value for calibration: how much a recalibration learnt from other rows gains by betting on it.

    .. math:: \prod_i \left( \frac{q_i}{p_i} \right)^{y_i} \left( \frac{1 - q_i}{1 - p_i} \right)^{1 - y_i}

    over the rows i of one part of a random split, with q the isotonic regression of the outcomes on the scores of the
    other part; q is constant between scores, and p where the regression is 0 or 1. The result is the mean over several
    splits.

    If the scores are calibrated, its expectation is 1 in samples of any size, whatever the scores. So it exceeds 20 in
    at most one sample of 20, and min(1, 1/e) is a p-value. The e-values of several data sets, or of batches that arrive
    over time, may be multiplied, and it is legitimate to stop at any time. The price is power: in one sample of fixed
    size, `hosmer_lemeshow` detects smaller errors. No bins have to be chosen.

    From `CellStats`, all rows of a cell count at the cell's mean score.

    Parameters
    ----------
    n_splits : int
        Number of random splits. More of them make the result depend less on the random seed.
    share : float
        Share of the rows from which q is learnt, between 0 and 1.
    notion, r
        For a matrix: which pairs of score and outcome to use, "confidence" by default. Notions that keep classes or
        ranks apart are refused.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight
        The test counts rows, so weights other than 1 raise an error.

    References
    ----------
    Henzi, Puke, Dimitriadis, Ziegel (2024), New England Journal of Statistics in Data Science, where it is called eHL.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> safe_hosmer_lemeshow(p, rng.random(2000) < p, random_state=0).p_value
    1.0
    >>> safe_hosmer_lemeshow(p, rng.random(2000) < p**1.5, random_state=0).value > 1000
    True
    """
    n_splits = _check.positive_integer(n_splits, "n_splits", 1, MAX_SPLITS)
    _check.level(share, "share")
    rng = generator(random_state)
    source = source_of(predictions, actuals, sample_weight)
    points = one_stratum(count_points(source, notion=notion, r=r), EHL)
    refuse_weights(points, EHL)
    n = int(points.n.sum())
    if n < 2:
        raise UndefinedError(f"{EHL} needs at least two rows, to learn from one and bet on the other")
    if n >= MAX_ROWS:
        raise UndefinedError(f"{EHL} takes fewer than {MAX_ROWS:,} rows, got {n:,}")
    n_learnt = min(max(round(share * n), 1), n - 1)
    logs = np.array([_log_gain(points, n_learnt, rng) for _ in range(n_splits)])
    highest = float(logs.max())
    log_value = highest
    if math.isfinite(highest):
        log_value += math.log(float(np.mean(np.exp(logs - highest))))
    value = math.exp(log_value) if log_value < math.log(np.finfo(np.float64).max) else math.inf
    return EValue(value, min(1.0, math.exp(-log_value)) if log_value > 0 else 1.0, n, n_splits)


def _log_gain(points: Points, n_learnt: int, rng: np.random.Generator) -> float:
    """Return the log of the e-value of one random split of the rows."""
    events = np.rint(points.wy).astype(np.int64)
    learnt = rng.multivariate_hypergeometric(np.concatenate([events, points.n - events]), n_learnt, method="marginals")
    yes, no = np.split(learnt, 2)
    q = _recalibrated(points.score, yes.astype(np.float64), no.astype(np.float64))
    left_yes, left_no = events - yes, points.n - events - no
    bet = q != points.score
    q, p, left_yes, left_no = q[bet], points.score[bet], left_yes[bet], left_no[bet]
    with np.errstate(divide="ignore", invalid="ignore"):  # an event at a score of 0 gains infinitely much
        gains = np.where(left_yes > 0, left_yes * (np.log(q) - np.log(p)), 0)
        gains += np.where(left_no > 0, left_no * (np.log1p(-q) - np.log1p(-p)), 0)
    return float(gains.sum())


def _recalibrated(score: Float64s, yes: Float64s, no: Float64s) -> Float64s:
    """Return the isotonic regression at every score: that of the nearest learnt score below, or of the first."""
    seen = np.flatnonzero(yes + no)
    fitted = _kernels.pav((yes + no)[seen], yes[seen])
    at = np.maximum(np.searchsorted(seen, np.arange(len(score)), side="right") - 1, 0)
    q = fitted[at]
    return np.asarray(np.where((q > 0) & (q < 1), q, score))
