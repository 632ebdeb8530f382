"""Labels as they would be if the predictions were right."""

from __future__ import annotations

import numpy as np

from believable import kernels
from believable._types import Array, Float64s
from believable.inference._cells import Cells
from believable.predictions import Predictions


class LabelDraws:
    """Draws the labels of every row from its own probabilities."""

    def __init__(self, source: Predictions, rng: np.random.Generator) -> None:
        self.source, self.rng = source, rng
        self.reached = np.cumsum(source.scores, axis=1, dtype=np.float64) if source.kind == "multiclass" else None

    def draw(self) -> Array:
        """One set of labels; a soft label is drawn hard."""
        if self.reached is None:
            return (self.rng.random(self.source.scores.shape) < self.source.scores).astype(np.int8)
        goal = self.rng.random(len(self.source)) * self.reached[:, -1]
        return np.asarray((goal[:, None] >= self.reached).sum(axis=1))


def drawn_outcomes(source: Predictions, cells: Cells, n_draws: int, rng: np.random.Generator) -> Float64s:
    """Weighted outcomes by cell of redrawn labels, where a row has several pairs whose outcomes hang together."""
    view, draws = cells.statistic.view, LabelDraws(source, rng)
    weight = np.ones(len(source)) if source.weights is None else source.weights
    ranked = kernels.top_ranked(source.scores, view.r or 1)[1] if view.notion == "top_r" else None
    sums = np.empty((n_draws, len(cells)))
    for i in range(n_draws):
        labels = draws.draw()
        if ranked is not None:
            row, group = np.nonzero(ranked == labels[:, None])
            score = source.scores[row, ranked[row, group]]
        elif source.kind == "multilabel":
            row, group = np.nonzero(labels)
            score = source.scores[row, group]
        else:
            row, group = np.arange(len(labels)), labels
            score = kernels.label_scores(source.scores, labels)
        if view.threshold is not None:
            kept = score > score.dtype.type(view.threshold)
            row, group, score = row[kept], group[kept], score[kept]
        cell = cells.locate(score, None if view.pooled else group)
        sums[i] = np.bincount(cell, weight[row], len(cells))
    return sums
