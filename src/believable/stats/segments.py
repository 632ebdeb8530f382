"""`SegmentStats`: sums by combination of levels of several columns, and by cell of the score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from believable._check import positive_integer
from believable._types import Array, Float64s, Int64s, Ints
from believable.binning import Grid
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.predictions import Predictions, View
from believable.stats.cells import CellStats
from believable.stats.counts import as_checked, check_scores, load_view
from believable.stats.levels import (
    MAX_LEVELS,
    N_RANGES,
    LevelColumn,
    Levels,
    check_length,
    level_columns,
    named_columns,
    ranges,
)
from believable.stats.saved import field_of, float_list, integer_list, open_saved
from believable.stats.statistic import Statistic, schema_of
from believable.stats.summary import Summary
from believable.stats.values import MISSING, ROWS_AT_ONCE

SEGMENT_CELLS = 320  # a quarter of a unit of the logit: within a cell, a calibration curve is close to a line
SUMS = ("ny", "w", "wp", "wy", "w2")
SAME_WITHOUT_WEIGHTS = {"wy": "ny", "w2": "w"}
MOST_LEVELS = np.iinfo(np.int16).max  # of one column
MOST_KEYS = 1 << 50  # times the number of cells, this fits into 64 bits
ONE_SCORE_PER_ROW = ("binary", "confidence")


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class SegmentStats(Statistic):
    """Sums by combination of levels of several columns, and by cell of the score: all that segments need.

    There is one entry for each combination of levels and each cell that occurs. Statistics of parts add up to that of
    the whole, if their columns were cut into the same levels: pass `like=` for all parts but the first.

    Attributes
    ----------
    columns : tuple of Levels
        The columns, with their levels.
    view : View
        What was counted: P(y = 1) and the outcome or, for a matrix, the largest score and whether its class occurred.
    grid : Grid
        The cells of the score.
    codes : ndarray of shape (columns, entries)
        The number of the level in each column.
    cell : ndarray of int64
        The cell.
    n : ndarray of int64
        Number of rows.
    ny, w, wp, wy, w2 : ndarray
        Sums of the outcomes without weights, and of w, w p, w y and w^2.
    notes : tuple of str
        A sentence about each column that was cut, combined or left out.

    Examples
    --------
    >>> import numpy as np
    >>> stats = SegmentStats.of(Predictions([0.1, 0.2, 0.7, 0.8], [0, 1, 1, 1]), {"site": ["a", "b", "a", "b"]})
    >>> stats
    SegmentStats(n=4, by site, 4 entries)
    >>> stats.levels_of("site")
    ('a', 'b')
    """

    columns: tuple[Levels, ...]
    view: View
    grid: Grid
    codes: Ints
    cell: Int64s
    n: Int64s
    ny: Float64s
    w: Float64s
    wp: Float64s
    wy: Float64s
    w2: Float64s
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.codes, self.cell, self.n, self.ny, self.w, self.wp, self.wy, self.w2):
            array.setflags(write=False)  # a statistic may be shared, so it must not change

    # --- counting ---

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        by: Any,
        *,
        like: SegmentStats | None = None,
        cells: int = SEGMENT_CELLS,
        max_levels: int = MAX_LEVELS,
        n_ranges: int = N_RANGES,
        notes: Sequence[str] = (),
    ) -> SegmentStats:
        """Count checked predictions.

        Parameters
        ----------
        predictions : Predictions
            Scores of one event, or a matrix, of which the predicted class counts.
        by : data frame, mapping of names to columns, or one column
            The columns of segments. Numbers with more than 12 distinct values are cut into ranges; None and NaN are
            the level "missing". Columns without segments are left out, and `notes` says why.
        like : SegmentStats, optional
            Use its columns, levels and cells, so that the two can be added.
        cells : int
            Number of logit-spaced cells.
        max_levels, n_ranges : int
            The most levels of a column (the rarest are combined), and the number of ranges of a quantity.
        notes : sequence of str
            Sentences to begin the notes with.
        """
        view = _one_score_per_row(as_checked(predictions).check_view(None))
        found: tuple[LevelColumn, ...]
        if like is not None:
            if not isinstance(like, SegmentStats):
                raise InputError(
                    "{argument} must be a SegmentStats, got {got}", argument="like", got=type(like).__name__
                )
            found, said = _columns_like(by, like.columns, predictions), like.notes
            grid = replace(like.grid, dtype=predictions.score_type.name)
        else:
            choices = {
                "max_levels": positive_integer(max_levels, "max_levels", 2, MOST_LEVELS),
                "n_ranges": positive_integer(n_ranges, "n_ranges", 2, MOST_LEVELS),
            }
            weighted = predictions.weights is not None
            found, said = level_columns(
                by, len(predictions), _outcomes(predictions, view), weighted=weighted, **choices
            )
            grid = Grid(cells, "logit", predictions.score_type.name)
        if not found:
            raise UndefinedError(f"there are no segments: {'; '.join(said) or 'no columns were given'}")
        counted = added_up(_counted(predictions, view, found, grid))
        return replace(counted, notes=(*notes, *said))

    @classmethod
    def from_columns(
        cls, columns: Sequence[Levels], view: View, grid: Grid, sums: Mapping[str, Array], notes: Sequence[str] = ()
    ) -> SegmentStats:
        """Build a statistic from sums computed elsewhere: codes, cell, n and the sums; equal entries are added."""
        gathered = _gathered(columns, grid, [dict(sums)])
        return cls(columns=tuple(columns), view=view, grid=grid, notes=tuple(notes), **gathered)

    @classmethod
    def of_summary(cls, summary: Summary, column: str) -> SegmentStats:
        """Return the statistic of a subgroup column of a summary; each of its cells goes where its mean score is."""
        view = _one_score_per_row(summary.cells_of().view)
        levels, grid = summary.by[column], Grid(SEGMENT_CELLS, "logit", summary.score_type.name)
        parts: list[dict[str, Array]] = []
        for i, one in enumerate(levels.values()):
            cells = one.cells_of(spacing="logit")
            codes = np.full((1, len(cells.n)), i, np.int16)
            parts.append({"codes": codes, "cell": _placed(cells, grid), "n": cells.n})
            parts[-1] |= {name: getattr(cells, name) for name in SUMS}
        columns = (Levels(column, tuple(levels)),)
        return cls(columns=columns, view=view, grid=grid, **_gathered(columns, grid, parts))

    # --- reading ---

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(one.column for one in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each column."""
        return tuple(len(one.names) for one in self.columns)

    def levels_of(self, column: str) -> tuple[str, ...]:
        """Return the levels of a column."""
        return self.columns[self.names.index(column)].names

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.n.sum())

    @property
    def conf(self) -> Float64s:
        """Mean score of each entry."""
        return np.minimum(self.wp / self.w, 1.0)  # a sum of weights is rounded

    @property
    def weighted(self) -> bool:
        """Whether rows had weights other than 1."""
        return not (np.array_equal(self.w, self.n) and np.array_equal(self.w2, self.n))

    def only(self, columns: str | Iterable[str]) -> SegmentStats:
        """Return the statistic by one or some of the columns, in the order given."""
        if not isinstance(columns, Iterable):
            raise InputError(
                "{argument} must be names of columns that the statistic counted by, got {got!r}",
                argument="by",
                got=columns,
            )
        names = dict.fromkeys([columns] if isinstance(columns, str) else map(str, columns))
        missing = [name for name in names if name not in self.names]
        if missing or not names:
            raise InputError(
                "{argument} names {got}, but the statistic counted by {counted}",
                argument="by",
                got=repr(missing[0]) if missing else "no columns",
                counted=", ".join(self.names),
            )
        kept = [self.names.index(name) for name in names]
        sums = self._sums() | {"codes": self.codes[kept]}
        return SegmentStats.from_columns([self.columns[i] for i in kept], self.view, self.grid, sums, self.notes)

    def cells_of(self, where: Mapping[str, str] | None = None, grid: Grid | None = None) -> CellStats:
        """Return the counts of the rows with given levels, or of all rows; the rows of an entry have its mean score.

        Parameters
        ----------
        where : mapping of str to str, optional
            The level of some of the columns.
        grid : Grid, optional
            The cells to place them in; by default, those that were counted.
        """
        inside = np.ones(len(self.n), bool)
        for column, level in (where or {}).items():
            levels = self.levels_of(column)
            inside &= self.codes[self.names.index(column)] == (levels.index(level) if level in levels else -1)
        p, w, wy, w2 = self.conf[inside], self.w[inside], self.wy[inside], self.w2[inside]
        rate = wy / w
        sums = {
            **{name: getattr(self, name)[inside] for name in ("n", "ny", "w", "wp", "wy", "w2")},
            **{
                "wpp": w * p * p,
                "wpy": wy * p,
                "w2p": w2 * p,
                "w2pp": w2 * p * p,
                "w2y": w2 * rate,
                "w2py": w2 * rate * p,
            },
        }
        cell = self.cell[inside] if grid is None else grid.assign(p)
        cells, place = np.unique(cell, return_inverse=True)
        columns = {name: np.bincount(place, values) for name, values in sums.items()}
        columns["n"] = np.rint(columns["n"]).astype(np.int64)
        return CellStats.from_columns(self.view, self.grid if grid is None else grid, {"key": cells, **columns})

    def regrid(self, cells: int) -> SegmentStats:
        """Return the same sums on a coarser grid, whose cells are unions of cells of this grid."""
        times, rest = divmod(self.grid.n_cells, cells)
        if rest:
            raise InputError(f"{cells} cells are not made of whole cells of {self.grid}; choose a divisor of those")
        inner = -(-self.cell // times)
        sums = self._sums() | {"cell": np.where(self.cell > self.grid.n_cells, cells + 1, inner)}
        grid = replace(self.grid, n_cells=cells)
        return SegmentStats.from_columns(self.columns, self.view, grid, sums, self.notes)

    def __repr__(self) -> str:
        return f"SegmentStats(n={self.rows:,}, by {', '.join(self.names)}, {len(self.n):,} entries)"

    def _sums(self) -> dict[str, Array]:
        return {name: getattr(self, name) for name in ("codes", "cell", "n", *SUMS)}

    # --- adding ---

    def __add__(self, other: Self) -> SegmentStats:
        if not isinstance(other, SegmentStats):
            return NotImplemented
        if self.names != other.names:
            raise MergeError(f"cannot merge statistics: their columns differ, {self.names} and {other.names}")
        if self.view != other.view:
            raise MergeError(f"cannot merge statistics: they count different things, {self.view} and {other.view}")
        if self.grid != other.grid:
            raise MergeError(f"cannot merge statistics: their grids differ, {self.grid} and {other.grid}")
        for mine, others in zip(self.columns, other.columns, strict=True):
            if not mine.same_rule(others):
                raise MergeError(
                    f"cannot merge statistics: column {mine.column} was cut or combined in different ways; count all "
                    "parts but the first with like=first"
                )
        columns = tuple(_united(mine, others) for mine, others in zip(self.columns, other.columns, strict=True))
        parts = [_recoded(one, columns) for one in (self, other)]
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return replace(self, columns=columns, notes=notes, **_gathered(columns, self.grid, parts))

    # --- saving ---

    def _form(self) -> dict[str, Any]:
        return {
            "schema": schema_of(SegmentStats),
            "version": 1,
            "view": self.view.to_dict(),
            "cells": self.grid.n_cells,
            "dtype": self.grid.dtype,
            "columns": [
                {
                    "column": one.column,
                    "names": list(one.names),
                    "cuts": None if one.cuts is None else list(one.cuts),
                    "combines": one.combines,
                }
                for one in self.columns
            ],
            "codes": [codes.astype(np.int64) for codes in self.codes],
            "cell": self.cell,
            "n": self.n,
            **{name: getattr(self, name) for name in SUMS},
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> SegmentStats:
        """Restore a statistic from `to_dict`; a damaged or foreign dictionary raises an error."""
        open_saved(saved, schema_of(SegmentStats), 1)
        try:
            grid = Grid(field_of(saved, "cells", int), "logit", field_of(saved, "dtype", str))
        except InputError as error:
            raise SchemaError(f"the saved grid is damaged: {error}") from error
        view = load_view(saved)
        if view.notion not in ONE_SCORE_PER_ROW:
            raise SchemaError(f"the saved view must have one score per row, got {view.notion!r}")
        columns = tuple(_levels_from(one) for one in field_of(saved, "columns", list))
        if not columns or len({one.column for one in columns}) < len(columns):
            raise SchemaError("the saved columns must have distinct names, and there must be at least one")
        codes = [integer_list({"codes": one}, "codes") for one in field_of(saved, "codes", list)]
        cell, n = integer_list(saved, "cell"), integer_list(saved, "n")
        sums = {name: float_list(saved, name) for name in SUMS}
        notes = field_of(saved, "notes", list)
        if len({len(column) for column in (*codes, cell, n, *sums.values())}) > 1 or len(codes) != len(columns):
            raise SchemaError("the saved columns do not have the same length")
        limits = (*(len(one.names) for one in columns), len(grid))
        for one, size in zip((*codes, cell), limits, strict=True):
            if len(one) and not 0 <= one.min() <= one.max() < size:
                raise SchemaError("the saved codes go beyond the levels or cells")
        if not len(n) or (n < 1).any() or any((sums[name] <= 0).any() for name in ("w", "w2")):
            raise SchemaError("the saved entries must have rows of positive weight")
        for part, whole in (("ny", n), ("wp", sums["w"]), ("wy", sums["w"])):
            if (sums[part] < 0).any() or (sums[part] > whole * (1 + 1e-9)).any():
                raise SchemaError(f"the saved {part} lies outside its range")
        # Of n weights with the sum w, the sum of squares is at most w^2, and the smallest if all are equal.
        roots, w = np.sqrt(sums["w2"]), sums["w"]
        if (roots > w * (1 + 1e-9)).any() or (roots * np.sqrt(n) < w * (1 - 1e-9)).any():
            raise SchemaError("the saved w2 lies outside its range")
        check_scores({"key": cell, **sums}, grid.lower_edges()[cell], grid.upper_edges()[cell])
        made: dict[str, Array] = {"codes": np.array(codes), "cell": cell, "n": n, **sums}
        return cls.from_columns(columns, view, grid, made, tuple(map(str, notes)))


def _levels_from(saved: Any) -> Levels:
    if not isinstance(saved, dict):
        raise SchemaError(f"a saved column must be a dict, got {saved!r}")
    names = field_of(saved, "names", list)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names) or not names:
        raise SchemaError("the saved levels must be distinct names")
    cuts = None if saved.get("cuts") is None else tuple(float_list(saved, "cuts").tolist())
    if cuts is not None and (not cuts or sorted(set(cuts)) != list(cuts)):
        raise SchemaError("the saved cuts must be in ascending order")
    if cuts is not None and [name for name in names if name != MISSING] != ranges(np.array(cuts)):
        raise SchemaError("the saved levels must be the ranges between the cuts")
    return Levels(field_of(saved, "column", str), tuple(names), cuts, bool(saved.get("combines")))


# --- counting ---------------------------------------------------------------------------------------------------------


def _one_score_per_row(view: View) -> View:
    if view.notion not in ONE_SCORE_PER_ROW:
        raise UndefinedError("segments need one score per row: pass one of the independent columns at a time")
    return view


def _placed(cells: CellStats, grid: Grid) -> Int64s:
    """Return the cell of a grid that has the mean score of each cell of a statistic; those of 0 and 1 stay alone."""
    place = np.searchsorted(grid.lower_bounds().astype(np.float64), cells.conf)
    inner = np.clip(place, 1, grid.n_cells)  # a mean may be rounded to 0 or 1
    ends = np.where(cells.index == 0, 0, grid.n_cells + 1)
    return np.where((cells.index > 0) & (cells.index <= cells.grid.n_cells), inner, ends)


def _outcomes(predictions: Predictions, view: View) -> Array:
    return np.concatenate([np.asarray(pairs.outcome, np.float64) for pairs in predictions.pairs(view)])


def _columns_like(by: Any, columns: Sequence[Levels], predictions: Predictions) -> tuple[LevelColumn, ...]:
    """Return columns by the levels of another statistic; levels that it did not see are added."""
    given, found = named_columns(by), []
    for one in columns:
        if one.column not in given:
            raise InputError("{argument} lacks column {got!r}", argument="by", got=one.column)
        column = one.extended(given[one.column])
        check_length(column.codes, one.column, len(predictions), predictions.weights is not None)
        found.append(column)
    return tuple(found)


def _counted(predictions: Predictions, view: View, found: Sequence[LevelColumn], grid: Grid) -> Iterator[SegmentStats]:
    """Count block by block, so that no more than a block is held beside the statistic."""
    columns = tuple(one.levels for one in found)
    begin = 0
    for pairs in predictions.pairs(view, at_least=ROWS_AT_ONCE):
        for start in range(0, len(pairs.score), ROWS_AT_ONCE):
            here = slice(start, start + ROWS_AT_ONCE)
            p, y = pairs.score[here], np.asarray(pairs.outcome[here], np.float64)
            w = np.ones(len(p)) if pairs.weight is None else np.asarray(pairs.weight[here], np.float64)
            rows = slice(begin, begin + len(p))
            part: dict[str, Array] = {"codes": np.stack([one.codes[rows] for one in found]), "cell": grid.assign(p)}
            part |= {"n": np.ones(len(p), np.int64), "ny": y, "w": w, "wp": w * p}
            part |= {"wy": y, "w2": w} if pairs.weight is None else {"wy": w * y, "w2": w * w}
            yield SegmentStats.from_columns(columns, view, grid, part)
            begin += len(p)


def added_up(parts: Iterable[SegmentStats]) -> SegmentStats:
    """Return the sum of parts, each added to others of about its length: no entry is copied often, and few are held."""
    waiting: list[SegmentStats] = []
    for part in parts:
        waiting.append(part)
        while len(waiting) > 1 and len(waiting[-2].n) < 2 * len(waiting[-1].n):
            waiting[-2:] = [waiting[-2] + waiting[-1]]
    while len(waiting) > 1:
        waiting[-2:] = [waiting[-2] + waiting[-1]]
    return waiting[0]


def _gathered(columns: Sequence[Levels], grid: Grid, parts: Sequence[Mapping[str, Array]]) -> dict[str, Any]:
    """Return the entries of all parts; those with the same levels and cell are added."""
    if any(len(one.names) > MOST_LEVELS for one in columns):
        most = max(columns, key=lambda one: len(one.names))
        raise UndefinedError(
            f"column {most.column} has {len(most.names):,} levels: segments need at most {MOST_LEVELS:,}"
        )
    codes, cell = (np.concatenate([part[name] for part in parts], axis=-1) for name in ("codes", "cell"))
    key = mixed(codes, [len(one.names) for one in columns]) * len(grid) + cell
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    del key, ordered

    def added(name: str) -> Array:
        return np.asarray(np.add.reduceat(np.concatenate([part[name] for part in parts])[order], starts))

    first = order[starts]
    made: dict[str, Any] = {"codes": codes[:, first].astype(np.int16), "cell": cell[first].astype(np.int64)}
    made["n"] = added("n").astype(np.int64, copy=False)
    unweighted = all(part["w2"] is part["w"] for part in parts)
    for name in SUMS:
        same = SAME_WITHOUT_WEIGHTS.get(name)
        if same is not None and all(part[name] is part[same] for part in parts):
            made[name] = made[same]
        else:
            made[name] = (made["n"] if name == "w" and unweighted else added(name)).astype(np.float64, copy=False)
    return made


def mixed(codes: Ints, sizes: Sequence[int]) -> Int64s:
    """Return one number per entry, equal for entries with the same levels in all columns."""
    key, span = np.zeros(codes.shape[-1], np.int64), 1
    for code, size in zip(codes, sizes, strict=True):
        if span * size > MOST_KEYS:
            key = np.unique(key, return_inverse=True)[1]
            span = int(key.max()) + 1
        key, span = key * size + code, span * size
    return key


def _united(mine: Levels, others: Levels) -> Levels:
    return replace(mine, names=tuple(dict.fromkeys((*mine.names, *others.names))))


def _recoded(one: SegmentStats, columns: Sequence[Levels]) -> dict[str, Array]:
    """Return the entries of a statistic with the numbers that its levels have in other columns."""
    codes = one.codes
    if any(mine.names != united.names for mine, united in zip(one.columns, columns, strict=True)):
        codes = np.empty_like(one.codes)
        for i, (mine, united) in enumerate(zip(one.columns, columns, strict=True)):
            number_of = {name: j for j, name in enumerate(united.names[:MOST_LEVELS])}
            codes[i] = np.array([number_of.get(name, -1) for name in mine.names], np.int16)[one.codes[i]]
    return one._sums() | {"codes": codes}
