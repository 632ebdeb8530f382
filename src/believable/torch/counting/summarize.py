"""Statistics of tensors in one call: `summarize` for every metric, `bin_stats` for bins only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from believable._types import Notion, Spacing
from believable.predictions.view import View
from believable.stats import BinStats, Layout, Summary
from believable.torch.counting.reader import TallyReader
from believable.torch.counting.rows import Rows, check_rows, rows_of
from believable.torch.counting.state import count
from believable.torch.counting.tally import Tally, layout_for


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
    """Count tensors on their device into a `Summary`, from which every metric, interval and audit can be read.

    It equals `believable.Summary.of` for the same numbers: counts exactly, sums up to rounding. Where
    scores are themselves rounded, single rows can be in a neighbouring cell: exponentials in single precision on a GPU,
    and the sum of the r largest probabilities ("within_top_r").

    Parameters
    ----------
    predictions : Tensor
        For one event, in the shape of the targets; otherwise with one column per class on axis 1, (N, K) or
        (N, K, H, W).
    targets : Tensor
        0 and 1 for one event, 0 to K - 1 for classes.
    sample_weight : Tensor of the shape of the targets, optional
        Importance weights.
    from_logits : bool
        Whether predictions are logits; this is never guessed.
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
    layout = layout_for(rows.kind, rows.n_classes, rows.dtype, notions, cells, spacing)
    return _counted(rows, layout).read_all()


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
    """Count tensors in uniform bins: all that a calibration error with these bins needs.

    On a GPU it is several times as fast as `summarize`, which also sums proper scores and keeps fine cells.
    It equals `believable.BinStats.of` for the same numbers: counts exactly, sums up to rounding.

    Parameters
    ----------
    predictions : Tensor
        For one event, in the shape of the targets; otherwise with one column per class on axis 1, (N, K) or
        (N, K, H, W).
    targets : Tensor
        0 and 1 for one event, 0 to K - 1 for classes.
    n_bins : int
        The number of bins, of equal width.
    notion : str, optional
        By default "binary" for one event and "confidence" for classes; "top_label" and "classwise" have separate bins
        for every class.
    sample_weight : Tensor of the shape of the targets, optional
        Importance weights.
    from_logits : bool
        Whether predictions are logits; this is never guessed.
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
    notion = notion or ("binary" if rows.kind == "binary" else "confidence")
    layout = layout_for(rows.kind, rows.n_classes, rows.dtype, (notion,), n_bins, "uniform")
    return _counted(rows, layout, scores_too=False).uniform_bins(0, n_bins)


def _counted(rows: Rows, layout: Layout, *, scores_too: bool = True) -> TallyReader:
    """Count rows; invalid ones are an error that names the first, on a GPU after they were counted."""
    tally = Tally.empty(layout, rows.scores.device, weighted=rows.weights is not None)
    if len(rows):
        count(tally, rows, scores_too=scores_too)
    reader = TallyReader(tally)
    if tally.buffer.is_cuda and any(reader.invalid()):
        check_rows(rows)  # this error names the row
        reader.refuse_invalid()  # a sum on the verge of the tolerance, in single precision
    return reader
