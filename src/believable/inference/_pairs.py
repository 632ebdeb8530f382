"""Intervals of the kernel calibration errors, which are means over pairs of rows."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from believable.inference._question import Question
from believable.metrics import METRICS
from believable.metrics._kernel import Vectors, pair_rows, similarity_of, unbiased_skce
from believable.predictions import Predictions

KERNEL_ERRORS = ("squared_kernel_calibration_error", "kernel_calibration_error")


def is_kernel_error(question: Question) -> bool:
    """Whether the metric is one of these."""
    return any(question.row is METRICS[name] for name in KERNEL_ERRORS)


def kernel_interval(question: Question, level: float) -> tuple[float, float, float]:
    """Ends and estimate, from the unbiased mean over pairs and its variance.

    The variance of such a mean has two parts (Hoeffding 1948): how much rows differ in their mean over partners, which
    vanishes when the scores are calibrated, and how much pairs differ, which is left then. A bootstrap would pair rows
    with themselves and be too large.
    """
    assert isinstance(question.source, Predictions)
    vectors = Vectors.of(question.source, "the kernel calibration error")
    kernel: Any = question.options.get("kernel", "tv")
    similarity = similarity_of(vectors, kernel, question.options.get("bandwidth"))
    squared = unbiased_skce(vectors, similarity)
    sums, w = pair_rows(vectors, similarity), vectors.weight
    total, pairs = float(w.sum()), float(w.sum()) ** 2 - float((w**2).sum())
    partner = sums.rows / (total - w)
    first = 4 * float(np.sum(w**2 * (partner - squared) ** 2)) / total**2
    second = 2 * sums.squares / pairs**2
    # The means over partners are noisy themselves, which adds the second part twice to the first.
    reach = -NormalDist().inv_cdf((1 - level) / 2) * float(np.sqrt(max(first - second, second)))
    low, high = squared - reach, squared + reach
    if question.row is METRICS["kernel_calibration_error"]:
        low, high, squared = (float(np.sqrt(max(end, 0.0))) for end in (low, high, squared))
    return low, high, squared
