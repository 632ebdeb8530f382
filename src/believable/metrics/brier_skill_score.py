"""Brier skill score."""

from __future__ import annotations

import math
from typing import Any

from believable.errors import UndefinedError
from believable.metrics._sums import score_sums
from believable.metrics.table import SumFacts, metric
from believable.stats import ScoreSums
from believable.stats.sums import OF_ROWS

NO_UNCERTAINTY = 1e-13  # below this, the base rate is 0 or 1 apart from rounding


def _saved(sums: ScoreSums) -> float:
    rate = sums.wy / sums.class_weight
    reference = float((rate * (1 - rate)).sum() * sums.class_weight / sums.w)
    if reference <= NO_UNCERTAINTY:
        raise UndefinedError("the Brier skill score needs more than one outcome, but all labels are the same")
    return 1 - sums.brier / sums.w / reference


def _variance(sums: ScoreSums) -> float:
    """Variance of 1 - B / U for a multiclass matrix, U = 1 - sum of squared class shares: B and U are correlated."""
    rate = sums.wy / sums.w
    b, u = sums.brier / sums.w, float((rate * (1 - rate)).sum())
    of_brier, of_rate = -1 / u, -2 * b / u**2
    centre = -(of_brier * b + of_rate * float(rate @ rate))
    i = OF_ROWS.index("brier")
    squares = of_brier**2 * sums.w2xx[i] + of_rate**2 * (rate**2 @ sums.w2y) + centre**2 * sums.w2
    mixed = of_brier * of_rate * (rate @ sums.w2y_brier)
    mixed += centre * (of_brier * sums.w2x[i] + of_rate * (rate @ sums.w2y))
    return float((squares + 2 * mixed) / sums.w**2)


@metric(
    alias="bss",
    counts=score_sums,
    says=_saved,
    needs="sums",
    sums=SumFacts(is_skill=True, variance=_variance),
    low=-math.inf,
    high=1.0,
    best=1.0,
    reference="Murphy 1973",
    elsewhere={
        "scikit-learn": "`d2_brier_score`: the same",
    },
)
def brier_skill_score(predictions: Any, actuals: Any = None, *, sample_weight: Any = None) -> float:
    """Relative improvement in Brier score over always predicting the base rate.

    1 - Brier score / Brier score of the base rates. 1 is best, 0 is no better than the base rates, negative is worse.
    Undefined when only one class occurs.

    `interval("bss", ...)` is that of the logarithm of the ratio of the two scores, with the jackknife's standard error
    and Student's t. The bootstrap is biased where events are rare, because the base rate is in the denominator.

    References
    ----------
    Murphy (1973), Journal of Applied Meteorology.

    Examples
    --------
    >>> round(brier_skill_score([0.1, 0.8], [0, 1]), 12)
    0.9
    """
    return _saved(score_sums(predictions, actuals, sample_weight))
