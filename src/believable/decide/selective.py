"""Answer only confident rows: the risk–coverage curve and the area under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from believable import _check
from believable._check import generator, renamed
from believable._types import Array, Float64s, Int64s
from believable.decide.confidence import central, equalled_confidence, mistakes, resampled_sums
from believable.errors import InputError
from believable.inference.clusters import cluster_of_rows
from believable.predictions import Predictions, as_predictions

MAX_CELLS_OF_REPLICATES = 1000  # for resampling alone; the curve itself has all confidences
MAX_POINTS_OF_BEST_CURVE = 500


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """The error rate when only the most confident rows are answered, by the share of rows answered.

    Attributes
    ----------
    cut : ndarray
        The distinct confidences, highest first: answer rows with a confidence of at least the threshold.
    n : ndarray
        The number of rows answered.
    coverage, risk : ndarray
        Share of the weight that is answered, and the error rate of those answers.
    area, low, high : float
        Area under the curve (AURC), and its interval.
    best : float
        The area with the best possible order: every correct answer before every wrong one.
    excess : float
        `area - best` (E-AURC): the part due to the order of the confidences. 0 is best.
    level : float
        Confidence level of the intervals.
    best_coverage, best_risk : ndarray
        The curve of that best order, at no more than 500 points.
    """

    cut: Float64s
    n: Int64s
    coverage: Float64s
    risk: Float64s
    area: float
    low: float
    high: float
    best: float
    excess: float
    level: float
    best_coverage: Float64s
    best_risk: Float64s

    def risk_at(self, coverage: Any) -> Any:
        """Return the risk when at least this share of the rows is answered (a number or an array).

        Rows of equal confidence are answered together, so the actual share may be somewhat larger.
        """
        asked = np.asarray(coverage, np.float64)
        if not np.all((asked > 0) & (asked <= 1)):
            raise InputError("{argument} must be above 0 and at most 1, got {got!r}", argument="coverage", got=coverage)
        at = np.searchsorted(self.coverage, asked * (1 - 1e-12), side="left")
        found = self.risk[np.minimum(at, len(self.risk) - 1)]
        return float(found) if asked.ndim == 0 else found

    def coverage_at(self, risk: float) -> float:
        """Return the largest coverage whose risk in these data is at most this; 0 if there is none.

        This is no guarantee for new rows: use `threshold_for(..., precision=1 - risk)` for that.
        """
        fine = np.flatnonzero(self.risk <= _check.number(risk, "risk", 0, 1))
        return float(self.coverage[fine[-1]]) if len(fine) else 0.0

    def __str__(self) -> str:
        half, most = (f"{100 * self.risk_at(share):.2f} %" for share in (0.5, 0.9))
        return (
            f"Error rate: {100 * self.risk[-1]:.2f} % on all {self.n[-1]:,} rows, {most} on the most confident 90 %, "
            f"{half} on the most confident half. "
            f"Area under the risk–coverage curve: {self.area:.4f} ({100 * self.level:.4g} % interval "
            f"{self.low:.4f} to {self.high:.4f}), {self.excess:.4f} above the best possible order."
        )

    __repr__ = __str__


@renamed(groups="clusters")
def selective(
    predictions: Any,
    actuals: Any = None,
    *,
    pairs: bool = False,
    clusters: Any = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = None,
    sample_weight: Any = None,
) -> RiskCoverage:
    """Compute the risk–coverage curve: the error rate if only the most confident rows are answered.

    The answer is the most probable class and the confidence its probability; for 1-D scores the answer is p > 0.5 and
    the confidence max(p, 1 - p). Scores that are themselves confidences in an answer, with whether it was right, need
    `pairs=True`: otherwise 0.2 and wrong counts as a correct "no" with confidence 0.8.

    With R(c) the error rate of rows with a confidence of at least c, the area is the mean of R over the rows, AURC =
    sum_i w_i R(c_i) / W. Equal confidences (0.93 and 1 - 0.07 are equal) enter together. The best possible order has
    all correct answers first, then the wrong ones (the lightest first); the excess E-AURC is the area above that. Both
    are in [0, 1]; 0 is best. The area mixes the accuracy of the answers with how well the confidence ranks them; the
    excess is about the ranking.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K), or Predictions
        Scores of one event, or one column of probabilities per class.
    actuals : array-like of shape (n,)
        Outcomes or class numbers.
    pairs : bool
        The 1-D predictions are confidences in answers, and the outcomes say whether the answer was right, as for
        language models; the same as passing `Predictions(..., pairs=True)`. What a reader of such logs returns says so
        itself.
    clusters : array-like of shape (n,), optional
        The cluster of each row; clusters are resampled as a whole.
    level : float
        Confidence level of the bootstrap interval of the area.
    n_resamples : int
        Number of resampled data sets.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    sample_weight : array-like of shape (n,), optional
        Importance weights.

    Returns
    -------
    RiskCoverage

    Notes
    -----
    A row of weight 2 counts as two rows in the curve and its area. In the best order it is still one row that cannot be
    split, which changes `best` slightly. The interval is for the area in samples of this size.

    References
    ----------
    El-Yaniv, Wiener (2010), Journal of Machine Learning Research. Geifman, Uziel, El-Yaniv (2019), ICLR.

    Examples
    --------
    >>> found = selective([0.9, 0.2, 0.6, 0.7], [1, 0, 0, 1], random_state=0)
    >>> found.coverage.tolist(), found.risk.tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.0, 0.25])
    >>> found.area, found.excess, found.risk_at(0.75)
    (0.0625, 0.0, 0.0)

    Two wrong answers, given with little confidence:

    >>> selective([0.2, 0.3], [0, 0], pairs=True, random_state=0).risk.tolist()
    [1.0, 1.0]
    """
    _check.level(level)
    n_resamples = _check.positive_integer(n_resamples, "n_resamples", 100)
    rng = generator(random_state)
    source = as_predictions(predictions, actuals, sample_weight, pairs=pairs)
    cluster = cluster_of_rows(clusters, predictions, source, sample_weight)
    sure, wrong = confidence_and_error(source)
    weight = np.ones(len(source)) if source.weights is None else source.weights.astype(np.float64)

    cut, place = np.unique(-sure, return_inverse=True)
    w, e = (np.bincount(place, values).astype(np.float64) for values in (weight, weight * wrong))
    area, best = area_under(w, e), best_area(weight, wrong)
    cell = place if len(cut) <= MAX_CELLS_OF_REPLICATES else _fewer(w)[place]
    n_cells = int(cell.max()) + 1
    drawn = resampled_sums([weight, weight * wrong], cell, n_cells, cluster, n_resamples, rng)
    grouped = area_under(*(np.bincount(cell, values, n_cells) for values in (weight, weight * wrong)))
    low, high = central(area_under(*drawn) + (area - grouped), level)
    return RiskCoverage(
        cut=-cut,
        n=np.cumsum(np.bincount(place), dtype=np.int64),
        coverage=np.minimum(np.cumsum(w) / w.sum(), 1),
        risk=np.clip(np.cumsum(e) / np.cumsum(w), 0, 1),
        area=float(area),
        low=float(np.clip(low, 0, 1)),
        high=float(np.clip(high, 0, 1)),
        best=best,
        excess=max(float(area) - best, 0.0),
        level=level,
        **best_curve(weight, wrong),
    )


def confidence_and_error(source: Predictions) -> tuple[Float64s, Float64s]:
    """Return the confidence of each answer, and whether it is wrong (for soft labels, the share that says so)."""
    if source.kind == "multilabel":
        raise InputError("selective needs one answer per row, not several labels: pass one column at a time")
    return equalled_confidence(source, np.minimum).astype(np.float64), mistakes(source)


def area_under(w: Array, e: Array) -> Any:
    """Return sum_j w_j R_j / W for cells in the order they are answered, along the last axis."""
    reached = np.cumsum(w, axis=-1)
    safe = np.where(reached > 0, reached, 1)
    return np.sum(w * np.cumsum(e, axis=-1) / safe, axis=-1) / reached[..., -1]


def best_area(weight: Float64s, wrong: Float64s) -> float:
    """Return the smallest area of any order of the rows: the fewest mistakes first, in ties the lightest."""
    order = _best_order(weight, wrong)
    return float(area_under(weight[order], (weight * wrong)[order]))


def best_curve(weight: Float64s, wrong: Float64s) -> dict[str, Float64s]:
    """Return coverage and risk in the best order, at points spread over the rows."""
    order = _best_order(weight, wrong)
    w, e = np.cumsum(weight[order]), np.cumsum((weight * wrong)[order])
    at = np.unique(np.linspace(0, len(w) - 1, MAX_POINTS_OF_BEST_CURVE).astype(np.intp))
    return {"best_coverage": np.minimum(w[at] / w[-1], 1), "best_risk": np.clip(e[at] / w[at], 0, 1)}


def _best_order(weight: Float64s, wrong: Float64s) -> Array:
    return np.lexsort([weight, wrong])


def _fewer(w: Float64s) -> Array:
    """Group neighbouring confidences into cells of about the same weight."""
    reached = np.cumsum(w)
    place = np.minimum((reached - w / 2) / reached[-1] * MAX_CELLS_OF_REPLICATES, MAX_CELLS_OF_REPLICATES - 1)
    return np.asarray(place.astype(np.intp))
