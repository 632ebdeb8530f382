"""`summarize`: tensors counted where they are, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from believable._types import Notion, Spacing
from believable.stats import Summary
from believable.torch._counts import Counts, layout_for
from believable.torch._refused import check_rows
from believable.torch._rows import rows_of
from believable.views import View


def summarize(
    predictions: Any,
    targets: Any,
    *,
    sample_weight: Any = None,
    from_logits: bool = False,
    ignore_index: int | None = None,
    notions: Sequence[Notion | View] | None = None,
    cells: int | None = None,
    spacing: Spacing | Sequence[Spacing] | None = None,
) -> Summary:
    """The statistic of tensors, counted on their device; every metric, interval and audit is read from it.

    It equals `believable.Summary.of` for the same numbers: counts exactly, sums up to rounding.

    Parameters
    ----------
    predictions : Tensor
        Of the shape of the targets for one event; otherwise with one column per class in axis 1, (N, K) or
        (N, K, H, W).
    targets : Tensor
        0 and 1 for one event, 0 to K - 1 for classes.
    sample_weight : Tensor of the shape of the targets, optional
    from_logits : bool
        Whether predictions are logits; never guessed.
    ignore_index : int, optional
        The target of rows to leave out.
    notions, cells, spacing
        What to count, as for `believable.torch.CalibrationMeter`: "binary" for one event, "confidence" for classes.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import believable, torch
    >>> summary = summarize(torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 0]), from_logits=True)
    >>> summary
    Summary(n=2, kind='multiclass', cells of confidence)
    >>> round(float(believable.expected_calibration_error(summary)), 4)
    0.4251
    """
    rows = rows_of(predictions, targets, sample_weight, from_logits=from_logits, ignore_index=ignore_index)
    shape = getattr(targets, "shape", None)
    if rows.scores.device.type == "cpu":
        check_rows(rows, shape)
    layout = layout_for(rows.kind, rows.n_classes, rows.dtype, notions, cells, spacing)
    counts = Counts.empty(layout, rows.scores.device).add(rows, layout)
    if counts.tally.invalid.any():
        check_rows(rows, shape)  # says where
    return counts.summary()
