"""Moments straight from the arrays, which are checked while they are counted, where a view is what a kernel counts."""

from __future__ import annotations

from functools import partial

from believable import kernels
from believable.predictions import Predictions
from believable.views import View


def read_once(
    predictions: Predictions, view: View, partition: kernels.Partition, squares: bool
) -> kernels.Moments | None:
    """The moments by (group, part) of a view; None where no kernel counts it, or a kernel would rather not."""
    if view.threshold is not None or view.pooled or view.multilabel or predictions.label_kind == "f":
        return None
    if view.notion == "binary":
        count = partial(kernels.bin_moments, partition=partition, squares=squares)
        if predictions.kind == "binary":
            return predictions.moments(count)
        return count(predictions.scores[:, 1], predictions.labels, predictions.weights)
    return None
