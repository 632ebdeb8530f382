"""Matrix scaling as a module: a linear function of all logits."""

from __future__ import annotations

from typing import Any, final

from torch import Tensor

from believable.torch.maps.linear import AffineModule, only_logits


@final
class MatrixScaling(AffineModule):
    """Matrix scaling: W z + b, with z the logits.

    `fit` calls `believable.recalibrate.MatrixScaling(input="logits")`, with its penalty on off-diagonal weights and
    intercepts and its limits, to find W and b. As there, two classes are the pair -d/2, d/2 with d the difference of
    their logits.

    Parameters
    ----------
    n_classes : int
        The number K of classes.
    penalty : "auto" or float
        The strength of the penalty when fitting; "auto" chooses it by five-fold cross-validation.
    device, dtype : optional
        Device and type of the parameters. The default, float64, keeps them exactly as fitted.

    Attributes
    ----------
    weight : nn.Parameter of shape (K, K)
        W, whose row k gives the logit of class k; starts as the identity.
    bias : nn.Parameter of shape (K,)
        b; starts as zeros.
    penalty_ : float or None
        The strength that `fit` used.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML. Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach (2019), NeurIPS.

    Examples
    --------
    >>> import torch
    >>> random = torch.Generator().manual_seed(0)
    >>> z = torch.randn(5000, 3, generator=random)
    >>> labels = torch.multinomial(z.softmax(dim=1), 1, generator=random)[:, 0]
    >>> scaling = MatrixScaling(3, penalty=0.001).fit(2 * z, labels)
    >>> [round(w, 1) for w in scaling.weight.diagonal().tolist()]
    [0.5, 0.5, 0.5]
    """

    def _mapped(self, logits: Tensor) -> Tensor:
        return self._affine(logits)

    def _refuse(self, saved: dict[str, Any]) -> None:
        only_logits(saved)
