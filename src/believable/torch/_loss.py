"""What the losses on logits and labels have in common: checking, weights, and one number from those of the rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import torch
from torch import Tensor, nn

from believable import _check
from believable.errors import InputError
from believable.torch._targets import (
    check_ignore_index,
    check_weights,
    class_labels,
    log_probabilities,
    readable,
    row_weights,
    same_rows,
)

Reduction = Literal["none", "mean", "sum"]
REDUCTIONS = ("none", "mean", "sum")


class LabelLoss(nn.Module):
    """A loss that is a mean over rows; a subclass writes `_losses`, and the rest is here.

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
        """The loss of the batch.

        Parameters
        ----------
        logits : Tensor of shape (N, K) or (N, K, d1, ...)
        labels : Tensor of shape (N,) or (N, d1, ...)
        sample_weight : Tensor of shape (N,) or of the labels' shape, optional
            Weight 2 is the row twice, weight 0 the row left out.
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
        """The loss of every row, times the weight of its class."""

    def _weight_of_classes(self, log_p: Tensor) -> Tensor | None:
        if self.weight is not None and len(self.weight) != log_p.shape[1]:
            raise InputError(f"weight has {len(self.weight)} classes and the logits {log_p.shape[1]}")
        return None if self.weight is None else self.weight.to(log_p.dtype)


def reduced(values: Tensor, weights: Tensor | None, reduction: str, *, total: Tensor | None = None) -> Tensor:
    """The weighted values themselves, their sum, or their sum over the sum of the weights (or over `total`).

    A value of weight 0 counts as if it were not there, even where it is infinite. The mean of nothing (no rows, or all
    weights 0) is 0, so that a batch with nothing to learn from leaves the model alone; nothing waits for the device.
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
    """Values times weights, 0 where the weight is 0 whatever the value."""
    return values if weights is None else values.masked_fill(weights == 0, 0) * weights


def at_label(values: Tensor, labels: Tensor) -> Tensor:
    """The entry of each row at its label."""
    return values.gather(1, labels.unsqueeze(1)).squeeze(1)


def own_weight(weight: Tensor | None, labels: Tensor) -> Tensor | None:
    """The weight of each row's class."""
    return None if weight is None else weight[labels]


def _class_weights(weight: Any) -> Tensor:
    values = weight.detach().clone() if isinstance(weight, Tensor) else torch.tensor(weight)
    if values.ndim != 1 or values.is_complex():
        raise InputError(f"weight must be one number per class, got shape {tuple(values.shape)}")
    values = values if values.is_floating_point() else values.float()
    if readable(values):
        check_weights(values, "weight")
    return values
