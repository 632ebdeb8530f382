"""Squared kernel calibration error as a loss."""

from __future__ import annotations

from typing import Literal, final, get_args

import numpy as np
import torch
from torch import Tensor

from believable import _check
from believable._kernels import Similarity
from believable.metrics.kernel_vectors import KernelName, Vectors, checked_bandwidth, similarity_of
from believable.torch.losses.base import Batch, BatchLoss, BatchReduction, pair_weight
from believable.torch.pairs import line_form, pair_form


@final
class KCELoss(BatchLoss):
    """Squared kernel calibration error of a batch: the joint calibration of the probabilities of all classes.

    The mean over pairs of rows of h_ij = k(P_i, P_j) <e_i - P_i, e_j - P_j>, P the softmax of the logits and e the unit
    vector of the label; 1-D logits are the vectors (1 - p, p). The value equals
    `believable.squared_kernel_calibration_error`; add it to the cross-entropy in training. The gradient goes through P
    everywhere, also in the kernel; labels and bandwidth are constants.

    - "unbiased": over pairs of different rows; signed, with mean 0 for a calibrated model however small the batch. One
      row alone has the value 0.
    - "biased": over all pairs, including each row with itself; never negative. The term of a row with itself is its
      Brier score, so this also rewards accuracy, with a share of 1/n.

    Kernels: "tv" is exp(-TV / nu), TV half the sum of absolute differences; "gaussian" is exp(-d^2 / (2 nu^2)).

    Time grows as n^2 K, memory as n K: pairs are processed tile by tile, value and gradient together. For 1-D logits
    with the kernel "tv", time grows as n log n. Everything is in float64, whatever the type of the logits.

    Parameters
    ----------
    estimator : {"unbiased", "biased"}
        Which pairs of rows the mean is over, as above.
    kernel : {"tv", "gaussian"}
        The kernel, as above.
    bandwidth : float, optional
        nu, above 0. By default the median distance in each batch, computed on the CPU. A fixed number is faster, and
        makes batches comparable.
    reduction : {"mean", "sum"}
        "sum" multiplies by W (the number of rows, without weights), to match a summed cross-entropy. There is no value
        per row.

    ignore_index : int or None
        Rows with this label are ignored, and so are rows of weight 0. Other labels that are not classes raise an error
        on the CPU, and make the loss NaN on a GPU, where checking them would mean waiting for the device.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), NeurIPS.

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 0.5, 0.1], [0.3, 1.5, 0.2], [0.1, 0.4, 3.0], [1.0, 0.9, 0.2]], requires_grad=True)
    >>> labels = torch.tensor([0, 2, 2, 1])
    >>> cross_entropy, kce = torch.nn.CrossEntropyLoss(), KCELoss(bandwidth=0.3)
    >>> loss = cross_entropy(logits, labels) + 0.5 * kce(logits, labels)
    >>> loss.backward()
    >>> round(kce(logits, labels).item(), 4)
    -0.0452
    """

    def __init__(
        self,
        *,
        estimator: Literal["unbiased", "biased"] = "unbiased",
        kernel: KernelName = "tv",
        bandwidth: float | None = None,
        reduction: BatchReduction = "mean",
        ignore_index: int | None = -100,
    ) -> None:
        super().__init__(reduction, ignore_index)
        _check.choice(estimator, ("unbiased", "biased"), "estimator")
        _check.choice(kernel, get_args(KernelName), "kernel")
        self.estimator = estimator
        self.kernel = kernel
        self.bandwidth = None if bandwidth is None else checked_bandwidth(bandwidth)

    def _value(self, batch: Batch) -> Tensor:
        p, labels, diagonal = batch.p, batch.labels, self.estimator == "biased"
        similarity = Similarity(self.kernel, self.bandwidth or median_distance(batch, self.kernel))
        if p.ndim == 1 and self.kernel == "tv":
            form = 2 * line_form(p, batch.weighted(labels - p), similarity.bandwidth, diagonal=diagonal)
        else:
            places = p
            if p.ndim == 1:  # (p, p) has the distances of (1 - p, p), without rounding 1 - p
                p, places = torch.stack([1 - p, p], dim=1), torch.stack([p, p], dim=1)
            unit = (labels[:, None] == torch.arange(p.shape[1], device=p.device)).double()
            unit = unit.masked_fill(labels.isnan()[:, None], torch.nan)
            form = pair_form(places, batch.weighted(unit - p), similarity, diagonal=diagonal)
        return form if diagonal else form / pair_weight(batch.weight)

    def extra_repr(self) -> str:
        """Return the settings, for `print`."""
        return (
            f"estimator={self.estimator!r}, kernel={self.kernel!r}, bandwidth={self.bandwidth}, "
            f"reduction={self.reduction!r}"
        )


def median_distance(batch: Batch, kernel: KernelName) -> float:
    """Return the default bandwidth of `believable.squared_kernel_calibration_error`; 1 if there are no rows."""
    kept = batch.weight > 0
    p, weight = batch.p.detach()[kept].cpu().numpy(), batch.weight[kept].cpu().numpy()
    if not len(p):
        return 1.0
    points, score = (p, None) if p.ndim == 2 else (np.column_stack([1 - p, p]), p)
    vectors = Vectors(points, points, weight / weight.mean(), score)  # distances do not depend on residuals
    return similarity_of(vectors, kernel, None).bandwidth
