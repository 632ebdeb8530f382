"""Sharpness."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable.metrics._sums import score_sums
from believable.metrics._table import metric


@metric(alias="sharpness", needs="sums", high=0.25, best=None, reference="Gneiting et al. 2007")
def sharpness(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    """Variance of the predictions: how far they move away from their mean.

    The mean over classes of the variances, for a matrix. In [0, 1/4]. A calibrated forecast should be as sharp as it
    can; 0 is a constant.

    References
    ----------
    Gneiting, Balabdaoui, Raftery (2007), JRSS B.

    Examples
    --------
    >>> round(sharpness([0.1, 0.9], [0, 1]), 12)
    0.16
    """
    sums = score_sums(predictions, actuals, sample_weight)
    return float(np.mean(sums.deviation / sums.class_weight))
