"""Reduce columns with very many values to a few subgroups."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from believable._types import Array, Float64s
from believable.errors import InputError
from believable.stats.levels import MAX_NUMBERS_AS_LEVELS, N_RANGES, is_identifier, quarters, ranges, written
from believable.stats.summary import MAX_SUBGROUP_LEVELS


def as_subgroups(by: Mapping[str, Array]) -> tuple[dict[str, Array], list[str]]:
    """Return the columns with at most 50 subgroups each, and notes on what was changed.

    A column with more than 12 distinct numbers is cut into four ranges with equally many rows, as far as ties allow; a
    range includes its upper end. Numbers in a column whose name ends in _id, or is typical of clusters, are names and
    treated as text. In a column with more than 50 texts, the 50 with the most rows are kept and the others are combined
    into one subgroup. A column whose texts hardly ever repeat identifies rows, not subgroups, and is an error.

    Examples
    --------
    >>> import numpy as np
    >>> columns, notes = as_subgroups({"age": np.arange(20, 60), "site": np.array(["a", "b"] * 20, object)})
    >>> sorted(set(columns["age"])), sorted(set(columns["site"]))
    (['29 to 39', '39 to 49', 'above 49', 'up to 29'], ['a', 'b'])
    >>> print(notes[0])
    column age has 40 different numbers: it was cut into quarters at 29, 39, 49 (each includes its upper end)
    """
    columns, notes = {}, []
    for name, values in by.items():
        columns[name], said = _few(name, values)
        notes += said
    return columns, notes


def _few(name: str, values: Array) -> tuple[Array, list[str]]:
    there = np.array([value is not None and value == value for value in values.tolist()])
    distinct, counts = np.unique(values[there].astype(str), return_counts=True)
    if len(distinct) <= MAX_NUMBERS_AS_LEVELS:
        return values, []
    numbers = None if is_identifier(name) else _array_as_numbers(values, there)
    if numbers is not None:
        return _in_ranges(name, numbers, len(distinct))
    if len(distinct) <= MAX_SUBGROUP_LEVELS:
        return values, []
    refuse_names_of_rows(name, len(distinct), len(values))
    kept = distinct[np.argsort(-counts, kind="stable")[:MAX_SUBGROUP_LEVELS]]
    others = there & ~np.isin(values.astype(str), kept)
    left = len(distinct) - MAX_SUBGROUP_LEVELS
    columns = values.astype(object)
    columns[others] = f"the other {left:,} values"
    said = (
        f"column {name} has {len(distinct):,} values: the {MAX_SUBGROUP_LEVELS} with the most rows are shown, the "
        f"other {left:,} ({int(others.sum()):,} rows) are combined"
    )
    return columns, [said]


def refuse_names_of_rows(name: str, n_distinct: int, n: int) -> None:
    """Raise if the texts of a column hardly ever repeat."""
    if 2 * n_distinct > n:
        raise InputError(
            f"column {name!r} has {n_distinct:,} values in {n:,} rows: it identifies rows, so it has no subgroups"
        )


def _array_as_numbers(values: Array, there: Array) -> Float64s | None:
    """Return the column as numbers, NaN where one is missing; None if it has other values."""
    if values.dtype.kind == "b":
        return None
    numbers = np.full(len(values), np.nan)
    try:
        numbers[there] = values[there].astype(np.float64)
    except (ValueError, TypeError):
        return None
    return numbers if np.isfinite(numbers[there]).all() else None


def _in_ranges(name: str, numbers: Float64s, n_distinct: int) -> tuple[Array, list[str]]:
    there = np.isfinite(numbers)
    cuts = quarters(numbers[there])
    labels = np.full(len(numbers), None, object)
    labels[there] = np.array(ranges(cuts), object)[np.searchsorted(cuts, numbers[there])]
    return labels, [cut_at(name, cuts, f"{n_distinct:,} different numbers")]


def cut_at(name: str, cuts: Float64s, what: str) -> str:
    """Return a note about a column that was cut into ranges."""
    parts = "quarters" if len(cuts) == N_RANGES - 1 else "ranges"
    where = ", ".join(written(cuts))
    return f"column {name} has {what}: it was cut into {parts} at {where} (each includes its upper end)"
