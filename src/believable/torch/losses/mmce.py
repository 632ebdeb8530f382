"""Maximum mean calibration error as a loss."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor

from believable import _check
from believable.errors import InputError
from believable.metrics.kernel_vectors import checked_bandwidth
from believable.torch.losses.base import Batch, BatchLoss, BatchReduction, pair_weight, root
from believable.torch.pairs import line_form


@final
class MMCELoss(BatchLoss):
    """Maximum mean calibration error of a batch, to add to the cross-entropy in training.

    `sqrt( sum_ij w_i w_j (c_i - r_i)(c_j - r_j) exp(-|r_i - r_j| / h) ) / W`, including each row with itself: r is the
    confidence (the largest probability) and c whether its class is right; for 1-D logits r is P(y = 1) and c is y. The
    value equals `believable.maximum_mean_calibration_error`. The gradient goes through r alone; c is a constant. It is
    bounded, and 0 where the value is 0.

    Exact in n log n for any number of rows: they are sorted by r, and decaying running sums cover all pairs. Everything
    is computed in float64, whatever the type of the logits.

    With `weighted=True` correct and wrong rows have the same total weight (MMCE_w of the paper): each (c_i - r_i) is
    divided by the weight of the rows with the same c, instead of W. Use it where nearly all rows are correct. If all
    rows are of one kind, only that kind counts.

    With `unbiased=True` the value is the sum over pairs of different rows divided by W^2 - sum w^2, without a root:
    signed, with mean 0 for a calibrated model however small the batch. One row alone has the value 0.

    Parameters
    ----------
    bandwidth : float
        The bandwidth h of the kernel, above 0.
    weighted : bool
        Whether correct and wrong rows have the same total weight, as above.
    unbiased : bool
        Not together with `weighted`.
    reduction : {"mean", "sum"}
        "sum" multiplies by W (the number of rows, without weights), to match a summed cross-entropy. There is no value
        per row.

    ignore_index : int or None
        Rows with this label are ignored, and so are rows of weight 0. Other labels that are not classes raise an error
        on the CPU, and make the loss NaN on a GPU, where checking them would mean waiting for the device.

    References
    ----------
    Kumar, Sarawagi, Jain (2018), ICML.

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 0.5, 0.1], [0.3, 1.5, 0.2], [0.1, 0.4, 3.0], [1.0, 0.9, 0.2]], requires_grad=True)
    >>> labels = torch.tensor([0, 2, 2, 1])
    >>> cross_entropy, mmce = torch.nn.CrossEntropyLoss(), MMCELoss()
    >>> loss = cross_entropy(logits, labels) + 2.0 * mmce(logits, labels)
    >>> loss.backward()
    >>> round(mmce(logits, labels).item(), 4)
    0.184
    """

    def __init__(
        self,
        *,
        bandwidth: float = 0.4,
        weighted: bool = False,
        unbiased: bool = False,
        reduction: BatchReduction = "mean",
        ignore_index: int | None = -100,
    ) -> None:
        super().__init__(reduction, ignore_index)
        _check.flag(weighted, "weighted")
        _check.flag(unbiased, "unbiased")
        if weighted and unbiased:
            raise InputError("choose weighted=True or unbiased=True: the weighted MMCE has no unbiased form here")
        self.bandwidth = checked_bandwidth(bandwidth)
        self.weighted = weighted
        self.unbiased = unbiased

    def _value(self, batch: Batch) -> Tensor:
        score, outcome = batch.pairs()
        if self.weighted:
            batch = batch._replace(weight=by_outcome(batch.weight, outcome))
        excess = batch.weighted(outcome - score)
        form = line_form(score, excess, self.bandwidth, diagonal=not self.unbiased)
        return form / pair_weight(batch.weight) if self.unbiased else root(form)

    def extra_repr(self) -> str:
        """Return the settings, for `print`."""
        return (
            f"bandwidth={self.bandwidth}, weighted={self.weighted}, unbiased={self.unbiased}, "
            f"reduction={self.reduction!r}"
        )


def by_outcome(weight: Tensor, outcome: Tensor) -> Tensor:
    """Return the weights of correct rows and of wrong rows, each divided by their sum."""
    right = weight * outcome
    wrong = weight * (1 - outcome)
    sums = right.nansum(), wrong.nansum()  # a row of weight 0 may have no outcome
    shares = [part / total.masked_fill(total == 0, 1) for part, total in zip((right, wrong), sums, strict=True)]
    return torch.where(weight == 0, 0, shares[0] + shares[1])
