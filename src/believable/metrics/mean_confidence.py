"""Mean confidence."""

from __future__ import annotations

from typing import Any

from believable.metrics._sums import score_sums
from believable.metrics._table import metric


@metric(alias="conf", needs="sums", best=None, reference="Guo et al. 2017")
def mean_confidence(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    """Mean probability of the predicted class.

    max(p, 1 - p) for 1-D scores. In [0, 1]. Above the accuracy, the model is over-confident on the whole; below,
    under-confident.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML.

    Examples
    --------
    >>> round(mean_confidence([0.1, 0.8], [0, 1]), 12)
    0.85
    """
    sums = score_sums(predictions, actuals, sample_weight)
    return sums.confidence / sums.w
