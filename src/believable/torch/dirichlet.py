"""Dirichlet calibration as a module: a linear map of all log-probabilities."""

from __future__ import annotations

from typing import Any, ClassVar, Self, final

import torch
from torch import Tensor, nn

from believable.recalibrate import DirichletCalibration as NumpyDirichletCalibration
from believable.recalibrate import Recalibrator
from believable.recalibrate._linear import LOWEST, Penalty
from believable.torch._linear import LinearModule, affine
from believable.torch._module import DTYPE, assign


@final
class DirichletCalibration(LinearModule):
    """Dirichlet calibration: W log p + b, with log p = log softmax(z) of the logits z.

    What it returns are logits: their softmax are the probabilities. `fit` finds the W and b of
    `believable.recalibrate.DirichletCalibration(input="logits")`, with its penalty of off-diagonal weights and
    intercepts and its limits, by calling it. As there, log p below -1e5 counts as -1e5, and a constant added to all
    logits of a row changes nothing.

    Parameters
    ----------
    n_classes : int
        K.
    penalty : "auto" or float
        When fitting; "auto" leaves the strength to five folds.
    device, dtype : optional
        Of the parameters. In float64, the default, they are kept as they were found.

    Attributes
    ----------
    weight : nn.Parameter of shape (K, K)
        W, whose row k makes the logit of class k: the identity to begin with.
    bias : nn.Parameter of shape (K,)
        b, zeros to begin with.
    penalty_ : float or None
        The strength that `fit` used.

    References
    ----------
    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach (2019), NeurIPS.

    Examples
    --------
    >>> import torch
    >>> random = torch.Generator().manual_seed(0)
    >>> z = torch.randn(5000, 3, generator=random)
    >>> labels = torch.multinomial((2 * z).softmax(dim=1), 1, generator=random)[:, 0]
    >>> calibration = DirichletCalibration(3, penalty=1).fit(z, labels)
    >>> [round(w) for w in calibration.weight.diagonal().tolist()]
    [2, 2, 2]
    """

    estimator: ClassVar[type[Recalibrator]] = NumpyDirichletCalibration

    def __init__(
        self, n_classes: int, *, penalty: Penalty = "auto", device: Any = None, dtype: torch.dtype = DTYPE
    ) -> None:
        super().__init__(n_classes, penalty)
        self.weight = nn.Parameter(torch.eye(n_classes, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(n_classes, device=device, dtype=dtype))

    def _mapped(self, logits: Tensor) -> Tensor:
        return affine(logits.log_softmax(dim=1).clamp(min=LOWEST), self.weight, self.bias)

    @classmethod
    def _empty(cls, n_classes: int) -> Self:
        return cls(n_classes)

    def _map(self) -> dict[str, Any]:
        return {"weights": self.weight.tolist(), "intercepts": self.bias.tolist()}

    def _set(self, learnt: dict[str, Any]) -> None:
        assign(self.weight, learnt["weights"])
        assign(self.bias, learnt["intercepts"])
