"""`Summary`: everything that one pass over the rows keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, final, get_args

import numpy as np

from believable import _check
from believable._arrays import as_levels
from believable._types import Array, Kind, Needs, Notion, Spacing
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.predictions import Predictions, View
from believable.stats import one_pass
from believable.stats.bins import BinStats
from believable.stats.cells import CellStats
from believable.stats.counts import as_checked
from believable.stats.layout import Layout
from believable.stats.points import PointStats, joined
from believable.stats.readable import BinsAsked, Readable
from believable.stats.saved import field_of, open_saved
from believable.stats.statistic import Statistic
from believable.stats.sums import ScoreSums

SUMMARY_SCHEMA = "believable.Summary"
MAX_SUBGROUP_LEVELS = 50  # columns with more values are cut into ranges, or refused
SAME_SUM = 1e-6  # relative difference, far larger than rounding errors and far smaller than damage


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Summary(Readable, Statistic):
    """Sums over rows, cells of each notion, and the same for every subgroup: all that an audit needs.

    Summaries of parts add up to the summary of the whole, so files, partitions and streams of any length reduce to one
    summary. Its size does not grow with the rows.

    Attributes
    ----------
    sums : ScoreSums
        Sums over rows.
    cells : tuple of CellStats
        One for each view and grid of the layout; the first is the main view.
    by : dict of str to dict of str to Summary
        For each column and each subgroup in it, the summary of its rows (main view only).
    classes : tuple of str or None
        Names of the classes, if they were given.
    dropped : dict of str to int
        Number of rows that were left out, by reason.

    Examples
    --------
    >>> monday = Summary.of(Predictions([0.1, 0.8], [0, 1]))
    >>> tuesday = Summary.of(Predictions([0.15, 0.4], [1, 0]))
    >>> monday + tuesday
    Summary(n=4, kind='binary', cells of binary, binary (logit))
    """

    gives: ClassVar[frozenset[Needs]] = frozenset({"sums", "bins", "cells"})
    sums: ScoreSums
    cells: tuple[CellStats, ...]
    by: Mapping[str, Mapping[str, Summary]] = field(default_factory=dict)
    classes: tuple[str, ...] | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, predictions: Predictions, layout: Layout | None = None, *, by: Mapping[str, Array] | None = None
    ) -> Summary:
        """Summarize checked predictions.

        Parameters
        ----------
        predictions : Predictions
            The checked predictions.
        layout : Layout, optional
            What to count; by default `Layout.of` for such predictions.
        by : mapping of str to array-like, optional
            Columns of subgroups, with one entry for each row of the predictions; None and NaN make the subgroup
            "missing".
        """
        kind, n_classes, dtype = as_checked(predictions).kind, predictions.n_classes, predictions.score_type
        layout = Layout.of(kind, n_classes, dtype) if layout is None else layout
        if not isinstance(layout, Layout):
            raise InputError(
                "{argument} must be a Layout, made with Layout.of, got {got}",
                argument="layout",
                got=type(layout).__name__,
            )
        if (layout.kind, layout.n_classes, layout.dtype) != (kind, n_classes, dtype.name):
            raise InputError(f"{predictions!r} of {dtype} scores does not fit the layout, made for {_words(layout)}")
        sums, cells = _counted(predictions, layout)
        within = layout.for_subgroups()
        return cls(
            sums=sums,
            cells=cells,
            by={str(name): _by_level(predictions, within, name, levels) for name, levels in _columns(by)},
            classes=None if predictions.classes is None else tuple(map(str, predictions.classes)),
            dropped={"ignored label": predictions.n_ignored} if predictions.n_ignored else {},
        )

    # --- reading ---

    @property
    def kind(self) -> Kind:
        """Kind of the predictions."""
        return self.sums.kind

    @property
    def problem(self) -> Kind:
        """Kind of the predictions; every notion that was counted can be requested."""
        return self.sums.kind

    @property
    def is_binary(self) -> bool:
        """Whether the scores are P(y = 1)."""
        return self.sums.kind == "binary"

    @property
    def are_pairs(self) -> bool:
        """Whether (confidence, correct) pairs were counted, see `Predictions(pairs=True)`."""
        return self.sums.are_pairs

    def as_pairs(self) -> Summary:
        """Return the summary of the same rows as (confidence, correct) pairs; raise unless the scores are 1-D.

        For files and tables of confidences, whose reader cannot know what the scores are.

        Examples
        --------
        >>> from believable import accuracy
        >>> summary = Summary.of(Predictions([0.2, 0.3, 0.9], [0, 0, 1]))
        >>> accuracy(summary), accuracy(summary.as_pairs())
        (1.0, 0.333...)
        """
        if self.are_pairs:
            return self
        return replace(
            self,
            sums=self.sums.as_pairs(),
            cells=tuple(replace(one, view=one.view.as_pairs()) for one in self.cells),
            by={name: {level: one.as_pairs() for level, one in levels.items()} for name, levels in self.by.items()},
        )

    @property
    def n_classes(self) -> int:
        """Number of classes of the predictions."""
        return self.sums.n_classes

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sums.n_rows

    @property
    def counted_rows(self) -> int:
        """Number of rows."""
        return self.n

    @property
    def effective_n(self) -> float:
        """Effective number of rows."""
        return self.n * self.sums.w**2 / (self.sums.w2 * self.sums.n)

    @property
    def weighted(self) -> bool:
        """Whether rows had weights other than 1."""
        cells = self.cells[0]
        return not (np.array_equal(cells.w, cells.n) and np.array_equal(cells.w2, cells.n))

    @property
    def layout(self) -> Layout:
        """Layout of the views that were counted."""
        views = tuple((replace(one.view, are_pairs=False), one.grid) for one in self.cells)  # which count the same
        return Layout(self.kind, self.n_classes, views)

    @property
    def default_notion(self) -> Notion:
        """Notion of the main view."""
        return self.cells[0].view.notion

    def class_name(self, k: int) -> str:
        """Return the name of class k."""
        return str(k) if self.classes is None else self.classes[k]

    def cells_of(
        self, notion: Notion | None = None, *, r: int | None = None, spacing: Spacing = "uniform"
    ) -> CellStats:
        """Return the cells of a notion (by default, of the main view), on the grid requested if it was counted."""
        notion = self.default_notion if notion is None else notion
        found = [
            one
            for one in self.cells
            if (one.view.notion, one.view.r) == (notion, r) and one.view.threshold is None and not one.view.pooled
        ]
        if not found:
            counted = ", ".join(dict.fromkeys(one.view.notion for one in self.cells))
            raise UndefinedError(
                f"the summary counted {counted}, not {notion}{'' if r is None else f' with r={r}'}: count again with "
                "this notion"
            )
        return next((one for one in found if one.grid.spacing == spacing), found[0])

    def cells_in(
        self, notion: Notion | None = None, r: int | None = None, *, spacing: Spacing = "uniform"
    ) -> CellStats:
        """Return `cells_of`, after checking that the notion fits such predictions."""
        if notion is not None:
            _check.choice(notion, get_args(Notion), "notion")
            _check.notion_fits(notion, self.kind, self.n_classes)
        return self.cells_of(notion, r=r, spacing=spacing)

    @property
    def score_type(self) -> np.dtype[Any]:
        """Data type of the scores."""
        return self.cells[0].score_type

    def read_cells(self, notion: Notion | None) -> CellStats:
        """Return the cells of a notion (by default, of the main view), on the uniform grid if it was counted."""
        return self.cells_of(notion)

    def read_sums(self) -> ScoreSums:
        """Return the sums over rows."""
        return self.sums

    def read_bins(self, asked: BinsAsked) -> BinStats:
        """Return bins of whole cells; those of equal weight come from the grid that separates more pairs."""
        notion, r = asked.notion, asked.r
        cells = self.cells_in(notion, r)
        if asked.strategy == "quantile" and asked.edges is None and asked.threshold is None:
            grids = (cells, self.cells_in(notion, r, spacing="logit"))
            cells = min(grids, key=lambda one: float(np.sum(one.w**2)))
        return cells.read_bins(asked)

    def read_points(self, notion: Notion | None, r: int | None, logits: bool) -> PointStats:
        """Return points from both grids, each where its cells are narrower; from one, if only one was counted."""
        uniform, logit = self.cells_in(notion, r), self.cells_in(notion, r, spacing="logit")
        if uniform.grid.spacing == logit.grid.spacing:
            return uniform.read_points(None, None, logits)
        present = np.unique(uniform.stratum).tolist()
        strata = tuple(joined(uniform.only_stratum(g), logit.only_stratum(g)) for g in present)
        return PointStats(uniform.view, strata, tuple(present))

    def __repr__(self) -> str:
        views = [f"{one.view.notion}{' (logit)' if one.grid.spacing == 'logit' else ''}" for one in self.cells]
        by = (", pairs" if self.are_pairs else "") + (f", by {', '.join(self.by)}" if self.by else "")
        return f"Summary(n={self.n:,}, kind={self.kind!r}, cells of {', '.join(views)}{by})"

    # --- adding ---

    def __add__(self, other: Self) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        if len(self.cells) != len(other.cells):
            raise MergeError(f"cannot merge statistics: {self!r} and {other!r} count different notions")
        if self.classes != other.classes:
            raise MergeError(f"cannot merge statistics: their classes differ, {self.classes} and {other.classes}")
        if set(self.by) != set(other.by):
            raise MergeError(f"cannot merge statistics: their subgroups differ, {list(self.by)} and {list(other.by)}")
        return Summary(
            sums=self.sums + other.sums,
            cells=tuple(mine + others for mine, others in zip(self.cells, other.cells, strict=True)),
            by={name: _merged(levels, other.by[name]) for name, levels in self.by.items()},
            classes=self.classes,
            dropped=_merged(self.dropped, other.dropped),
        )

    # --- saving ---

    def _form(self) -> dict[str, Any]:
        return {
            "schema": SUMMARY_SCHEMA,
            "version": 1,
            "sums": self.sums._form(),
            "cells": [one._form() for one in self.cells],
            "by": {name: {level: one._form() for level, one in levels.items()} for name, levels in self.by.items()},
            "classes": None if self.classes is None else list(self.classes),
            "dropped": dict(self.dropped),
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Summary:
        """Restore a summary from `to_dict`; a damaged or foreign dictionary raises an error."""
        open_saved(saved, SUMMARY_SCHEMA, 1)
        by = {str(name): field_of({name: levels}, name, dict) for name, levels in field_of(saved, "by", dict).items()}
        sums = ScoreSums.from_dict(field_of(saved, "sums", dict))
        cells = tuple(CellStats.from_dict(one) for one in field_of(saved, "cells", list))
        return cls.checked(
            sums,
            cells,
            {name: {str(level): _of_a_level(s, name) for level, s in levels.items()} for name, levels in by.items()},
            None if saved.get("classes") is None else tuple(field_of(saved, "classes", list)),
            field_of(saved, "dropped", dict),
        )

    @classmethod
    def checked(
        cls,
        sums: ScoreSums,
        cells: tuple[CellStats, ...],
        by: Mapping[str, Mapping[str, Summary]],
        classes: tuple[Any, ...] | None,
        dropped: Mapping[str, Any],
    ) -> Summary:
        """Return a summary of parts from elsewhere; raise an error if they do not belong together."""
        if not cells:
            raise SchemaError("the saved summary has no cells")
        try:
            made = cls(sums=sums, cells=cells, by=by, classes=classes, dropped=dropped)
            made.layout  # noqa: B018 - access checks that sums and cells belong together
        except InputError as error:
            raise SchemaError(f"the saved cells do not belong to the sums: {error}") from error
        for one in cells:
            pairs = _pairs(one.view, made.n)
            if pairs is not None and int(one.n.sum()) != pairs:
                raise SchemaError(
                    f"the saved cells of {one.view.notion} count {int(one.n.sum()):,} pairs, the {made.n:,} rows of "
                    f"the sums have {pairs:,}"
                )
            if pairs is not None and not _same_weight(one, sums, pairs):
                raise SchemaError(f"the saved cells of {one.view.notion} and the sums hold different weights")
        parts = [one for levels in by.values() for one in levels.values()]
        if any(one.view.are_pairs != sums.are_pairs for one in cells) or any(
            one.are_pairs != sums.are_pairs for one in parts
        ):
            raise SchemaError("the saved sums, cells and subgroups do not agree on whether they count pairs")
        for name, levels in by.items():
            if any((one.kind, one.n_classes) != (sums.kind, sums.n_classes) or one.by for one in levels.values()):
                raise SchemaError(f"the saved subgroups of {name} do not belong to {sums.kind} sums")
            if sum(one.n for one in levels.values()) > made.n:
                raise SchemaError(f"the saved subgroups of {name} count more rows than there are, {made.n:,}")
        if classes is not None and (len(classes) != sums.n_classes or not all(isinstance(c, str) for c in classes)):
            raise SchemaError(f"the saved classes must be {sums.n_classes} names")
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in dropped.values()):
            raise SchemaError("the saved counts of dropped rows must be whole numbers")
        return replace(made, dropped={str(reason): n for reason, n in dropped.items()})


def _counted(predictions: Predictions, layout: Layout) -> tuple[ScoreSums, tuple[CellStats, ...]]:
    views = layout.views
    if one_pass.fits(predictions, views):
        sums, columns = one_pass.sums_and_cells(predictions, tuple(grid for _, grid in views))
        kept = (predictions.check_view(view) for view, _ in views)
        cells = (
            CellStats(view=view, grid=grid, **one) for view, (_, grid), one in zip(kept, views, columns, strict=True)
        )
        return sums, tuple(cells)
    cells = (CellStats.of(predictions, view, cells=grid.n_cells, spacing=grid.spacing) for view, grid in views)
    return ScoreSums.of(predictions), tuple(cells)


def _words(layout: Layout) -> str:
    return f"{layout.kind} predictions of {layout.n_classes} classes with {layout.dtype} scores"


def _pairs(view: View, rows: int) -> int | None:
    """Return the number of pairs of the rows; None if a view leaves some out."""
    if view.threshold is not None or view.stratum is not None:
        return None
    return rows * view.pairs_per_row


def _same_weight(cells: CellStats, sums: ScoreSums, pairs: int) -> bool:
    """Return whether both seem to be sums over the same rows, judged by weights, scores and outcomes."""
    per = pairs / sums.n
    found = [(float(cells.w.sum()), sums.w * per), (float(cells.w2.sum()), sums.w2 * per)]
    if cells.view.notion in ("binary", "classwise"):
        found += [(float(cells.wp.sum()), float(sums.wp.sum())), (float(cells.wy.sum()), float(sums.wy.sum()))]
    return all(abs(a - b) <= SAME_SUM * max(a, b) for a, b in found)


def _of_a_level(saved: Any, name: str) -> Summary:
    """Return the summary of a subgroup; it must not have subgroups itself, which bounds the recursion."""
    if isinstance(saved, dict) and saved.get("by"):
        raise SchemaError(f"the saved subgroups of {name} have subgroups of their own")
    return Summary.from_dict(saved)


def _columns(by: Any) -> Any:
    if by is not None and not isinstance(by, Mapping):
        raise InputError(
            f"by must be a mapping of names to columns, such as {{'site': sites}}, got {type(by).__name__}"
        )
    return (by or {}).items()


def _merged(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    return {name: a[name] + b[name] if name in a and name in b else a.get(name, b.get(name)) for name in {**a, **b}}


def _by_level(predictions: Predictions, layout: Layout, name: str, levels: Array) -> dict[str, Summary]:
    column = as_levels(levels, f"by[{name!r}]")
    if column.shape != (len(predictions),):
        raise InputError(f"by[{name!r}] has shape {column.shape}, the predictions have {len(predictions)} rows")
    found, level_of = np.unique(column, return_inverse=True)
    order = np.argsort(level_of, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(level_of, minlength=len(found)), dtype=np.intp)[:-1])
    return {str(level): Summary.of(predictions.take(here), layout) for level, here in zip(found, rows, strict=True)}
