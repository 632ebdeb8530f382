"""Choose the subgroups of columns in a table that is too large to hold, from rows spread over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._types import Float64s, Ints
from believable.predictions import Predictions
from believable.readers import cells
from believable.readers.levels import cut_at, refuse_names_of_rows
from believable.readers.passes.batches import spread_over
from believable.readers.passes.parts import Parts, readable
from believable.stats import Summary
from believable.stats.layout import Layout
from believable.stats.levels import MAX_NUMBERS_AS_LEVELS, OTHERS, is_identifier, quarters, ranges
from believable.stats.summary import MAX_SUBGROUP_LEVELS
from believable.stats.values import MISSING

if TYPE_CHECKING:
    import polars


ROWS_LOOKED_AT = 1_000_000
STRETCHES_LOOKED_AT = 64


@dataclass(frozen=True, slots=True)
class LevelRule:
    """A rule that assigns each value of a column to a subgroup.

    Attributes
    ----------
    names : tuple of str
        The names of the subgroups.
    kept : tuple
        The value of each subgroup in `names`; all other values form the subgroup "other values".
    cuts : tuple of float
        For ranges of numbers instead: the upper ends of all ranges in `names` but the last.
    """

    names: tuple[str, ...]
    kept: tuple[Any, ...] = ()
    cuts: tuple[float, ...] = ()

    def codes(self, column: polars.Series) -> Ints:
        """Return the number of each row's subgroup; after those in `names` come other values, then missing ones."""
        import polars

        n, others, missing = len(column), len(self.names), len(self.names) + 1
        if column.null_count() == n:  # such a column may have no type
            return np.full(n, missing)
        if self.cuts:
            numbers = column.cast(polars.Float64, strict=False)
            code = polars.Series(np.searchsorted(self.cuts, numbers.fill_null(0).to_numpy()), dtype=polars.Int16)
            code = code.zip_with(numbers.is_not_null(), _all(others, n))
        else:
            kept = polars.Series(list(self.kept), dtype=column.dtype)
            numbered = list(range(len(kept)))
            code = column.replace_strict(kept, numbered, default=others, return_dtype=polars.Int16)
        return code.zip_with(column.is_not_null(), _all(missing, n)).to_numpy()

    def split(self, column: polars.Series, predictions: Predictions, layout: Layout) -> dict[str, Summary]:
        """Return the summary of each subgroup that occurs."""
        code = self.codes(column)
        order = np.argsort(code, kind="stable")
        counts = np.bincount(code, minlength=len(self.names) + 2)
        rows = np.split(order, np.cumsum(counts, dtype=np.intp)[:-1])
        found: dict[str, Summary] = {}
        for name, here in zip((*self.names, OTHERS, MISSING), rows, strict=True):
            if len(here):
                level = Summary.of(predictions.take(here), layout)
                found[name] = found[name] + level if name in found else level  # a value may be the word "missing"
        return found


def _all(code: int, n: int) -> polars.Series:
    import polars

    return polars.repeat(code, n, dtype=polars.Int16, eager=True)


def tidy(column: polars.Series) -> polars.Series:
    """Return values as they are compared: text without surrounding spaces, integers of one type."""
    import polars

    column = cells.names(column)
    return column.cast(polars.Int64) if column.dtype.is_integer() and column.dtype != polars.UInt64 else column


def level_rules(parts: Parts, by: Sequence[str]) -> tuple[dict[str, LevelRule], list[str]]:
    """Return a rule for each column, and notes on what was decided.

    The rules are those of `as_subgroups`, for about a million rows spread evenly over all files (all rows of a smaller
    table): each of up to 12 numbers or 50 texts is a subgroup; more numbers are cut into quarters; of more texts, the
    50 with the most rows are kept. Values that do not occur in those rows are in "other values".
    """
    import polars

    if not by:
        return {}, []
    rules, notes = {}, []
    of_folders = _of_folders(parts)
    inside = [name for name in by if name not in of_folders]
    frame = spread_over(parts, inside, ROWS_LOOKED_AT, STRETCHES_LOOKED_AT) if inside else None
    where = "" if frame is None or frame.height == parts.rows else f" in {frame.height:,} rows spread over the files"
    for name in by:
        if frame is None or name not in inside:
            values = polars.Series(name, [part.folders.get(name) for part in parts.files], polars.String)
            weights = polars.Series("rows", [part.rows for part in parts.files], polars.Int64)
            said_where = ""
        else:
            values, said_where = tidy(frame[name]), where
            weights = polars.repeat(1, len(values), dtype=polars.Int64, eager=True).alias("rows")
        rules[name], said = _rule(name, values, weights, said_where)
        notes += said
    return rules, notes


def _of_folders(parts: Parts) -> set[str]:
    """Return the columns that come from the names of folders, for all files, and are in no file."""
    import polars

    named = set.intersection(*(set(part.folders) for part in parts.files))
    for part in parts.files if named else ():
        with readable(part.path):
            named -= set(polars.scan_parquet(part.path, glob=False, hive_partitioning=False).collect_schema())
    return named


def _rule(name: str, values: polars.Series, weights: polars.Series, where: str) -> tuple[LevelRule, list[str]]:
    import polars

    counted = (
        polars.DataFrame([values.alias("value"), weights])
        .drop_nulls("value")
        .group_by("value")
        .agg(polars.col("rows").sum())
        .sort("value")
        .sort("rows", descending=True, maintain_order=True)
    )
    distinct = counted["value"].to_list()
    numbers = (
        None if len(distinct) <= MAX_NUMBERS_AS_LEVELS or is_identifier(name) else _series_as_numbers(counted["value"])
    )
    if numbers is not None:
        cuts = quarters(numbers, counted["rows"].to_numpy())
        note = cut_at(name, cuts, f"{len(distinct):,} different numbers{where}")
        return LevelRule(tuple(ranges(cuts)), cuts=tuple(cuts.tolist())), [note]
    notes = []
    if len(distinct) > MAX_SUBGROUP_LEVELS:
        refuse_names_of_rows(name, len(distinct), int(weights.sum()))
        notes = [
            f"column {name} has {len(distinct):,} values{where}: the {MAX_SUBGROUP_LEVELS} with the most rows are "
            "shown, the others are combined"
        ]
    kept = distinct[:MAX_SUBGROUP_LEVELS]
    return LevelRule(tuple(map(str, kept)), kept=tuple(kept)), notes


def _series_as_numbers(values: polars.Series) -> Float64s | None:
    """Return the column, or text that spells numbers, as numbers; None if it has other values."""
    import polars

    if not (values.dtype.is_numeric() or values.dtype == polars.String):
        return None
    there = values.drop_nulls()
    numbers = there.cast(polars.Float64, strict=False)
    return None if numbers.null_count() or not numbers.is_finite().all() else numbers.to_numpy()


def with_levels(
    summary: Summary, frame: polars.DataFrame, predictions: Predictions, layout: Layout, rules: Mapping[str, LevelRule]
) -> Summary:
    """Return the summary of a batch with those of all subgroups."""
    within = layout.for_subgroups()
    return replace(
        summary, by={name: rule.split(tidy(frame[name]), predictions, within) for name, rule in rules.items()}
    )
