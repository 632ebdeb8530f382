"""What was predicted and what happened on the whole, and how often chance sets them as far apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from believable._types import Float64s, Ints, Strategy
from believable.inference.cells import BinCells
from believable.predictions import Predictions
from believable.report.verdict_words import Direction
from believable.stats import BinStats, CellStats, ScoreSums, Summary
from believable.stats.source import count_bins
from believable.stats.sums import row_terms

DRAWS = 4000


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
    def direction(self) -> Direction:
        return "over-confident" if self.confidence > self.accuracy else "under-confident"

    @property
    def shift(self) -> float:
        """Of the scores on the whole; none for a matrix."""
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


def confidence_bins(source: Predictions | Summary, stats: BinStats, n_bins: int, strategy: Strategy) -> BinStats | None:
    """Bins of the predicted class's probability; None for events, of which none is predicted in the place of others."""
    if source.kind != "multiclass":
        return None
    if stats.view.notion in ("confidence", "top_label"):
        return stats
    return count_bins(source, n_bins, strategy, notion="confidence", squares=True)


def _drift(stats: BinStats, rng: np.random.Generator) -> Float64s:
    """What calibrated outcomes add to the scores by chance, draw by draw and bin by bin, as a share of all."""
    cells = BinCells.of(stats)
    return np.asarray((cells.draw(cells.conf, rng, DRAWS) - stats.wp) / stats.w.sum())


def _row_mean(values: Float64s) -> Float64s:
    return values if values.ndim == 1 else np.asarray(values.mean(axis=1))


def _chance(drawn: Float64s, seen: float) -> float:
    """Two-sided, with values equal but for rounding counted as equal."""
    return float((1 + np.count_nonzero(np.abs(drawn) >= abs(seen) - 1e-12)) / (1 + len(drawn)))
