"""Dirichlet calibration as a module: a linear function of all log-probabilities."""

from __future__ import annotations

from typing import final

from torch import Tensor

from believable.torch.maps.linear import AffineModule

LOWEST_LOG_PROBABILITY = -1e5  # lower log-probabilities count as this, as in the NumPy estimator


@final
class DirichletCalibration(AffineModule):
    """Dirichlet calibration: W log p + b, with log p = log softmax(z) of the logits z.

    It returns logits, whose softmax gives the probabilities. `fit` calls
    `believable.recalibrate.DirichletCalibration(input="logits")`, with its penalty on off-diagonal weights and
    intercepts and its limits, to find W and b. As there, log p below -1e5 counts as -1e5, and a constant added to all
    logits of a row changes nothing.

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

    def _mapped(self, logits: Tensor) -> Tensor:
        return self._affine(logits.log_softmax(dim=1).clamp(min=LOWEST_LOG_PROBABILITY))
