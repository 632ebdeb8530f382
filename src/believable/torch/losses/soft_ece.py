"""Expected calibration error with soft bins, as a loss."""

from __future__ import annotations

from typing import Literal, final

import torch
from torch import Tensor

from believable import _check
from believable.torch.losses.base import Batch, BatchLoss, BatchReduction, root

SoftNorm = Literal["l1", "l2"]

SMALLEST_DIVISOR = 1e-150  # below it squares underflow, and quotients overflow


@final
class SoftECE(BatchLoss):
    r"""Expected calibration error with soft bins, so that it has a gradient.

    .. math:: m_{ij} = \mathrm{softmax}_j\big( -(r_i - g_j)^2 / T \big), \qquad
              \left( \sum_j \frac{S_j}{W} \left| \frac{\sum_i w_i m_{ij} (c_i - r_i)}{S_j} \right|^p \right)^{1/p},
              \quad S_j = \sum_i w_i m_{ij}

    with g_j = (j - 1/2) / M the middles of M bins of equal width; r the confidence (the largest probability) and c
    whether its class is right; for 1-D logits r is P(y = 1) and c is y. The gradient goes through r, in the memberships
    too; c is a constant.

    As T falls to 0 every row belongs to the bin with the nearest middle, and this becomes
    `believable.expected_calibration_error` (except for scores exactly on an edge, which belong half to each bin); the
    gradient of the memberships then vanishes. A row spreads over about sqrt(T / 2) on either side, 0.07 or one bin of
    15 for T = 0.01. Neighbouring bins share rows, so gaps of opposite sign cancel in part: the softer the bins, the
    smaller the value.

    Computed in float64, whatever the type of the logits; memory grows as n M.

    Parameters
    ----------
    n_bins : int
        The number M of bins.
    temperature : float
        The temperature T, at least 1e-150, in units of squared probability.
    norm : {"l1", "l2"}
        The exponent p, 1 or 2. The root of "l2" has gradient 0 where it is 0.
    reduction : {"mean", "sum"}
        "sum" multiplies by W (the number of rows, without weights), to match a summed cross-entropy. There is no value
        per row.

    ignore_index : int or None
        Rows with this label are ignored, and so are rows of weight 0. Other labels that are not classes raise an error
        on the CPU, and make the loss NaN on a GPU, where checking them would mean waiting for the device.

    References
    ----------
    Karandikar, Cain, Tran, Lakshminarayanan, Shlens, Mozer, Roelofs (2021), NeurIPS.

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 0.5, 0.1], [0.3, 1.5, 0.2], [0.1, 0.4, 3.0], [1.0, 0.9, 0.2]])
    >>> labels = torch.tensor([0, 2, 2, 1])
    >>> round(SoftECE()(logits, labels).item(), 4)
    0.2652
    >>> round(SoftECE(temperature=1e-6)(logits, labels).item(), 4)  # the ECE
    0.3616
    """

    def __init__(
        self,
        n_bins: int = 15,
        *,
        temperature: float = 0.01,
        norm: SoftNorm = "l1",
        reduction: BatchReduction = "mean",
        ignore_index: int | None = -100,
    ) -> None:
        super().__init__(reduction, ignore_index)
        self.n_bins = _check.positive_integer(n_bins, "n_bins")
        _check.choice(norm, ("l1", "l2"), "norm")
        self.temperature = _check.number(temperature, "temperature", SMALLEST_DIVISOR)
        self.norm = norm

    def _value(self, batch: Batch) -> Tensor:
        score, outcome = batch.pairs()
        middles = (torch.arange(self.n_bins, device=score.device, dtype=score.dtype) + 0.5) / self.n_bins
        members = torch.softmax(-(score[:, None] - middles).square() / self.temperature, dim=1)
        gaps = batch.weighted(outcome - score) @ members
        if self.norm == "l1":
            value = gaps.abs().sum()
        else:
            shares = batch.weight @ members
            shares = shares.masked_fill(shares < SMALLEST_DIVISOR, 1)  # the gap of an empty bin is 0 too
            value = root((gaps.square() / shares).sum())
        return value

    def extra_repr(self) -> str:
        """Return the settings, for `print`."""
        return f"n_bins={self.n_bins}, temperature={self.temperature}, norm={self.norm!r}, reduction={self.reduction!r}"
