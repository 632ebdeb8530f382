"""Dirichlet calibration as a module: a linear map of all log-probabilities."""

from __future__ import annotations

from typing import final

from torch import Tensor

from believable.torch.maps.linear import AffineModule

LOWEST_LOG_PROBABILITY = -1e5  # log-probabilities below count as this, as in the NumPy estimator


@final
class DirichletCalibration(AffineModule):
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

    def _mapped(self, logits: Tensor) -> Tensor:
        return self._affine(logits.log_softmax(dim=1).clamp(min=LOWEST_LOG_PROBABILITY))
