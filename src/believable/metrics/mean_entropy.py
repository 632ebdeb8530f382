"""Mean entropy."""

from __future__ import annotations

import math
from typing import Any

from believable.metrics._sums import score_sums
from believable.metrics._table import metric


@metric(alias="entropy", needs="sums", high=math.inf, best=None, reference="Shannon 1948")
def mean_entropy(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    """Mean entropy of the predicted distributions, in nats.

    0 when every prediction is certain, log K when every one is uniform. Multilabel: mean over all entries.

    References
    ----------
    Shannon (1948), Bell System Technical Journal.

    Examples
    --------
    >>> round(mean_entropy([0.5, 1.0], [0, 1]), 12)
    0.34657359028
    """
    sums = score_sums(predictions, actuals, sample_weight)
    return sums.entropy / sums.w
