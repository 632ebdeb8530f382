"""P-values adjusted for how many there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from believable._types import Float64s


def false_discovery(p_values: ArrayLike) -> Float64s:
    """Return p-values adjusted by Benjamini and Hochberg: the least of p_(j) m / j over all j >= i, in rank order.

    Flagging those of at most q keeps the expected share of false flags at or below q.
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    ratios = p[order] * (len(p) / np.arange(1, len(p) + 1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.minimum.accumulate(ratios[::-1])[::-1], 1)
    return adjusted
