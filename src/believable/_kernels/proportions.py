"""Exact intervals of proportions."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._types import Float64s


def exact_interval(rate: Any, n: Any, alpha: float) -> tuple[Float64s, Float64s]:
    """Return the exact interval of proportions observed in n trials, of level 1 - alpha; n need not be whole.

    For trials of unequal rates it is conservative: their number of events varies less than a binomial one.

    References
    ----------
    Clopper, Pearson (1934), Biometrika; Hoeffding (1956), Annals of Mathematical Statistics, for unequal rates.
    """
    from scipy.special import betaincinv

    rate, n = np.asarray(rate, np.float64), np.asarray(n, np.float64)
    yes, no = rate * n, (1 - rate) * n
    none, all_of = yes <= 0, yes >= n
    low = np.where(none, 0.0, betaincinv(np.where(none, 1, yes), no + 1, alpha / 2))
    high = np.where(all_of, 1.0, betaincinv(yes + 1, np.where(all_of, 1, no), 1 - alpha / 2))
    return low, high
