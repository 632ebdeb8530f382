"""A batch of a stream, checked as `Predictions` are, except that a batch may have nothing to count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from believable import _check
from believable._arrays import as_numpy
from believable._types import Array
from believable.errors import InputError, UndefinedError, Wording
from believable.predictions import Predictions, as_predictions


class CheckedBatch(NamedTuple):
    """The rows to count (None if none), the number of ignored rows, and which labels occurred.

    Attributes
    ----------
    rows : Predictions or None
    ignored : int
    positive : bool
        Whether the positive label occurred.
    negative : object, optional
        The label that was counted as 0, where `pos_label` names the other.
    """

    rows: Predictions | None
    ignored: int
    positive: bool
    negative: Any = None


@dataclass(frozen=True, slots=True)
class BatchFormat:
    """How to read the arrays of every batch; see `Predictions`."""

    from_logits: bool = False
    pos_label: Any = None
    classes: tuple[Any, ...] | None = None
    soft_labels: bool = False
    ignore_label: Any = None
    multilabel: bool = False
    dtype: Literal["float32", "float64"] | None = None
    owner: str = "CalibrationMeter"  # the class whose argument an error names
    neg_label: Any = None

    def __post_init__(self) -> None:
        n_classes = 2 if self.classes is None else len(self.classes)
        descriptions = (self.pos_label, self.classes, self.soft_labels, self.ignore_label, self.multilabel)
        _check.refuse_contradictions(2 if self.multilabel else 1, n_classes, *descriptions, self.neg_label)
        if self.dtype is not None:
            _check.choice(self.dtype, ("float32", "float64"), "dtype")

    def check(self, predictions: Any, actuals: Any, sample_weight: Any) -> CheckedBatch:
        """Return the checked rows of a batch, or raise an error that refuses it as a whole."""
        try:
            batch = self._check(predictions, actuals, sample_weight)
            if batch.rows is not None:
                batch.rows.labels  # noqa: B018 - distributions in place of labels are an error
            return batch
        except (InputError, UndefinedError) as error:
            raise refused(error.sentence.told(Wording({"Predictions": self.owner}))) from error

    def _check(self, predictions: Any, actuals: Any, sample_weight: Any) -> CheckedBatch:
        if isinstance(predictions, Predictions):
            given = self._typed(as_predictions(predictions, actuals, sample_weight))
            return CheckedBatch(given, given.n_ignored, True)
        if is_empty(predictions, actuals):
            return CheckedBatch(None, 0, False)
        labels, weight = _check.labels_as_array(actuals), sample_weight
        if weight is not None:
            weight = as_numpy(weight, "sample_weight")
        counted = self._counted(labels)
        if not counted.any() and len(counted) == _length(predictions):
            return CheckedBatch(None, len(counted), False)
        kept = _has_weight(weight, counted)
        pos_label, ignore_label, positive, negative = self.pos_label, self.ignore_label, True, None
        if pos_label is not None and labels.ndim == 1:
            _check.no_missing(labels[counted], np.flatnonzero(counted))
            is_one = counted & _check.is_label(labels, pos_label, "pos_label")
            _check.one_other_label(labels[counted], is_one[counted], pos_label, self.neg_label)
            negative = _plain_label(labels[counted & ~is_one])
            labels, positive = np.where(counted, is_one, -1).astype(np.int8), bool(is_one.any())
            pos_label, ignore_label = None, None if ignore_label is None else -1
        rows = Predictions(
            predictions,
            labels,
            sample_weight=weight if kept else None,  # a batch of weight 0 is checked too, and not counted
            from_logits=self.from_logits,
            pos_label=pos_label,
            classes=self.classes,
            soft_labels=self.soft_labels,
            ignore_label=ignore_label,
            multilabel=self.multilabel,
        )
        _check.refuse_contradictions(
            rows.scores.ndim, rows.n_classes, self.pos_label, self.classes, False, None, self.multilabel
        )
        return CheckedBatch(self._typed(rows) if kept else None, rows.n_ignored, positive, negative)

    def same_negative(self, before: Any, now: Any) -> Any:
        """Return the label that counts as 0 in a stream; a batch with another one is refused."""
        if before is None or now is None or before == now:
            return now if before is None else before
        raise refused(
            f"its label {now!r} is neither pos_label={self.pos_label!r} nor {before!r}, which counted as 0 so far; "
            f"name the label that counts as 0 with {self.owner}(..., neg_label=...), and drop the rows of others"
        )

    def kept(self, actuals: Any, sample_weight: Any) -> Array:
        """Return which rows of a checked batch are counted: those not ignored, and with weight."""
        counted = self._counted(_check.labels_as_array(actuals))
        return counted if sample_weight is None else counted & (as_numpy(sample_weight, "sample_weight") != 0)

    def _counted(self, labels: Array) -> Array:
        """Return which rows are not ignored."""
        if self.ignore_label is None or labels.ndim != 1:
            return np.ones(labels.shape[:1], bool)
        return ~_check.is_label(labels, self.ignore_label, "ignore_label")

    def _typed(self, rows: Predictions) -> Predictions:
        if self.dtype is None or rows.scores.dtype == self.dtype:
            return rows
        return rows.trusting(scores=rows.scores.astype(self.dtype))


def _has_weight(weight: Array | None, counted: Array) -> bool:
    """Return whether a row that is not ignored has weight; other checks refuse weights that are not numbers."""
    if weight is None or weight.dtype.kind not in "biuf" or weight.shape != counted.shape:
        return True
    return bool((weight[counted] != 0).any())


def is_empty(predictions: Any, actuals: Any) -> bool:
    """Return whether there are no rows; raise if only one of predictions and actuals is empty."""
    if isinstance(predictions, Predictions) or _length(predictions) != 0:
        return False
    if _length(actuals):
        raise InputError(
            "{argument} and actuals differ in length: 0 and {n_actuals}", argument="predictions", n_actuals=len(actuals)
        )
    return True


def _length(values: Any) -> int | None:
    """Return the length, or None for what has none: a number, a 0-d array, None."""
    try:
        return len(values)
    except TypeError:
        return None


def _plain_label(labels: Array) -> str | int | float | None:
    """Return the first label as JSON can hold it; None if there is none."""
    first = next(iter(labels[:1].tolist()), None)
    return first if first is None or isinstance(first, (str, int, float)) else str(first)


def refused(reason: Exception | str) -> InputError:
    """Return the error for a batch that was refused as a whole."""
    return InputError(f"the batch was refused, and none of it was counted: {reason}")


def as_classes(classes: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """Return the names of classes as a tuple; other checks refuse what is not a list."""
    if classes is not None and not isinstance(classes, (list, tuple, range, np.ndarray)):
        raise InputError(
            "{argument} must be a list in the order of the columns, got a {got}",
            argument="classes",
            got=type(classes).__name__,
        )
    return None if classes is None else tuple(classes)
