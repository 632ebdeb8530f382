"""What was predicted and what happened on the whole, and how often chance sets them as far apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from believable._types import Float64s, Ints
from believable.inference.cells import BinCells
from believable.predictions import Predictions
from believable.report.verdicts import ConfidenceDirection
from believable.stats import BinStats, CellStats, ScoreSums
from believable.stats.sums import row_terms

VERDICT_DRAWS = 4000  # of the outcomes that a calibrated model would have


@dataclass(frozen=True, slots=True)
class Means:
    """What was predicted and what happened, on the whole and of the predicted class.

    Attributes
    ----------
    mean_score, rate : float or None
        On the whole; None for a matrix, whose rows sum to one.
    confidence, accuracy : float
        Of the predicted class; of the answers, where the scores are confidences in them.
    pairs : bool
        Whether the scores are that.
    """

    mean_score: float | None
    rate: float | None
    confidence: float
    accuracy: float
    pairs: bool = False

    @classmethod
    def of(cls, sums: ScoreSums, pairs: bool = False) -> Means:
        """Over all rows."""
        if sums.kind != "binary":
            return cls(None, None, sums.confidence / sums.w, sums.correct / sums.w)
        mean_score, rate = float(sums.wp[0] / sums.w), float(sums.wy[0] / sums.w)
        if pairs:
            return cls(mean_score, rate, mean_score, rate, pairs)
        return cls(mean_score, rate, sums.confidence / sums.w, sums.correct / sums.w)

    @classmethod
    def of_cells(cls, cells: CellStats) -> Means:
        """Of one event, of which there are cells alone; one half is where two of them meet."""
        w, wp, wy = (float(sums.sum()) for sums in (cells.w, cells.wp, cells.wy))
        predicted = cells.conf > 0.5
        confidence, correct = (np.where(predicted, sums, cells.w - sums).sum() for sums in (cells.wp, cells.wy))
        return cls(wp / w, wy / w, float(confidence / w), float(correct / w))

    @property
    def direction(self) -> ConfidenceDirection:
        """Which way the confidence is off."""
        return "over-confident" if self.confidence > self.accuracy else "under-confident"

    @property
    def shift(self) -> float:
        """How much more often it happens than is predicted, on the whole; 0 for a matrix."""
        return 0.0 if self.mean_score is None or self.rate is None else self.rate - self.mean_score

    def chances(self, stats: BinStats, confident: BinStats | None, rng: np.random.Generator) -> tuple[float, float]:
        """How often a calibrated model is off as much on the whole, and in its confidence.

        Outcomes are drawn bin by bin, since a normal limit is too quick to call rare events off. The confidence of the
        predicted class has bins of its own where the others are about something else; that of an event, which is its
        score or what is left of it, has not.
        """
        drift = _drift(stats, rng)
        if self.pairs:
            tilt = drift.sum(axis=1)
        elif confident is None:
            tilt = (np.where(stats.conf > 0.5, 1, -1) * drift).sum(axis=1)
        else:
            tilt = (drift if confident is stats else _drift(confident, rng)).sum(axis=1)
        return _chance(drift.sum(axis=1), self.shift), _chance(tilt, self.accuracy - self.confidence)

    def chances_of_clusters(self, predictions: Predictions, cluster: Ints) -> tuple[float, float]:
        """The same where rows come in clusters: by the spread of what whole clusters add up to."""
        from scipy.special import stdtr

        terms = row_terms(predictions)
        weight = np.ones(len(predictions)) if predictions.weights is None else predictions.weights
        n_clusters = int(cluster.max()) + 1
        chances = []
        for gap, size in (
            ((terms["y"] - terms["p"])[:, 0], self.shift),
            (_row_mean(terms["correct"] - terms["confidence"]), self.accuracy - self.confidence),
        ):
            sums = np.bincount(cluster, weight * gap, n_clusters)
            error = float(np.sqrt((sums**2).sum() * n_clusters / (n_clusters - 1)) / weight.sum())
            chances.append(float(2 * stdtr(n_clusters - 1, -abs(size) / error)) if error else 1.0)
        shift, tilt = chances
        if self.mean_score is None:
            return 1.0, tilt
        return shift, shift if self.pairs else tilt


def _drift(stats: BinStats, rng: np.random.Generator) -> Float64s:
    """What calibrated outcomes add to the scores by chance, draw by draw and bin by bin, as a share of all."""
    cells = BinCells.of(stats)
    return np.asarray((cells.draw(cells.conf, rng, VERDICT_DRAWS) - stats.wp) / stats.w.sum())


def _row_mean(values: Float64s) -> Float64s:
    return values if values.ndim == 1 else np.asarray(values.mean(axis=1))


def _chance(drawn: Float64s, seen: float) -> float:
    """Two-sided, with values equal but for rounding counted as equal."""
    return float((1 + np.count_nonzero(np.abs(drawn) >= abs(seen) - 1e-12)) / (1 + len(drawn)))
