"""`bin_stats`: the sums of every bin, counted where the tensors are, and nothing else."""

from __future__ import annotations

from typing import Any

import torch

from believable._types import Notion
from believable.stats import BinStats, Layout
from believable.torch._count import count
from believable.torch._refused import check_rows
from believable.torch._rows import rows_of
from believable.torch._tally import Tally


def bin_stats(
    predictions: Any,
    targets: Any,
    n_bins: int = 15,
    *,
    notion: Notion | None = None,
    sample_weight: Any = None,
    from_logits: bool = False,
    ignore_index: int | None = None,
) -> BinStats:
    """Sums by uniform bin: all that a calibration error in so many bins needs.

    On a GPU it takes half to two thirds of the time of `summarize`, which sums proper scores too, in as many cells.
    It equals `believable.BinStats.of` for the same numbers: counts exactly, sums up to rounding.

    Parameters
    ----------
    predictions : Tensor
        Of the shape of the targets for one event; otherwise with one column per class in axis 1, (N, K) or
        (N, K, H, W).
    targets : Tensor
        0 and 1 for one event, 0 to K - 1 for classes.
    n_bins : int
        Of equal width.
    notion : str, optional
        "binary" for one event if left out, "confidence" for classes; "top_label" and "classwise" have bins for every
        class.
    sample_weight : Tensor of the shape of the targets, optional
    from_logits : bool
        Whether predictions are logits; never guessed.
    ignore_index : int, optional
        The target of rows to leave out.

    Returns
    -------
    BinStats

    Examples
    --------
    >>> import believable, torch
    >>> stats = bin_stats(torch.tensor([0.1, 0.2, 0.8, 0.9]), torch.tensor([0, 0, 1, 1]), n_bins=2)
    >>> stats.n, round(believable.expected_calibration_error(stats), 6)
    (array([2, 2]), 0.15)
    """
    rows = rows_of(predictions, targets, sample_weight, from_logits=from_logits, ignore_index=ignore_index)
    shape = getattr(targets, "shape", None)
    if rows.scores.device.type == "cpu":
        check_rows(rows, shape)
    notion = notion or ("binary" if rows.kind == "binary" else "confidence")
    layout = Layout.of(rows.kind, rows.n_classes, rows.dtype, notions=notion, cells=n_bins, spacing="uniform")
    tally = Tally.empty(layout, rows.scores.device, weighted=rows.weights is not None)
    count(tally, rows, scores_too=False)
    if bool(torch.any(tally.invalid != 0)):
        check_rows(rows, shape)  # says where
    return tally.cells()[0].coarsen(n_bins)
