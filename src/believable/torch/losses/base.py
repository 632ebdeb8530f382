"""Shared code of losses on logits and labels: checks, weights, and reduction to one number.

`LabelLoss` is for losses that are a mean over rows, `BatchLoss` for losses of a whole batch, which have no value for
one row.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from believable import _check
from believable.errors import InputError
from believable.torch.targets import (
    check_floats,
    check_ignore_index,
    check_weights,
    class_labels,
    log_probabilities,
    readable,
    row_weights,
    same_rows,
)

Reduction = Literal["none", "mean", "sum"]
BatchReduction = Literal["mean", "sum"]
REDUCTIONS = ("none", "mean", "sum")


class LabelLoss(nn.Module):
    """A loss that is a mean over rows; a subclass implements `_losses`.

    Shapes, class weights, `ignore_index` and `reduction` are those of `torch.nn.CrossEntropyLoss`.
    """

    weight: Tensor | None

    def __init__(self, weight: Any, reduction: Reduction, ignore_index: int | None) -> None:
        super().__init__()
        _check.choice(reduction, REDUCTIONS, "reduction")
        check_ignore_index(ignore_index)
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.register_buffer("weight", None if weight is None else _class_weights(weight))

    def forward(self, logits: Tensor, labels: Tensor, *, sample_weight: Any = None) -> Tensor:
        """Return the loss of the batch.

        Parameters
        ----------
        logits : Tensor of shape (N, K) or (N, K, d1, ...)
            Logits, with classes on axis 1.
        labels : Tensor of shape (N,) or (N, d1, ...)
            Class numbers 0..K-1, or `ignore_index`.
        sample_weight : Tensor of shape (N,) or of the labels' shape, optional
            A row of weight 2 counts as two rows, a row of weight 0 as none.
        """
        log_p = log_probabilities(logits)
        labels, kept = class_labels(labels, logits.shape[1], self.ignore_index)
        same_rows(labels, logits)
        rows = None if kept is None else kept.to(log_p.dtype)
        if sample_weight is not None:
            given = row_weights(sample_weight, labels, log_p.dtype)
            rows = given.expand_as(labels) if rows is None else rows * given
        weight = self._weight_of_classes(log_p)
        values = self._losses(log_p, labels, weight)
        total = None
        if weight is not None:
            own = weight[labels]
            total = (own if rows is None else own * rows).sum()
        return reduced(values, rows, self.reduction, total=total)

    @abstractmethod
    def _losses(self, log_p: Tensor, labels: Tensor, weight: Tensor | None) -> Tensor:
        """Return the loss of every row, times the weight of its class."""

    def _weight_of_classes(self, log_p: Tensor) -> Tensor | None:
        if self.weight is not None and len(self.weight) != log_p.shape[1]:
            raise InputError(
                "{argument} has {n_weight} classes and the logits {n_columns}",
                argument="weight",
                n_weight=len(self.weight),
                n_columns=log_p.shape[1],
            )
        return None if self.weight is None else self.weight.to(log_p.dtype)


def reduced(values: Tensor, weights: Tensor | None, reduction: str, *, total: Tensor | None = None) -> Tensor:
    """Return the weighted values, their sum, or their sum divided by the sum of the weights (or by `total`).

    A value of weight 0 is ignored, even if it is infinite. Without rows, or if all weights are 0, the mean is 0, so
    that such a batch does not change the model. Nothing waits for the device.
    """
    _check.choice(reduction, REDUCTIONS, "reduction")
    weighted = times(values, weights)
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return weighted.sum()
    if total is None:
        if weights is None:
            return weighted.sum() / max(values.numel(), 1)
        total = weights.expand_as(values).sum()
    return weighted.sum() / total.masked_fill(total == 0, 1)


def times(values: Tensor, weights: Tensor | None) -> Tensor:
    """Return values times weights, and 0 where the weight is 0 whatever the value."""
    return values if weights is None else values.masked_fill(weights == 0, 0) * weights


def at_label(values: Tensor, labels: Tensor) -> Tensor:
    """Return the entry of each row at its label."""
    return values.gather(1, labels.unsqueeze(1)).squeeze(1)


def own_weight(weight: Tensor | None, labels: Tensor) -> Tensor | None:
    """Return the weight of each row's class."""
    return None if weight is None else weight[labels]


def _class_weights(weight: Any) -> Tensor:
    values = weight.detach().clone() if isinstance(weight, Tensor) else torch.tensor(weight)
    if values.ndim != 1 or values.is_complex():
        raise InputError(
            "{argument} must be one number per class, got shape {got}", argument="weight", got=tuple(values.shape)
        )
    values = values if values.is_floating_point() else values.float()
    if readable(values):
        check_weights(values, "weight")
    return values


# --- losses of a whole batch: scores with a gradient, outcomes and weights without ------------------------------------


class Batch(NamedTuple):
    """Probabilities of shape (n,) or (n, K) in float64; labels and weights without a gradient.

    Labels are floats, NaN where they are not a class. Weights sum to 1, or are all 0; `total` is their original sum.
    `dtype` is the type of the result: that of the logits, but at least float32.
    """

    p: Tensor
    labels: Tensor
    weight: Tensor
    total: Tensor
    dtype: torch.dtype

    def pairs(self) -> tuple[Tensor, Tensor]:
        """Return (score, outcome): P(y = 1) and y for one event, else the largest probability and whether it is right.

        Ties for the largest go to the lowest class. The outcome is a constant.
        """
        if self.p.ndim == 1:
            return self.p, self.labels
        score, top = self.p.max(dim=1)
        return score, torch.where(self.labels.isnan(), self.labels, (top == self.labels).double())

    def weighted(self, values: Tensor) -> Tensor:
        """Return rows times their weights; a row of weight 0 is 0 even if it is NaN."""
        weight = self.weight if values.ndim == 1 else self.weight[:, None]
        return (weight * values).masked_fill(weight == 0, 0)

    def finish(self, value: Tensor, reduction: str) -> Tensor:
        """Return the value, or for "sum" the value times the weight of the batch."""
        return (value * self.total if reduction == "sum" else value).to(self.dtype)


class BatchLoss(nn.Module):
    """A loss of a whole batch, without a value for one row; a subclass implements `_value`."""

    def __init__(self, reduction: BatchReduction, ignore_index: int | None) -> None:
        super().__init__()
        if reduction == "none":  # type: ignore[comparison-overlap]
            raise InputError(
                f"{type(self).__name__} is a number of the whole batch, without a value per row: reduction is 'mean' "
                "or 'sum'"
            )
        _check.choice(reduction, ("mean", "sum"), "reduction")
        check_ignore_index(ignore_index)
        self.reduction = reduction
        self.ignore_index = ignore_index

    def forward(self, logits: Tensor, labels: Tensor, *, sample_weight: Any = None) -> Tensor:
        """Return the loss of the batch, one number.

        Parameters
        ----------
        logits : Tensor of shape (n,), (n, K) or (n, K, d1, ...)
            Logits of one event, or of K classes.
        labels : Tensor of shape (n,) or (n, d1, ...)
            Outcomes or class numbers, or `ignore_index`.
        sample_weight : Tensor of shape (n,) or of the labels' shape, optional
            Importance weights; a row of weight 0 is ignored.
        """
        batch = batch_of(logits, labels, sample_weight, self.ignore_index)
        return batch.finish(self._value(batch), self.reduction)

    @abstractmethod
    def _value(self, batch: Batch) -> Tensor:
        """Return the mean over the batch."""


def batch_of(logits: Tensor, labels: Tensor, sample_weight: Any, ignore_index: int | None) -> Batch:
    """Check tensors and return them as a `Batch`, pixels as rows; label values are checked only on the CPU."""
    check_floats(logits)
    if logits.ndim == 0 or (logits.ndim > 1 and logits.shape[1] < 2):
        raise InputError(
            "{argument} must have shape (n,) for one event, or (n, K) or (n, K, d1, ...) for K >= 2 classes, got {got}",
            argument="logits",
            got=tuple(logits.shape),
        )
    if not isinstance(labels, Tensor) or labels.is_complex():
        raise InputError("{argument} must be a tensor of classes", argument="labels")
    same_rows(labels, logits)
    n_classes = logits.shape[1] if logits.ndim > 1 else 2
    labels = labels.detach()
    labels = (
        labels if labels.is_floating_point() else labels.long()
    )  # torch would compare bytes with 156 instead of -100
    weight = torch.ones_like(labels, dtype=torch.float64)
    if sample_weight is not None:
        weight = weight * row_weights(sample_weight, labels, torch.float64).detach()
    labels, weight = labels.reshape(-1), weight.reshape(-1)
    if ignore_index is not None:
        weight = weight.masked_fill(labels == ignore_index, 0)
    labels = labels.double()
    wrong = (labels < 0) | (labels >= n_classes) | (labels != labels.round())
    if readable(labels) and (wrong & (weight != 0)).any():
        row = int((wrong & (weight != 0)).nonzero()[0, 0])
        raise InputError(
            "{argument} must be classes 0 to {last}, got {got:g} at {row}; give such rows the weight 0, or "
            "ignore_index",
            argument="labels",
            last=n_classes - 1,
            got=labels[row].item(),
            row=row,
        )
    total = weight.sum()
    rows = logits.double() if logits.ndim == 1 else logits.double().movedim(1, -1).reshape(-1, n_classes)
    # Ignored rows may be NaN, and 0 times NaN would be NaN in the value and in the gradient.
    rows = rows.masked_fill(weight == 0 if rows.ndim == 1 else (weight == 0)[:, None], 0)
    p = torch.sigmoid(rows) if rows.ndim == 1 else torch.softmax(rows, dim=1)
    return Batch(
        p,
        labels.masked_fill(wrong, torch.nan),
        weight / total.masked_fill(total == 0, 1),
        total,
        torch.promote_types(logits.dtype, torch.float32),
    )


def pair_weight(weight: Tensor) -> Tensor:
    """Return W^2 - sum w^2, computed without cancellation; 1 if there are no pairs, because their sum is 0."""
    pairs = 2 * (weight[1:] * weight.cumsum(0)[:-1]).sum()
    return pairs.masked_fill(pairs == 0, 1)


def root(square: Tensor) -> Tensor:
    """Return the square root, with gradient 0 instead of infinity at 0."""
    zero = square == 0
    return torch.where(zero, 0, square.masked_fill(zero, 1).sqrt())
