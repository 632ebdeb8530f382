"""The general binned error: the metrics are choices of notion, bins and norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable import _check
from believable._types import Norm
from believable.counting import not_empty
from believable.errors import InputError
from believable.points import as_number
from believable.stats import BinStats


def binned_error(stats: BinStats, norm: Norm = 1) -> float:
    """( sum_c W_c/T |acc_c - conf_c|^p )^(1/p) over the occupied cells c; their maximum for norm="max"."""
    power = None if norm == "max" else check_norm(norm)
    not_empty(stats)
    if power == 1:
        error = np.abs(stats.wy - stats.wp).sum(axis=-1) / stats.w.sum(axis=-1)
    elif power is None:
        error = np.abs(stats.gap).max(axis=-1)
    else:
        gap = np.abs(stats.gap)
        share = stats.w / stats.w.sum(axis=-1, keepdims=True)
        largest = gap.max(axis=-1, keepdims=True)
        scaled = gap / np.where(largest > 0, largest, 1)  # high powers underflow
        error = largest[..., 0] * np.sum(share * scaled**power, axis=-1) ** (1 / power)
    value: float = as_number(error)
    return value


def check_norm(norm: Any) -> float:
    """A number of at least 1."""
    if isinstance(norm, str):
        raise InputError(f"norm must be a number of at least 1 or 'max', got {norm!r}")
    return _check.number(norm, "norm", 1)
