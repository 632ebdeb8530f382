"""Brier skill score."""

from __future__ import annotations

import math
from typing import Any

from believable.errors import UndefinedError
from believable.metrics._sums import score_sums
from believable.metrics.table import metric

ROUNDING = 1e-13  # a base rate of 0 or 1, but for rounding


@metric(
    alias="bss",
    needs="sums",
    low=-math.inf,
    high=1.0,
    best=1.0,
    reference="Murphy 1973",
    elsewhere={
        "scikit-learn": "`d2_brier_score`: the same",
    },
)
def brier_skill_score(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    """How much of the Brier score of always saying the base rate is saved.

    1 - Brier / Brier of the base rates. 1 is best, 0 is no better than the base rate, negative is worse. Undefined
    when only one class occurs.

    References
    ----------
    Murphy (1973), Journal of Applied Meteorology.

    Examples
    --------
    >>> round(brier_skill_score([0.1, 0.8], [0, 1]), 12)
    0.9
    """
    sums = score_sums(predictions, actuals, sample_weight)
    rate = sums.wy / sums.class_weight
    reference = float((rate * (1 - rate)).sum() * sums.class_weight / sums.w)
    if reference <= ROUNDING:
        raise UndefinedError("the Brier skill score needs more than one outcome: the base rate is already perfect")
    return 1 - sums.brier / sums.w / reference
