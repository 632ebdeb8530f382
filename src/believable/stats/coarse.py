"""Where cells are too coarse for what is read from them: said, because the number would look right."""

from __future__ import annotations

import warnings

import numpy as np

from believable._types import Float64s
from believable.errors import CoarseCellsWarning
from believable.kernels.logistic import SMALLEST
from believable.stats.cells import CellStats

MOST_HIDDEN = 0.01  # of the variance of logits, within cells: from here on slopes are off in the second digit
SAME = 1e-10  # of (mean score)^2: a variance below is rounding, and the scores of the cell are one
ADVICE = "count with spacing='logit', or pass a Summary of 1-D scores, which has both grids"


def warn_of_wide_cells(cells: CellStats, stacklevel: int = 4) -> None:
    """Warn where uniform cells hold logits that differ: scores so near to 0 or 1 that a cell is wide beside them.

    How much they differ is known: the variance of the scores of a cell over (p (1 - p))^2 is that of their logits. Its
    share of the variance of all logits, each weighted by w p (1 - p), is what the cells do not tell.
    """
    if cells.grid.spacing == "logit":
        return
    p = np.clip(cells.conf, SMALLEST, 1 - SMALLEST)
    information = cells.w * p * (1 - p)
    logit = np.log(p) - np.log1p(-p)
    between = float(np.average((logit - np.average(logit, weights=information)) ** 2, weights=information))
    within = float(np.average(_spread(cells) / (p * (1 - p)) ** 2, weights=information))
    if within > MOST_HIDDEN * (within + between):
        warnings.warn(
            f"scores lie so near to 0 or 1 that {within / (within + between):.0%} of the variance of their logits is "
            f"within cells of the uniform grid of {cells.grid.n_cells:,}, which stand at their means: {ADVICE}",
            CoarseCellsWarning,
            stacklevel=stacklevel,
        )


def warn_of_crowded_cells(cells: CellStats, n_bins: int, stacklevel: int = 5) -> None:
    """Warn where one cell has more weight than a bin of equal weight should, and its scores are not all equal."""
    for group in range(cells.view.n_groups):
        one = cells.only_group(group) if cells.view.n_groups > 1 else cells
        crowded = (one.w > one.w.sum() / n_bins) & (_spread(one) > 0)
        if crowded.any():
            share = float(one.w[crowded].max() / one.w.sum())
            warnings.warn(
                f"one cell of {cells.grid} holds {share:.0%} of the weight, at scores that differ: {n_bins} bins of "
                f"equal weight cannot be told apart there; {ADVICE}",
                CoarseCellsWarning,
                stacklevel=stacklevel,
            )
            return


def _spread(cells: CellStats) -> Float64s:
    """Variance of the scores within each cell; 0 where that is but rounding."""
    variance = np.maximum(cells.wpp / cells.w - cells.conf**2, 0)
    return np.where(variance > SAME * cells.conf**2, variance, 0)
