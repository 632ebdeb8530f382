"""Vector scaling as a module: each logit times its own scale."""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor, nn

from believable.torch.maps.base import PARAMETER_TYPE, assign
from believable.torch.maps.linear import LinearModule, Penalty, only_logits, over_classes


@final
class VectorScaling(LinearModule):
    """Vector scaling: v * z + b, with z the logits, and a scale v and an intercept b for each class.

    `fit` calls `believable.recalibrate.VectorScaling(input="logits")`, with its penalty and its limits, to find v and
    b. As there, two classes are the pair -d/2, d/2 with d the difference of their logits.

    Parameters
    ----------
    n_classes : int
        The number K of classes.
    penalty : "auto" or float
        The strength of the penalty on intercepts when fitting; "auto" chooses it by five-fold cross-validation.
    device, dtype : optional
        Device and type of the parameters. The default, float64, keeps them exactly as fitted.

    Attributes
    ----------
    scale, bias : nn.Parameter of shape (K,)
        v and b; they start as ones and zeros, which change nothing.
    penalty_ : float or None
        The strength that `fit` used.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML.

    Examples
    --------
    >>> import torch
    >>> random = torch.Generator().manual_seed(0)
    >>> z = torch.randn(5000, 3, generator=random)
    >>> labels = torch.multinomial(z.softmax(dim=1), 1, generator=random)[:, 0]
    >>> scaling = VectorScaling(3, penalty=0).fit(z * torch.tensor([2.0, 1.0, 1.0]), labels)
    >>> [round(v, 1) for v in scaling.scale.tolist()]
    [0.5, 1.0, 1.0]
    """

    def __init__(
        self, n_classes: int, *, penalty: Penalty = "auto", device: Any = None, dtype: torch.dtype = PARAMETER_TYPE
    ) -> None:
        super().__init__(n_classes, penalty, dtype)
        self.scale = nn.Parameter(torch.ones(n_classes, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(n_classes, device=device, dtype=dtype))

    def _mapped(self, logits: Tensor) -> Tensor:
        return logits * over_classes(self.scale, logits) + over_classes(self.bias, logits)

    def _map(self) -> dict[str, Any]:
        return {"scales": self.scale.tolist(), "intercepts": self.bias.tolist()}

    def _set(self, fitted: dict[str, Any]) -> None:
        assign(self.scale, fitted["scales"])
        assign(self.bias, fitted["intercepts"])

    def _refuse(self, saved: dict[str, Any]) -> None:
        only_logits(saved)
