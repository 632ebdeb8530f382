"""Class-wise expected calibration error, overall and for each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from believable._types import Bins, Norm, Strategy
from believable.metrics.binned_error import binned_error
from believable.stats.source import TEN, UNIFORM, BinsAsked, count_asked, not_empty, source_of


def classwise_ece(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    norm: Norm = 1,
    threshold: float | None = None,
    sample_weight: Any = None,
    edges: Any = None,
) -> tuple[float, list[float]]:
    """One-vs-rest calibration error of each class, and over all classes.

    The overall value is the error over all bins of all classes: the `static_calibration_error` if bins are uniform, and
    the mean of the classes' values if norm is 1 and there is no threshold. A class with no entry above the threshold
    has the value NaN.

    Parameters are those of `expected_calibration_error`.

    Returns
    -------
    overall : float
        Error over all classes.
    per_class : list of float
        Error of each class.

    References
    ----------
    Kull et al. (2019), NeurIPS; Nixon et al. (2019), CVPR workshops.

    Examples
    --------
    >>> overall, per_class = classwise_ece([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]], [0, 2])
    >>> round(overall, 12), [round(value, 12) for value in per_class]
    (0.333333333333, [0.25, 0.35, 0.4])
    """
    source = source_of(predictions, actuals, sample_weight)
    stats = not_empty(
        count_asked(source, BinsAsked(n_bins, strategy, notion="classwise", threshold=threshold, edges=edges))
    )
    per_class = []
    for k in range(stats.view.n_classes):
        here = stats.only_stratum(k)
        per_class.append(binned_error(here, norm) if len(here.n) else float(np.nan))
    return binned_error(stats, norm), per_class
