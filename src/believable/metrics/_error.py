"""The general binned error: the metrics are choices of notion, bins and norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable import _check
from believable._types import Norm
from believable.counting import not_empty
from believable.errors import InputError
from believable.stats import BinStats


def binned_error(stats: BinStats, norm: Norm = 1) -> float:
    """( sum_c W_c/T |acc_c - conf_c|^p )^(1/p) over the occupied cells c; their maximum for norm="max"."""
    power = None if norm == "max" else check_norm(norm)
    gap = np.abs(not_empty(stats).gap)
    largest = float(gap.max())
    if power is None or largest == 0:
        return largest
    share = stats.w / stats.w.sum()
    return float(largest * np.sum(share * (gap / largest) ** power) ** (1 / power))  # scaled: high powers underflow


def check_norm(norm: Any) -> float:
    """A number of at least 1."""
    if isinstance(norm, str):
        raise InputError(f"norm must be a number of at least 1 or 'max', got {norm!r}")
    return _check.number(norm, "norm", 1)
