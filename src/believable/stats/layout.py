"""`Layout`: what one pass over rows counts, and on which grids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from believable import _check
from believable._types import Kind, Notion, Spacing
from believable.binning import N_CELLS, Grid
from believable.errors import InputError
from believable.predictions import View

NOTIONS: dict[Kind, tuple[Notion, ...]] = {
    "binary": ("binary",),
    "multiclass": ("confidence", "classwise", "top_label"),
    "multilabel": ("classwise",),
}
CELLS_OF_GRIDS = (N_CELLS, 5040, 840)  # each nests in the one before it
MAX_CELLS_PER_VIEW = 1_000_000  # of all strata of a view together: with many classes each gets a coarser grid


@dataclass(frozen=True, slots=True)
class Layout:
    """What to count: the kind of predictions, and views with their grids.

    Attributes
    ----------
    kind : {"binary", "multiclass", "multilabel"}
    n_classes : int
    views : tuple of (View, Grid)
        The first is the headline; it alone is counted for subgroups.

    Examples
    --------
    >>> layout = Layout.of("multiclass", 3)
    >>> [(view.notion, grid.n_cells) for view, grid in layout.views]
    [('confidence', 50400), ('classwise', 50400), ('top_label', 50400)]
    """

    kind: Kind
    n_classes: int
    views: tuple[tuple[View, Grid], ...]

    def __post_init__(self) -> None:
        _check.choice(self.kind, get_args(Kind), "kind")
        _check.positive_integer(self.n_classes, "n_classes", 2, 2 if self.kind == "binary" else None)
        if not self.views:
            raise InputError("a layout must have at least one view on one grid: name a notion and a spacing to count")
        for view, _ in self.views:
            _check.notion_fits(view.notion, self.kind, self.n_classes)
            if view.n_classes != self.n_classes or view.multilabel != (self.kind == "multilabel"):
                raise InputError(f"{view!r} does not fit {self.kind} predictions of {self.n_classes} classes")
        dtypes = {grid.dtype for _, grid in self.views}
        if len(dtypes) > 1:
            raise InputError(f"scores have one type, the grids of the layout are for {' and '.join(sorted(dtypes))}")

    @property
    def dtype(self) -> str:
        """The type of the scores."""
        return self.views[0][1].dtype

    @classmethod
    def of(
        cls,
        kind: Kind = "binary",
        n_classes: int = 2,
        dtype: Any = "float64",
        *,
        notions: Notion | View | Sequence[Notion | View] | None = None,
        cells: int | None = None,
        spacing: Spacing | Sequence[Spacing] | None = None,
    ) -> Layout:
        """The views of some notions, each on one grid or several.

        Parameters
        ----------
        kind, n_classes, dtype
            Of the predictions; the type of the scores is that of the grids' edges.
        notions : str, View or sequence of them, optional
            If left out: "binary" for 1-D scores; "confidence", "classwise" and "top_label" for a matrix; "classwise"
            for multilabel.
        cells : int, optional
            50,400 if left out, fewer where classes are so many that they would be over a million together.
        spacing : {"uniform", "logit"} or both, optional
            If left out: both for 1-D scores, where the logit-spaced grid is for the tails (slope, AUC, the maps of
            rare events); otherwise uniform.
        """
        _check.choice(kind, get_args(Kind), "kind")
        _check.positive_integer(n_classes, "n_classes", 2)
        named: Sequence[Notion | View]
        named = NOTIONS[kind] if notions is None else (notions,) if isinstance(notions, (str, View)) else notions
        made = []
        for view in dict.fromkeys(_view(one, kind, n_classes) for one in named):
            default: tuple[Spacing, ...] = ("uniform", "logit") if view.notion == "binary" else ("uniform",)
            chosen = default if spacing is None else (spacing,) if isinstance(spacing, str) else tuple(spacing)
            for one in dict.fromkeys(chosen):
                n_cells = _cells_for(view) if cells is None else cells
                made.append((view, Grid(n_cells, one, _name_of(dtype))))
        return cls(kind, n_classes, tuple(made))

    def for_subgroups(self) -> Layout:
        """The headline alone, on the same cells: bins that suit the whole suit its subgroups."""
        return replace(self, views=self.views[:1])


def _view(one: Notion | View, kind: Kind, n_classes: int) -> View:
    if isinstance(one, View):
        return one
    _check.choice(one, get_args(Notion), "notion")
    _check.notion_fits(one, kind, n_classes)
    return View(one, n_classes, multilabel=kind == "multilabel")


def _name_of(dtype: Any) -> str:
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        return str(dtype)  # which the grid refuses, with the names that it takes


def _cells_for(view: View) -> int:
    return next((cells for cells in CELLS_OF_GRIDS if cells * view.n_strata <= MAX_CELLS_PER_VIEW), CELLS_OF_GRIDS[-1])
