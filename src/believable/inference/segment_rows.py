"""Rows, or cells of a statistic, with the levels of their columns: the source of numbers about many segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np

from believable import _check
from believable._types import Array, Float64s, Floats, Int64s, Ints
from believable.errors import InputError, UndefinedError
from believable.inference.clusters import rows_that_count
from believable.predictions import Predictions, as_predictions
from believable.stats import SegmentStats
from believable.stats.levels import OTHERS, LevelColumn, Levels, level_columns, named_columns
from believable.stats.readable import refuse_extras
from believable.stats.segments import mixed

MOST_COLUMNS_COMBINED = 10
LEAST_SCORE_APART = 1 / 64  # events of scores below 1 / 32 are as good as Poisson, whatever the scores are
SPARSE_KEYS = 4  # with more possible combinations per entry, those that occur are found by sorting


@dataclass(frozen=True, slots=True, eq=False)
class SegmentRows:
    """Rows, or cells of a `SegmentStats`, in ascending order of score.

    Attributes
    ----------
    columns : tuple of Levels
        The columns, with their levels.
    codes : ndarray of shape (columns, entries)
        The number of the level in each column.
    score : ndarray
        The score of each row, or the mean score of each entry of a statistic.
    place : ndarray
        Number of the distinct score, or of the cell: ascending.
    n, w, wp, wy, w2 : ndarray
        Number of rows, and sums of w, w p, w y and w^2.
    notes : tuple of str
        A sentence about each column that was cut, combined or left out.
    from_cells : bool
        Whether the entries are cells of a statistic.
    """

    columns: tuple[Levels, ...]
    codes: Ints
    score: Floats
    place: Ints
    n: Int64s
    w: Float64s
    wp: Float64s
    wy: Float64s
    w2: Float64s
    notes: tuple[str, ...] = ()
    from_cells: bool = False

    @classmethod
    def of(
        cls, predictions: Any, actuals: Any = None, by: Any = None, sample_weight: Any = None, **choices: Any
    ) -> SegmentRows:
        """Read arrays, `Predictions` or a `SegmentStats`; `choices` are those of `level_columns`."""
        if isinstance(predictions, SegmentStats):
            refuse_extras("SegmentStats", actuals=actuals, sample_weight=sample_weight)
            return cls._of_cells(predictions if by is None else predictions.only(_names(by)))
        source = as_predictions(predictions, actuals, sample_weight)
        given = {
            name: rows_that_count(values, f"by {name!r}", predictions, source, sample_weight)
            for name, values in named_columns(by).items()
        }
        return cls._of_rows(source, given, choices)

    @classmethod
    def _of_rows(cls, source: Predictions, given: dict[str, Array], choices: dict[str, Any]) -> SegmentRows:
        view = source.view()
        if view.notion not in ("binary", "confidence"):
            raise UndefinedError("segments need one score per row: pass one of the independent columns at a time")
        score, outcome, weight, *_ = source.all_pairs(view)
        y = np.asarray(outcome, np.float64)
        found = level_columns(given, len(source), y, weighted=weight is not None, **choices)
        if given and not found.kept:
            raise UndefinedError(f"there are no segments: {'; '.join(found.notes)}")
        order = np.argsort(score, kind="stable")
        score, y = score[order], y[order]
        w = np.ones(len(y)) if weight is None else np.asarray(weight, np.float64)[order]
        rank = np.cumsum(np.concatenate([[0], score[1:] != score[:-1]]), dtype=np.int64)
        codes = np.stack([one.codes[order] for one in found.kept]) if found.kept else np.empty((0, len(y)), np.int64)
        p = score.astype(np.float64)
        sums = (np.ones(len(y), np.int64), w, w * p, w * y, w * w)
        return cls(tuple(one.levels for one in found.kept), codes, score, rank, *sums, found.notes)

    @classmethod
    def _of_cells(cls, stats: SegmentStats) -> SegmentRows:
        order = np.argsort(stats.cell, kind="stable")
        n, w, wp, wy, w2 = (getattr(stats, name)[order] for name in ("n", "w", "wp", "wy", "w2"))
        score = np.clip(wp / w, 0, 1).astype(stats.grid.dtype)  # rounding may push the mean score of a cell outside
        codes = stats.codes[:, order].astype(np.int64)
        return cls(stats.columns, codes, score, stats.cell[order], n, w, wp, wy, w2, stats.notes, from_cells=True)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.n.sum())

    @property
    def variance(self) -> Float64s:
        """Sum of w^2 p (1 - p) of each entry."""
        p = self.score.astype(np.float64)
        return np.asarray(self.w2 * p * (1 - p))

    @property
    def squares(self) -> Float64s:
        """Sum of w^2 (y - p)^2 of each entry; a soft label counts as a share of 1 and a share of 0."""
        p = self.score.astype(np.float64)
        return np.asarray(self.w2 / self.w * (self.wy * (1 - 2 * p) + self.w * p * p))

    def combined(self, max_levels: int) -> SegmentRows:
        """Return the same rows with the rarest levels of each column that was not cut into ranges combined."""
        made = [
            _combined(LevelColumn(levels, codes), self.n, max_levels)
            for levels, codes in zip(self.columns, self.codes, strict=True)
        ]
        notes = [
            f"column {one.levels.column}: the {max_levels - 1} levels with the most rows are kept, the others combined"
            for one, levels in zip(made, self.columns, strict=True)
            if one.levels is not levels
        ]
        codes = np.stack([one.codes for one in made]) if made else self.codes
        return replace(self, columns=tuple(one.levels for one in made), codes=codes, notes=(*self.notes, *notes))

    @property
    def alike(self) -> Ints:
        """Number of each entry's powers of two of the weight and of the score: classes of rows that are drawn together.

        For the sum of their outcomes, it hardly matters that rows within a factor of two of each other do not have the
        same weight and the same probability. Weights are taken relative to the largest, so that their scale does not
        matter.
        """
        p, weight = self.score.astype(np.float64), self.w2 / self.w
        of_score = np.frexp(np.maximum(np.minimum(p, 1 - p), LEAST_SCORE_APART))[1]
        of_weight = np.rint(np.log2(weight / weight.max()))
        powers = np.stack([of_weight, np.where(p < 0.5, of_score, -of_score)]).astype(np.int64)
        powers -= powers.min(axis=1, keepdims=True)
        return mixed(powers, (powers.max(axis=1) + 1).tolist())

    def ranges(self, count: int) -> Ints:
        """Return the range of each entry's score: at most `count`, of equally many rows; equal scores stay together."""
        last = np.append(self.place[1:] != self.place[:-1], True)
        until = np.cumsum(self.n)[last]
        return np.asarray(((until - 1) * count // until[-1])[np.cumsum(last, dtype=np.int64) - last])

    def parts(self, depth: int, smallest: int = 0) -> Iterator[Part]:
        """Yield the division of the rows by each choice of `smallest` to `depth` columns."""
        for size in range(smallest, min(depth, len(self.columns)) + 1):
            for chosen in combinations(range(len(self.columns)), size):
                yield self.part(chosen)

    def part(self, chosen: tuple[int, ...]) -> Part:
        codes = self.codes[list(chosen)]
        sizes = [len(self.columns[i].names) for i in chosen]
        key, span = mixed(codes, sizes), prod(sizes)
        if span <= SPARSE_KEYS * len(key) + 1:
            there = np.bincount(key, minlength=span) > 0
            key = (np.cumsum(there, dtype=np.int64) - 1)[key]
        else:
            key = np.unique(key, return_inverse=True)[1]
        first = np.empty(int(key.max()) + 1, np.int64)
        first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
        return Part(chosen, key, np.bincount(key, self.n).astype(np.int64), codes[:, first])

    def where(self, part: Part, number: int) -> dict[str, str]:
        """Return the level of each column that the rows of a segment share."""
        pairs = zip(part.chosen, part.levels[:, number].tolist(), strict=True)
        return {self.columns[column].column: self.columns[column].names[level] for column, level in pairs}


class Part(NamedTuple):
    """A division of the rows by the levels of some columns.

    Attributes
    ----------
    chosen : tuple of int
        The columns.
    key : ndarray
        The number of the segment of each entry.
    rows : ndarray
        Number of rows of each segment.
    levels : ndarray of shape (columns, segments)
        The number of the level in each column.
    """

    chosen: tuple[int, ...]
    key: Ints
    rows: Int64s
    levels: Ints


def _names(by: Any) -> list[str]:
    """Return the names of columns that a statistic counted."""
    names = [by] if isinstance(by, str) else list(by) if isinstance(by, Iterable) else [by]
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            "{argument} must be names of columns that the statistic counted, got {got!r}", argument="by", got=by
        )
    return names


def _combined(one: LevelColumn, rows: Int64s, max_levels: int) -> LevelColumn:
    names = one.levels.names
    if one.levels.cuts is not None or len(names) <= max_levels:
        return one
    count = np.bincount(one.codes, rows, len(names))
    kept = sorted(sorted(range(len(names)), key=lambda i: (-count[i], names[i]))[: max_levels - 1])
    number = np.full(len(names), len(kept), np.int64)
    number[kept] = np.arange(len(kept))
    levels = replace(one.levels, names=(*(names[i] for i in kept), _free_name(names)), combines=True)
    return LevelColumn(levels, number[one.codes])


def _free_name(names: tuple[str, ...]) -> str:
    """Return a name for the levels that are combined, other than those of levels."""
    return OTHERS if OTHERS not in names else f"{OTHERS} (combined)"


def drawn_events(n: Int64s, chance: Float64s, size: int, rng: np.random.Generator) -> Float64s:
    """Draw the number of events among the n rows of each entry, `size` times; single rows need no binomial numbers."""
    events = np.empty((size, len(n)))
    single, several = np.flatnonzero(n == 1), np.flatnonzero(n > 1)
    events[:, single] = rng.random((size, len(single))) < chance[single]
    events[:, several] = rng.binomial(n[several], chance[several], (size, len(several)))
    return events


def refuse_no_columns(table: SegmentRows) -> None:
    """Raise unless there is a column of segments."""
    if not table.columns:
        raise InputError("{argument} has no columns: pass at least one column of segments", argument="by")


def check_min_rows(min_rows: Any, rows: int, least: int = 1) -> int:
    """Return the fewest rows of a segment, checked."""
    fewest: int = _check.positive_integer(min_rows, "min_rows", least)
    if fewest > rows:
        raise InputError(
            "{argument} must be at most the number of rows, {rows:,}, got {got:,}",
            argument="min_rows",
            rows=rows,
            got=fewest,
        )
    return fewest


def in_words(where: dict[str, str]) -> str:
    """Return a segment in words, such as "site = north and age = up to 30"."""
    return " and ".join(f"{column} = {level}" for column, level in where.items()) or "all rows"
