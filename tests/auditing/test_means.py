"""What was predicted and what happened on the whole."""

from __future__ import annotations

import numpy as np
import pytest

from believable import Predictions, Summary
from believable.auditing.means import Means
from believable.stats import ScoreSums


def test_means_of_cells_are_those_of_sums():
    """Scores of exactly one half, 0 and 1 are on the side that rows put them on."""
    rng = np.random.default_rng(8)
    p = rng.choice([0.0, 0.25, 0.5, 0.50001, 1.0], 500)
    predictions = Predictions(p, rng.random(500) < 0.5, sample_weight=rng.exponential(size=500))
    of_cells, of_rows = Means.of_cells(Summary.of(predictions).cells_of()), Means.of(ScoreSums.of(predictions))
    for name in ("mean_score", "rate", "confidence", "accuracy"):
        assert getattr(of_cells, name) == pytest.approx(getattr(of_rows, name), rel=1e-12)
