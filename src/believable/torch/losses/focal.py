"""Focal loss: cross entropy with less weight on rows that are already predicted well."""

from __future__ import annotations

from typing import Any, Literal, final

import torch
from torch import Tensor

from believable import _check
from believable.errors import InputError
from believable.torch.losses.base import LabelLoss, Reduction, at_label, own_weight, times

FLSD53 = "flsd53"
FLSD53_TURN, FLSD53_GAMMA_BELOW, FLSD53_GAMMA_ABOVE = 0.2, 5.0, 3.0  # the exponents below and above p = 0.2
LOWEST_LOG_P = -100.0  # p log p is below 1e-41 from here on


@final
class FocalLoss(LabelLoss):
    """Focal loss: -(1 - p)^gamma log p, with p the probability of the label under softmax(z).

    gamma = 0 is the cross entropy. The larger gamma, the less a row counts that is already predicted well, which keeps
    the network from becoming ever more confident; too large a gamma makes it under-confident. Computed from log p at
    least in float32. The gradient is finite from p = 0 to p = 1 for every gamma, even below 1.

    Parameters
    ----------
    gamma : float or "flsd53"
        The exponent, at least 0; 2 in Lin et al. "flsd53" is the sample-dependent choice of Mukhoti et al.: 5 for rows
        with p < 0.2 and 3 for the others, chosen again at every step (no gradient flows through the choice).
    weight : Tensor of shape (K,), optional
        Weights of the classes (the alpha of Lin et al.).
    reduction : {"none", "mean", "sum"}
        "mean" divides by the sum of the weights of the rows' labels (times `sample_weight`). If all rows are
        ignored it is 0, with gradient 0, where torch's cross entropy is NaN.
    ignore_index : int or None
        Rows with this label are ignored.

    References
    ----------
    Lin, Goyal, Girshick, He, Dollár (2017), ICCV. Mukhoti et al. (2020), NeurIPS.

    Examples
    --------
    >>> import torch
    >>> logits, labels = torch.tensor([[4.0, 0.0, 0.0], [1.0, 2.0, 0.0]]), torch.tensor([0, 1])
    >>> FocalLoss(gamma=2.0)(logits, labels)
    tensor(0.0229)
    >>> FocalLoss(gamma="flsd53")(logits, labels)
    tensor(0.0076)
    """

    def __init__(
        self,
        gamma: float | Literal["flsd53"] = 2.0,
        *,
        weight: Any = None,
        reduction: Reduction = "mean",
        ignore_index: int | None = -100,
    ) -> None:
        super().__init__(weight, reduction, ignore_index)
        if isinstance(gamma, str) and gamma != FLSD53:
            raise InputError(f"gamma must be a number of at least 0 or 'flsd53', got {gamma!r}")
        self.gamma = gamma if isinstance(gamma, str) else _check.number(gamma, "gamma", 0)

    def _losses(self, log_p: Tensor, labels: Tensor, weight: Tensor | None) -> Tensor:
        log_p = at_label(log_p, labels)
        # 1 - p without cancellation. The slope of (1 - p)^gamma times log p tends to 0 at both ends, but is infinity
        # times 0 at p = 1 for gamma < 1, and at log p = -infinity. Clamping makes the slope 0 there.
        missing = -torch.expm1(log_p.clamp(min=LOWEST_LOG_P))
        missing = missing.clamp(min=torch.finfo(log_p.dtype).tiny)
        return times(-self._focus(missing, log_p) * log_p, own_weight(weight, labels))

    def _focus(self, missing: Tensor, log_p: Tensor) -> Tensor:
        if not isinstance(self.gamma, str):
            return missing**self.gamma
        below = log_p.detach().exp() < FLSD53_TURN
        return torch.where(below, missing**FLSD53_GAMMA_BELOW, missing**FLSD53_GAMMA_ABOVE)

    def extra_repr(self) -> str:
        return f"gamma={self.gamma!r}, reduction={self.reduction!r}"
