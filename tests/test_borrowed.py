"""Whatever borrows arrays has looked at every value of them before it answers."""

from __future__ import annotations

import numpy as np
import pytest

import believable
from believable import METRICS, KernelBlocks, Predictions, evaluate
from believable.errors import InputError

RNG = np.random.default_rng(5)
P, Y = RNG.random(30), RNG.integers(0, 2, 30)
MATRIX, LABELS = RNG.dirichlet(np.ones(3), 30), RNG.integers(0, 3, 30)


def _with_nan(array):
    array = array.copy()
    array.flat[-1] = np.nan
    return array


@pytest.mark.parametrize(("scores", "labels"), [(P, Y), (MATRIX, LABELS)], ids=["1-D", "2-D"])
@pytest.mark.parametrize("name", METRICS)
def test_no_metric_answers_unseen(name, scores, labels):
    """No metric gives a number for a missing score or a label that is none, however few rows it needs."""
    metric = getattr(believable, name)
    with pytest.raises(InputError):
        metric(_with_nan(scores), labels)
    with pytest.raises(InputError):
        metric(scores, np.where(np.arange(len(labels)) < len(labels) - 1, labels, 9))


@pytest.mark.parametrize("metrics", [[], ["calibration_slope_intercept"]])
def test_evaluate_looks_though_it_measures_nothing(metrics):
    """Without a metric that can be measured, bad input is still refused."""
    with pytest.raises(InputError, match="finite"):
        evaluate(_with_nan(MATRIX), LABELS, metrics=metrics)


def test_blocks_look_at_rows_that_fill_none():
    """Rows that are left over, because they do not fill a block, are checked too."""
    for scores, labels in ((_with_nan(P), Y), (P, Y + 5), (2 * MATRIX, LABELS)):
        with pytest.raises(InputError):
            KernelBlocks.of(scores, labels, bandwidth=0.3, block_size=64)


@pytest.mark.parametrize("weight", [None, np.ones(30)])
def test_bytes_that_are_no_booleans_are_refused(weight):
    """Memory viewed as booleans whose bytes are not 0 and 1 is not taken for labels, borrowed or copied."""
    strange = np.array([0, 1, 2] * 10, np.uint8).view(bool)
    for call in (believable.brier_score, believable.auc, Predictions):
        with pytest.raises(InputError, match="must be 0 or 1, got 2 at row 2"):
            call(P, strange, sample_weight=weight)
    assert Predictions(P, Y.astype(bool)[::-1]).labels.dtype == np.uint8
