"""One number from the losses of the rows."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from believable import _check

Reduction = Literal["none", "mean", "sum"]
REDUCTIONS = ("none", "mean", "sum")


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
