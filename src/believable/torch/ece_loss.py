"""`ECELoss`: the calibration error of logits, under the name and with the call of Guo et al.'s code."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor

from believable import _check
from believable.metrics import expected_calibration_error
from believable.torch.counting.summarize import bin_stats


@final
class ECELoss(torch.nn.Module):
    """Expected calibration error of logits: `ECELoss()(logits, labels)`, as in the code of Guo et al. (2017).

    It measures, and cannot be trained on: it has no gradient. For training, use `SoftECE`. The value equals
    `believable.expected_calibration_error` of the softmax: confidences of 0 count, and a confidence on an edge belongs
    to the bin below it.

    Parameters
    ----------
    n_bins : int
        The number of bins, of equal width.

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 0.5, 0.1], [0.3, 1.5, 0.2], [0.1, 0.4, 3.0], [1.0, 0.9, 0.2]])
    >>> round(ECELoss()(logits, torch.tensor([0, 2, 2, 1])).item(), 4)
    0.3616
    """

    def __init__(self, n_bins: int = 15) -> None:
        super().__init__()
        self.n_bins = _check.positive_integer(n_bins, "n_bins")

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the error in float64, on the device of the logits."""
        stats = bin_stats(logits.detach(), labels, self.n_bins, from_logits=True)
        return torch.tensor(expected_calibration_error(stats), dtype=torch.float64, device=logits.device)

    def extra_repr(self) -> str:
        """Return the setting, for `print`."""
        return f"n_bins={self.n_bins}"
