"""`Tally`: the counts of a pass over tensors, as one tensor on their device that can be added.

Every entry is a sum over rows, in float64, so that tallies of batches, devices and processes add up entry by entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from believable import _kernels
from believable._types import Array, Kind, Notion, Spacing
from believable.binning import Grid
from believable.errors import InputError
from believable.predictions.view import View
from believable.stats import CellStats, Layout, ScoreSums
from believable.stats.counts import from_moments
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
PINNED_FROM = 1 << 16  # numbers from which a copy through pinned memory is faster
DEFAULT_NOTIONS: dict[Kind, tuple[Notion, ...]] = {"binary": ("binary",), "multiclass": ("confidence",)}
TALLY_CLASS_SUM_NAMES = ("wp", "wpp", "wy", "w2y", "w2y_brier")


class Tally:
    """All counts of a pass, in one tensor, with views of its parts.

    One tensor means one launch to reset it, one transfer to read it and one message to add those of several processes.

    Attributes
    ----------
    layout : Layout
    buffer : Tensor of float64
        All entries, in the order of `parts_of`.
    weighted : bool
        Whether the tables hold weights besides counts.
    invalid : Tensor
        The number of invalid rows, by `REASONS`.
    ignored : Tensor
        The number of rows left out because of their label.
    sums : Tensor
        The sums named in `TALLY_SUM_NAMES`.
    by_class : Tensor
        The sums named in `TALLY_CLASS_SUM_NAMES`, of shape (5, K); K = 1 for one event.
    tables : list of Tensor
        One table for each view: (strata * codes, 2, moments), by outcome. The code of a score is the number of cell
        edges below it, of all grids of the view together, which gives its cell on each grid.
    """

    def __init__(self, layout: Layout, buffer: Tensor, weighted: bool) -> None:
        self.layout, self.buffer, self.weighted = layout, buffer, weighted
        self._prepared: tuple[int, dict[Any, Any]] = (-1, {})

    @property
    def prepared(self) -> dict[Any, Any]:
        """What kernels prepare once for this tally and use for every batch.

        It holds pointers, so it is made anew where torch has moved the numbers, as it does to share them with another
        process.
        """
        place = self.buffer.data_ptr()
        if place != self._prepared[0]:
            self._prepared = (place, {})
        return self._prepared[1]

    @classmethod
    def empty(cls, layout: Layout, device: Any = None, weighted: bool = False) -> Tally:
        """Return an empty tally."""
        size = parts_of(layout, weighted)["all"].stop
        return cls(layout, torch.zeros(size, dtype=torch.float64, device=device), weighted)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tally, (self.layout, self.buffer, self.weighted)  # copied parts would not be views

    @cached_property
    def invalid(self) -> Tensor:
        return self._part("invalid")

    @cached_property
    def ignored(self) -> Tensor:
        return self._part("ignored")

    @cached_property
    def sums(self) -> Tensor:
        return self._part("sums")

    @cached_property
    def by_class(self) -> Tensor:
        return self._part("by_class")

    @cached_property
    def tables(self) -> list[Tensor]:
        return [self._part(f"tables.{i}") for i in range(len(views_of(self.layout)))]

    def _part(self, name: str) -> Tensor:
        start, shape = parts_of(self.layout, self.weighted)[name]
        return self.buffer[start : start + prod(shape)].view(shape)

    def named(self) -> dict[str, Tensor]:
        """Return the parts by name, as they are saved."""
        tables = {f"tables.{i}": table for i, table in enumerate(self.tables)}
        counts = {"invalid": self.invalid, "ignored": self.ignored}
        return tables | {"sums": self.sums, "by_class": self.by_class} | counts

    def with_weights(self) -> Tally:
        """Return the same counts in tables with room for weights."""
        if self.weighted:
            return self
        wider = Tally.empty(self.layout, self.buffer.device, weighted=True)
        for mine, theirs in zip(wider.named().values(), self.named().values(), strict=True):
            mine.copy_(theirs[:, :, PLAIN_MOMENT_OF_WEIGHTED] if theirs.ndim == 3 else theirs)
        return wider

    def cells(self) -> tuple[CellStats, ...]:
        """Return the cells of each view and grid; on a GPU this waits for pending work."""
        cells: dict[tuple[View, Grid], CellStats] = {}
        for (view, grids), table in zip(views_of(self.layout), self.tables, strict=True):
            cells |= _cells_of_view(view, grids, on_host(table).numpy())
        return tuple(cells[pair] for pair in self.layout.views)


class Part(NamedTuple):
    """Where a part of a tally is in its buffer."""

    start: int
    shape: tuple[int, ...]

    @property
    def stop(self) -> int:
        """The end."""
        return self.start + prod(self.shape)


@lru_cache(maxsize=64)
def parts_of(layout: Layout, weighted: bool) -> dict[str, Part]:
    """Return the parts of a buffer: invalid, ignored, sums, by_class and the tables, in this order, and all of it.

    The first table begins at a multiple of 32 bytes, at which GPUs add up to four numbers at once.
    """
    check_views(layout)
    width = 1 if layout.kind == "binary" else layout.n_classes
    moments = len(WEIGHTED_MOMENT_NAMES if weighted else MOMENT_NAMES)
    shapes: dict[str, tuple[int, ...]] = {
        "invalid": (len(REASONS),),
        "ignored": (),
        "sums": (len(TALLY_SUM_NAMES),),
        "by_class": (len(TALLY_CLASS_SUM_NAMES), width),
    }
    parts, at = {}, 0
    for name, shape in shapes.items():
        parts[name] = Part(at, shape)
        at = parts[name].stop
    at = -(-at // 4) * 4
    for i, (view, grids) in enumerate(views_of(layout)):
        parts[f"tables.{i}"] = Part(at, (view.n_strata * n_codes(grids), 2, moments))
        at = parts[f"tables.{i}"].stop
    parts["all"] = Part(0, (at,))
    return parts


def raise_if_any(invalid: Sequence[float]) -> None:
    """Raise an error that says how many rows were invalid, and why."""
    if not any(invalid):
        return
    found = zip(invalid, REASONS, strict=True)
    what = "; ".join(f"{int(count):,} {reason}" for count, reason in found if count)
    raise InputError(f"rows of the predictions cannot be counted: {what}; reset() forgets them")


def on_host(values: Tensor) -> Tensor:
    """Return the values in the memory of the host; through pinned memory from a GPU, which is several times as fast."""
    if not values.is_cuda:
        return values
    copy = torch.empty(values.shape, dtype=values.dtype, pin_memory=values.numel() >= PINNED_FROM)
    return copy.copy_(values)


def score_sums(layout: Layout, of_rows: Array, of_classes: Array) -> ScoreSums:
    """Return the `ScoreSums` of the parts `sums` and `by_class`."""
    kind = layout.kind
    sums = dict(zip(TALLY_SUM_NAMES, of_rows.tolist(), strict=True))
    by_class = dict(zip(TALLY_CLASS_SUM_NAMES, of_classes, strict=True))
    made: dict[str, Any] = {name: sums[name] for name in TALLY_SUM_NAMES[1 : TALLY_SUM_NAMES.index("w2_squared") + 1]}
    if kind == "multiclass":
        made |= {"w2x": _several(sums, "w2 {}"), "w2xx": _several(sums, "w2 {}^2")}
        made |= {name: by_class[name].copy() for name in ("w2y", "w2y_brier")}
        made["by_chance"] = np.array([sums["brier by chance"], sums["nll by chance"]])
    wp, wpp = by_class["wp"], by_class["wpp"]
    return ScoreSums(
        kind=kind,
        n_classes=layout.n_classes,
        n=round(sums["n"]),
        wp=wp.copy(),
        wy=by_class["wy"].copy(),
        deviation=np.maximum(wpp - wp * wp / sums["w"], 0),
        **made,
    )


def _several(sums: dict[str, float], pattern: str) -> Array:
    return np.array([sums[pattern.format(name)] for name in ROW_TERM_NAMES])


def _cells_of_view(view: View, grids: tuple[Grid, ...], table: Array) -> dict[tuple[View, Grid], CellStats]:
    """Return the cells of each grid from a table."""
    found = _kernels.cells_of_table(table, _keys_of_codes(grids, view.n_strata))
    return {
        (view, grid): CellStats(view=view, grid=grid, **from_moments(*of_grid))
        for grid, of_grid in zip(grids, found, strict=True)
    }


@lru_cache(maxsize=8)
def _keys_of_codes(grids: tuple[Grid, ...], strata: int) -> tuple[Array, ...]:
    """Return the key of each grid's cell, stratum * cells + cell, for every code of every stratum."""
    keys = []
    for grid, cell in zip(grids, cells_of_sums(grids), strict=True):
        first = np.arange(strata, dtype=np.int32)[:, None] * np.int32(len(grid))
        keys.append((first + cell.astype(np.int32)).reshape(-1))
    return tuple(keys)


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
    spacing = spacing if spacing is None or isinstance(spacing, str) else tuple(spacing)
    return _layout_of(kind, n_classes, dtype, named, cells, spacing)


@lru_cache(maxsize=64)
def _layout_of(
    kind: Kind,
    n_classes: int,
    dtype: str,
    notions: tuple[Notion | View, ...],
    cells: int | None,
    spacing: Spacing | tuple[Spacing, ...] | None,
) -> Layout:
    layout = Layout.of(kind, n_classes, dtype, notions=notions, cells=cells, spacing=spacing)
    check_views(layout)
    return layout


def check_views(layout: Layout) -> None:
    """Raise if a view cannot be counted in torch."""
    if layout.kind == "multilabel":
        raise InputError("multilabel predictions are not counted in torch: use believable.CalibrationMeter")
    for view, _ in layout.views:
        if view.threshold is not None or view.pooled or view.stratum is not None:
            raise InputError(f"{view} is not counted in torch: count the notion, and choose from the summary")


@lru_cache(maxsize=64)
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
