"""`Tally`: the counts of a pass over tensors, as a few tensors on their device that can be added.

Every entry is a sum over rows, in float64, so that tallies of batches, devices and processes add up entry by entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from believable._types import Array, Kind, Notion, Spacing
from believable.binning import Grid
from believable.errors import InputError
from believable.predictions.view import View
from believable.stats import CellStats, Layout, ScoreSums, Summary
from believable.stats.counts import from_moments, gather
from believable.stats.one_pass import cells_of_sums
from believable.torch.counting.rows import REASONS

MOMENT_NAMES = ("n", "wp", "wpp")  # the moments of a cell and outcome, without weights
WEIGHTED_MOMENT_NAMES = ("n", "w", "wp", "w2", "w2p", "wpp", "w2pp")
PLAIN_MOMENT_OF_WEIGHTED = (0, 0, 1, 0, 1, 2, 2)  # the unweighted moment that corresponds to each weighted one
ROW_TERM_NAMES = ("brier", "nll", "correct", "confidence", "entropy")  # the terms of a row in the sums of that name
TALLY_SUM_NAMES = (
    *("n", "w", "w2", *ROW_TERM_NAMES, "spread", "spread_variance", "w2_squared"),
    *(f"w2 {name}" for name in ROW_TERM_NAMES),
    *(f"w2 {name}^2" for name in ROW_TERM_NAMES),
    *("brier by chance", "nll by chance"),
)
DEFAULT_NOTIONS: dict[Kind, tuple[Notion, ...]] = {"binary": ("binary",), "multiclass": ("confidence",)}
TALLY_CLASS_SUM_NAMES = ("wp", "wpp", "wy", "w2y", "w2y_brier")


@dataclass(frozen=True, slots=True)
class Tally:
    """The tensors of a tally, and their layout.

    Attributes
    ----------
    layout : Layout
    tables : list of Tensor
        One table for each view: (strata * codes, 2, moments), by outcome. The code of a score is the number of cell
        edges below it, of all grids of the view together, which gives its cell on each grid.
    sums : Tensor
        The sums named in `TALLY_SUM_NAMES`.
    by_class : Tensor
        The sums named in `TALLY_CLASS_SUM_NAMES`, of shape (5, K); K = 1 for one event.
    invalid : Tensor of int64
        The number of invalid rows, by `REASONS`.
    """

    layout: Layout
    tables: list[Tensor]
    sums: Tensor
    by_class: Tensor
    invalid: Tensor

    @classmethod
    def empty(cls, layout: Layout, device: Any = None, weighted: bool = False) -> Tally:
        """Return an empty tally."""
        check_views(layout)
        moments = len(WEIGHTED_MOMENT_NAMES if weighted else MOMENT_NAMES)
        width = 1 if layout.kind == "binary" else layout.n_classes

        def zeros(*shape: int, dtype: Any = torch.float64) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        return cls(
            layout,
            [zeros(view.n_strata * n_codes(grids), 2, moments) for view, grids in views_of(layout)],
            zeros(len(TALLY_SUM_NAMES)),
            zeros(len(TALLY_CLASS_SUM_NAMES), width),
            zeros(len(REASONS), dtype=torch.int64),
        )

    @property
    def weighted(self) -> bool:
        """Whether the tables hold weights besides counts."""
        return self.tables[0].shape[2] == len(WEIGHTED_MOMENT_NAMES)

    def with_weights(self) -> Tally:
        """Return the same counts in tables with room for weights."""
        if self.weighted:
            return self
        tables = [table[:, :, PLAIN_MOMENT_OF_WEIGHTED] for table in self.tables]
        return Tally(self.layout, tables, self.sums, self.by_class, self.invalid)

    def raise_if_invalid(self) -> None:
        """Raise an error that says how many rows were invalid, and why."""
        found = self.invalid.tolist()
        if not any(found):
            return
        what = "; ".join(f"{count:,} {reason}" for count, reason in zip(found, REASONS, strict=True) if count)
        raise InputError(f"rows of the predictions cannot be counted: {what}; reset() forgets them")

    def cells(self) -> tuple[CellStats, ...]:
        """Return the cells of each view and grid; on a GPU this waits for pending work."""
        self.raise_if_invalid()
        cells: dict[tuple[View, Grid], CellStats] = {}
        for (view, grids), table in zip(views_of(self.layout), self.tables, strict=True):
            moments = table.cpu().numpy().transpose(1, 2, 0)
            for grid, cell in zip(grids, cells_of_sums(grids), strict=True):
                cells[view, grid] = _on_grid(view, grid, cell, moments)
        return tuple(cells[pair] for pair in self.layout.views)

    def summary(self) -> Summary:
        """Return the statistic of the NumPy functions."""
        cells = self.cells()
        return Summary(sums=self._score_sums(), cells=cells)

    def _score_sums(self) -> ScoreSums:
        kind = self.layout.kind
        sums = dict(zip(TALLY_SUM_NAMES, self.sums.tolist(), strict=True))
        by_class = dict(zip(TALLY_CLASS_SUM_NAMES, self.by_class.cpu().numpy(), strict=True))
        made: dict[str, Any] = {
            name: sums[name] for name in TALLY_SUM_NAMES[1 : TALLY_SUM_NAMES.index("w2_squared") + 1]
        }
        if kind == "multiclass":
            made |= {"w2x": _several(sums, "w2 {}"), "w2xx": _several(sums, "w2 {}^2")}
            made |= {name: by_class[name].copy() for name in ("w2y", "w2y_brier")}
            made["by_chance"] = np.array([sums["brier by chance"], sums["nll by chance"]])
        wp, wpp = by_class["wp"], by_class["wpp"]
        return ScoreSums(
            kind=kind,
            n_classes=self.layout.n_classes,
            n=round(sums["n"]),
            wp=wp.copy(),
            wy=by_class["wy"].copy(),
            deviation=np.maximum(wpp - wp * wp / sums["w"], 0),
            **made,
        )


def _several(sums: dict[str, float], pattern: str) -> Array:
    return np.array([sums[pattern.format(name)] for name in ROW_TERM_NAMES])


def _on_grid(view: View, grid: Grid, cell: Array, moments: Array) -> CellStats:
    """Sum (outcome, moment, code) into one entry per cell."""
    occupied = np.flatnonzero(moments[:, 0].sum(axis=0))
    stratum, code = np.divmod(occupied, len(cell))
    positive = moments[1][:, occupied]
    total = moments[0][:, occupied] + positive
    columns = {str(i): row for i, row in enumerate((*total, *positive))}
    found = gather(stratum * len(grid) + cell[code], columns)
    key = found.pop("key")
    rows = np.array(list(found.values())) if len(key) else np.empty((2 * len(total), 0))
    return CellStats(view=view, grid=grid, **from_moments(key, *np.split(rows, 2)))


# --- which layouts can be counted, and the codes of scores ------------------------------------------------------------


def layout_for(
    kind: Kind,
    n_classes: int,
    dtype: str,
    notions: Sequence[Notion | View] | None,
    cells: int | None,
    spacing: Spacing | Sequence[Spacing] | None,
) -> Layout:
    """Return `Layout.of`, but for a matrix only the confidence: class-wise counts cost one addition per entry."""
    if notions is not None and (isinstance(notions, (str, View)) or not isinstance(notions, Iterable)):
        raise InputError("{argument} must be a list of notions, got {got!r}", argument="notions", got=notions)
    named = DEFAULT_NOTIONS[kind] if notions is None else tuple(notions)
    layout = Layout.of(kind, n_classes, dtype, notions=named, cells=cells, spacing=spacing)
    check_views(layout)
    return layout


def check_views(layout: Layout) -> None:
    """Raise if a view cannot be counted in torch."""
    if layout.kind == "multilabel":
        raise InputError("multilabel predictions are not counted in torch: use believable.CalibrationMeter")
    for view, _ in layout.views:
        if view.threshold is not None or view.pooled or view.stratum is not None:
            raise InputError(f"{view} is not counted in torch: count the notion, and choose from the summary")


def views_of(layout: Layout) -> list[tuple[View, tuple[Grid, ...]]]:
    """Return the views in order, each with all its grids."""
    grids: dict[View, list[Grid]] = {}
    for view, grid in layout.views:
        grids.setdefault(view, []).append(grid)
    return [(view, tuple(of_view)) for view, of_view in grids.items()]


def n_codes(grids: tuple[Grid, ...]) -> int:
    """Return the number of codes."""
    return sum(len(grid) - 1 for grid in grids) + 1


@lru_cache(maxsize=16)
def code_bounds(grids: tuple[Grid, ...], device: str) -> Tensor:
    """Return the sorted lower bounds of the cells of all grids: a score's code is the number below it."""
    bounds = np.sort(np.concatenate([grid.lower_bounds() for grid in grids]), kind="stable")
    return torch.from_numpy(bounds).to(device)
