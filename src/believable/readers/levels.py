"""Reduce columns with very many values to a few subgroups."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from believable._types import Array, Float64s, Ints
from believable.errors import InputError
from believable.readers.columns import CLUSTER_NAMES, plain_name
from believable.stats.summary import MAX_SUBGROUP_LEVELS

MAX_NUMBERS_AS_LEVELS = 12  # the number of months; a column with more distinct numbers is a quantity
N_RANGES = 4


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


def is_identifier(name: str) -> bool:
    """Return whether numbers in a column of this name are identifiers, such as those of patients, not a quantity."""
    plain = plain_name(name)
    return plain in ("id", *CLUSTER_NAMES) or plain.endswith("_id")


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


def quarters(numbers: Float64s, rows: Ints | None = None) -> Float64s:
    """Return where to cut numbers into four ranges with equally many rows; fewer if there are many ties.

    `rows` is the number of rows of each number; one by default.
    """
    order = np.argsort(numbers, kind="stable")
    ones = np.ones(len(numbers), np.int64)
    below = np.cumsum(ones if rows is None else rows[order], dtype=np.int64)
    wanted = np.arange(1, N_RANGES, dtype=np.int64) * below[-1]
    cuts = np.unique(numbers[order[np.searchsorted(below * N_RANGES, wanted)]])
    most = numbers.max()
    cuts = cuts[cuts < most]
    if not len(cuts):  # most rows have the largest number
        cuts = numbers[numbers < most].max(keepdims=True)
    return np.asarray(cuts)


def ranges(cuts: Float64s) -> list[str]:
    """Return the names of the ranges."""
    words = _written(cuts)
    return [f"up to {words[0]}", *map(" to ".join, pairwise(words)), f"above {words[-1]}"]


def cut_at(name: str, cuts: Float64s, what: str) -> str:
    """Return a note about a column that was cut into ranges."""
    parts = "quarters" if len(cuts) == N_RANGES - 1 else "ranges"
    where = ", ".join(_written(cuts))
    return f"column {name} has {what}: it was cut into {parts} at {where} (each includes its upper end)"


def _written(cuts: Float64s) -> list[str]:
    """Return whole numbers in full, others with as few digits as distinguish them, but at least four."""
    if (cuts == np.round(cuts)).all():
        return [f"{cut:.0f}" for cut in cuts.tolist()]
    words: list[str] = []
    for digits in (4, 8, 17):
        words = [f"{cut:.{digits}g}" for cut in cuts.tolist()]
        if len(set(words)) == len(words):
            break
    return words
