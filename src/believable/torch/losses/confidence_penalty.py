"""Confidence penalty: cross entropy with a reward for entropy."""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor

from believable import _check
from believable.torch.losses.base import LabelLoss, Reduction, at_label, own_weight, times


@final
class ConfidencePenalty(LabelLoss):
    """Cross entropy minus beta times the entropy: -log p[y] - beta H(p), with p = softmax(z).

    H(p) = -sum_k p[k] log p[k] is in nats, from 0 to log K; a class of probability 0 adds nothing. The loss can be
    negative. beta = 0 is the cross entropy. Computed at least in float32.

    With a `threshold` only predictions with less entropy than that are penalised: -log p[y] + beta max(0, threshold -
    H). (The paper prints this term with a minus, which would reward confidence.) With threshold = log K that is the
    first form plus the constant beta log K.

    Parameters
    ----------
    beta : float
        The strength of the penalty, at least 0.
    threshold : float, optional
        The entropy below which predictions are penalised, in nats, at least 0.
    weight : Tensor of shape (K,), optional
        Weights of the classes; both terms of a row are multiplied by the weight of its label.
    reduction : {"none", "mean", "sum"}
        "mean" divides by the sum of the weights of the rows' labels (times `sample_weight`). If all rows are
        ignored it is 0, with gradient 0, where torch's cross entropy is NaN.
    ignore_index : int or None
        Rows with this label are ignored.

    References
    ----------
    Pereyra, Tucker, Chorowski, Kaiser, Hinton (2017), ICLR workshop.

    Examples
    --------
    >>> import torch
    >>> logits, labels = torch.tensor([[4.0, 0.0, 0.0], [1.0, 2.0, 0.0]]), torch.tensor([0, 1])
    >>> ConfidencePenalty(beta=0.1)(logits, labels)
    tensor(0.1713)
    >>> ConfidencePenalty(beta=0.1, threshold=0.5, reduction="none")(logits, labels)
    tensor([0.0682, 0.4076])
    """

    def __init__(
        self,
        beta: float = 0.1,
        *,
        threshold: float | None = None,
        weight: Any = None,
        reduction: Reduction = "mean",
        ignore_index: int | None = -100,
    ) -> None:
        super().__init__(weight, reduction, ignore_index)
        self.beta = _check.number(beta, "beta", 0)
        self.threshold = None if threshold is None else _check.number(threshold, "threshold", 0)

    def _losses(self, log_p: Tensor, labels: Tensor, weight: Tensor | None) -> Tensor:
        losses = -at_label(log_p, labels)
        if self.beta > 0:
            entropy = entropy_of(log_p)
            penalty = -entropy if self.threshold is None else (self.threshold - entropy).relu()
            losses = losses + self.beta * penalty
        return times(losses, own_weight(weight, labels))

    def extra_repr(self) -> str:
        return f"beta={self.beta:g}, threshold={self.threshold}, reduction={self.reduction!r}"


def entropy_of(log_p: Tensor) -> Tensor:
    """Return -sum_k p[k] log p[k] over dimension 1, with 0 log 0 = 0, also in its gradient."""
    return -(log_p.exp() * log_p.masked_fill(log_p == -torch.inf, 0)).sum(dim=1)
