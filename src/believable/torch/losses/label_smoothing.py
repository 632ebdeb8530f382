"""Label smoothing: some of the probability of the label goes to the other classes."""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor

from believable import _check
from believable.torch.losses.base import LabelLoss, Reduction, at_label, own_weight, times
from believable.torch.targets import class_labels


def smooth_labels(
    labels: Tensor, num_classes: int, smoothing: float = 0.1, *, dtype: torch.dtype | None = None
) -> Tensor:
    """Return soft labels: 1 - s on the label and s / (K - 1) on each of the other K - 1 classes.

    The label has probability 1 - s whatever the number of classes. torch's `label_smoothing=e` spreads e over all K
    classes, including the label, which has probability 1 - e + e / K. The two are equal for

        e = s K / (K - 1),    s = e (K - 1) / K.

    Parameters
    ----------
    labels : Tensor of shape (N,) or (N, d1, ...)
        Class numbers 0..K-1. They are checked on the CPU; on a GPU an impossible label is an error of the device.
    num_classes : int
        The number K of classes, at least 2.
    smoothing : float
        s, from 0 to 1.
    dtype : torch.dtype, optional
        The type of the result; by default that of torch.

    Returns
    -------
    Tensor of shape (N, K) or (N, K, d1, ...)
        Classes on dimension 1, as `torch.nn.CrossEntropyLoss` takes them.

    References
    ----------
    Szegedy et al. (2016), CVPR. Müller, Kornblith, Hinton (2019), NeurIPS.

    Examples
    --------
    >>> import torch
    >>> smooth_labels(torch.tensor([0, 2]), 3)
    tensor([[0.9000, 0.0500, 0.0500],
            [0.0500, 0.0500, 0.9000]])
    """
    _check.positive_integer(num_classes, "num_classes", low=2)
    smoothing = _check.number(smoothing, "smoothing", 0, 1)
    labels, _ = class_labels(labels, num_classes)
    shape = (*labels.shape[:1], num_classes, *labels.shape[1:])
    soft = torch.full(shape, smoothing / (num_classes - 1), dtype=dtype, device=labels.device)
    axis = min(labels.ndim, 1)
    return soft.scatter_(axis, labels.unsqueeze(axis), 1 - smoothing)


@final
class LabelSmoothingLoss(LabelLoss):
    """Cross entropy against smoothed labels: -sum_k q[k] log p[k], with q from `smooth_labels` and p = softmax(z).

    It equals `torch.nn.CrossEntropyLoss(label_smoothing=s * K / (K - 1))`, including class weights (each term of the
    sum is multiplied by the weight of its class k), and adds `sample_weight` and every s from 0 to 1. With s = 0 it is
    the cross entropy. Computed at least in float32.

    Parameters
    ----------
    smoothing : float
        s: the label has probability 1 - s in q, every other class s / (K - 1).
    weight : Tensor of shape (K,), optional
        Weights of the classes.
    reduction : {"none", "mean", "sum"}
        "mean" divides by the sum of the weights of the rows' labels (times `sample_weight`). If all rows are
        ignored it is 0, with gradient 0, where torch's own loss is NaN.
    ignore_index : int or None
        Rows with this label are ignored.

    References
    ----------
    Szegedy et al. (2016), CVPR. Müller, Kornblith, Hinton (2019), NeurIPS.

    Examples
    --------
    >>> import torch
    >>> logits, labels = torch.tensor([[4.0, 0.0, 0.0], [1.0, 2.0, 0.0]]), torch.tensor([0, 1])
    >>> loss = LabelSmoothingLoss(smoothing=0.1)
    >>> loss(logits, labels)
    tensor(0.4968)
    >>> torch.nn.CrossEntropyLoss(label_smoothing=0.1 * 3 / 2)(logits, labels)
    tensor(0.4968)
    """

    def __init__(
        self,
        smoothing: float = 0.1,
        *,
        weight: Any = None,
        reduction: Reduction = "mean",
        ignore_index: int | None = -100,
    ) -> None:
        super().__init__(weight, reduction, ignore_index)
        self.smoothing = _check.number(smoothing, "smoothing", 0, 1)

    def _losses(self, log_p: Tensor, labels: Tensor, weight: Tensor | None) -> Tensor:
        elsewhere = self.smoothing / (log_p.shape[1] - 1)
        on_label = times(-at_label(log_p, labels), own_weight(weight, labels))
        if elsewhere == 0:  # 0 times an infinite logarithm would be NaN
            return on_label
        if weight is not None:
            log_p = times(log_p, weight.reshape(-1, *[1] * (log_p.ndim - 2)))
        return (1 - self.smoothing - elsewhere) * on_label - elsewhere * log_p.sum(dim=1)

    def extra_repr(self) -> str:
        return f"smoothing={self.smoothing:g}, reduction={self.reduction!r}"
