"""Types of arrays, and the literal values that options accept."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Float64s: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
Int64s: TypeAlias = NDArray[np.int64]
Array: TypeAlias = NDArray[Any]

Kind = Literal["binary", "multiclass", "multilabel"]
Notion = Literal["binary", "confidence", "top_label", "classwise", "classwise_top_r", "top_r", "rth", "within_top_r"]
MultiClass = Literal["ovr", "ovo"]
Strategy = Literal["uniform", "quantile"]
Norm = float | Literal["max", "l1", "l2"]
Bins = int | Literal["cube_root"]
Spacing = Literal["uniform", "logit"]
Needs = Literal["sums", "bins", "cells", "rows", "pairs"]
Convention = Literal[
    "scikit-learn",
    "torchmetrics",
    "netcal",
    "relplot",
    "calibre",
    "uncertainty-calibration",
    "array_split",
    "floor_split",
]
