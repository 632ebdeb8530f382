"""`Layout`: the views that one pass over the rows counts, and their grids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import NoneType
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
CELLS_OF_GRIDS = (N_CELLS, 5040, 840)  # the edges of each are edges of the one before
MAX_CELLS_PER_VIEW = 1_000_000  # over all strata of a view: with many classes, each gets a coarser grid


@dataclass(frozen=True, slots=True)
class Layout:
    """What to count: the kind of predictions, and the views with their grids.

    Attributes
    ----------
    kind : {"binary", "multiclass", "multilabel"}
        Kind of predictions.
    n_classes : int
        Number of classes.
    views : tuple of (View, Grid)
        The views, each with its grid. The first is the main view; subgroups count only that one.

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
            raise InputError(
                f"all grids of a layout must be for one type of scores, got {' and '.join(sorted(dtypes))}"
            )

    @property
    def dtype(self) -> str:
        """Data type of the scores."""
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
        """Return a layout with the views of some notions, each on one or more grids.

        Parameters
        ----------
        kind, n_classes, dtype
            Kind of predictions, number of classes, and data type of the scores (and of the grids' edges).
        notions : str, View or sequence of them, optional
            By default "binary" for 1-D scores; "confidence", "classwise" and "top_label" for a matrix; "classwise" for
            multilabel.
        cells : int, optional
            Number of cells: 50,400 by default, fewer if the classes together would have more than a million.
        spacing : {"uniform", "logit"} or both, optional
            By default both for 1-D scores, where the logit-spaced grid is for the tails (slope, AUC, recalibration of
            rare events); otherwise uniform.
        """
        _check.choice(kind, get_args(Kind), "kind")
        _check.positive_integer(n_classes, "n_classes", 2)
        named: Sequence[Notion | View]
        named = NOTIONS[kind] if notions is None else (notions,) if isinstance(notions, (str, View)) else notions
        if not isinstance(named, Iterable):
            raise InputError("{argument} must be notions, got {got!r}", argument="notions", got=named)
        check_spacing(spacing)
        made = []
        for view in dict.fromkeys(_view(one, kind, n_classes) for one in named):
            default: tuple[Spacing, ...] = ("uniform", "logit") if view.notion == "binary" else ("uniform",)
            chosen = default if spacing is None else (spacing,) if isinstance(spacing, str) else tuple(spacing)
            for one in dict.fromkeys(chosen):
                n_cells = _cells_for(view) if cells is None else cells
                made.append((view, Grid(n_cells, one, _name_of(dtype))))
        return cls(kind, n_classes, tuple(made))

    def for_subgroups(self) -> Layout:
        """Return the layout of subgroups: the main view only, on the same cells."""
        return replace(self, views=self.views[:1])


def check_spacing(spacing: Any) -> None:
    """Raise unless this is one spacing or several, or None; the grids check their names."""
    if not isinstance(spacing, (str, NoneType, Iterable)):
        raise InputError("{argument} must be 'uniform', 'logit' or both, got {got!r}", argument="spacing", got=spacing)


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
        return str(dtype)  # the grid raises an error that lists the valid names


def _cells_for(view: View) -> int:
    return next((cells for cells in CELLS_OF_GRIDS if cells * view.n_strata <= MAX_CELLS_PER_VIEW), CELLS_OF_GRIDS[-1])
