"""Moments straight from the arrays, which are checked while they are counted, where a view is what a kernel counts."""

from __future__ import annotations

from functools import partial

from believable import kernels
from believable.predictions import Predictions
from believable.stats.counts import better_sparse
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
    if view.notion == "top_label" and squares and better_sparse(predictions, view, partition.n_parts):
        return None
    if view.notion in ("confidence", "top_label", "classwise"):
        return _matrix_moments(predictions, view, partition, squares)
    return None


def _matrix_moments(
    predictions: Predictions, view: View, partition: kernels.Partition, squares: bool
) -> kernels.Moments | None:
    """Of a matrix with one label to a row: of its largest entries, by class if those are kept apart, or of all."""
    if view.notion == "classwise":
        count = partial(kernels.classwise_moments, partition=partition, squares=squares)
    else:
        by_class = view.notion == "top_label"
        count = partial(kernels.top_moments, partition=partition, squares=squares, by_class=by_class)
    return predictions.row_moments(count)
