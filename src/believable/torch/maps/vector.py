"""Vector scaling as a module: each logit times a number of its own."""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor, nn

from believable.torch.maps.base import PARAMETER_TYPE, assign
from believable.torch.maps.linear import LinearModule, Penalty, only_logits, over_classes


@final
class VectorScaling(LinearModule):
    """Vector scaling: v * z + b, with z the logits and a number v and b for each class.

    `fit` finds the v and b of `believable.recalibrate.VectorScaling(input="logits")`, with its penalty and its limits,
    by calling it. As there, two classes are the pair -d/2, d/2 with d the difference of their logits.

    Parameters
    ----------
    n_classes : int
        K.
    penalty : "auto" or float
        Of the intercepts, when fitting; "auto" leaves the strength to five folds.
    device, dtype : optional
        Of the parameters. In float64, the default, they are kept as they were found.

    Attributes
    ----------
    scale, bias : nn.Parameter of shape (K,)
        v and b: ones and zeros to begin with, which change nothing.
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

    def _set(self, learnt: dict[str, Any]) -> None:
        assign(self.scale, learnt["scales"])
        assign(self.bias, learnt["intercepts"])

    def _refuse(self, saved: dict[str, Any]) -> None:
        only_logits(saved)
