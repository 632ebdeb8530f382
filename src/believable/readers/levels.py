"""Columns of subgroups that have too many values to be subgroups."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from believable._types import Array, Float64s, Ints
from believable.errors import InputError
from believable.readers.columns import CLUSTER_NAMES, plain_name
from believable.stats.summary import MAX_SUBGROUP_LEVELS

MAX_NUMBERS_AS_LEVELS = 12  # as many as there are months; a column with more different numbers is a quantity
N_RANGES = 4


def as_subgroups(by: Mapping[str, Array]) -> tuple[dict[str, Array], list[str]]:
    """The columns with at most fifty values each, and what was done to get there, in words.

    A column of more than twelve different numbers is cut into four ranges with as many rows each, as far as ties allow;
    a range holds its upper end. Numbers in a column whose name ends in _id, or is one of clusters, are names and count
    as texts. Of a column with more than fifty texts the fifty with the most rows stay, and the rest is taken together.
    A column whose texts hardly ever repeat names rows, not subgroups, and is refused.

    Examples
    --------
    >>> import numpy as np
    >>> columns, notes = as_subgroups({"age": np.arange(20, 60), "site": np.array(["a", "b"] * 20, object)})
    >>> sorted(set(columns["age"])), sorted(set(columns["site"]))
    (['29 to 39', '39 to 49', 'above 49', 'up to 29'], ['a', 'b'])
    >>> print(notes[0])
    column age has 40 different numbers: it was cut into quarters (each with its upper end) at 29, 39, 49
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
        f"other {left:,} ({int(others.sum()):,} rows) together"
    )
    return columns, [said]


def refuse_names_of_rows(name: str, n_distinct: int, n: int) -> None:
    """An error for a column whose texts hardly ever repeat."""
    if 2 * n_distinct > n:
        raise InputError(f"column {name!r} has {n_distinct:,} values in {n:,} rows: it names rows, not subgroups")


def is_identifier(name: str) -> bool:
    """Whether numbers under this name are names: those of patients are no quantity."""
    plain = plain_name(name)
    return plain in ("id", *CLUSTER_NAMES) or plain.endswith("_id")


def _array_as_numbers(values: Array, there: Array) -> Float64s | None:
    """The column as numbers, NaN where there is none; None where it holds anything else."""
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
    """Where numbers, each of so many rows, are cut into four ranges with as many rows; fewer, where ties demand it."""
    order = np.argsort(numbers, kind="stable")
    below = np.arange(1, len(numbers) + 1) if rows is None else np.cumsum(rows[order])
    cuts = np.unique(numbers[order[np.searchsorted(below * N_RANGES, np.arange(1, N_RANGES) * below[-1])]])
    most = numbers.max()
    cuts = cuts[cuts < most]
    if not len(cuts):  # most rows have the largest number
        cuts = numbers[numbers < most].max(keepdims=True)
    return np.asarray(cuts)


def ranges(cuts: Float64s) -> list[str]:
    """What to call the ranges."""
    words = _written(cuts)
    return [f"up to {words[0]}", *map(" to ".join, pairwise(words)), f"above {words[-1]}"]


def cut_at(name: str, cuts: Float64s, what: str) -> str:
    """A sentence on a column that was cut."""
    parts = "quarters" if len(cuts) == N_RANGES - 1 else "ranges"
    return f"column {name} has {what}: it was cut into {parts} (each with its upper end) at {', '.join(_written(cuts))}"


def _written(cuts: Float64s) -> list[str]:
    """Whole numbers in full, others with as few digits as tell them apart, four at least."""
    if (cuts == np.round(cuts)).all():
        return [f"{cut:.0f}" for cut in cuts.tolist()]
    words: list[str] = []
    for digits in (4, 8, 17):
        words = [f"{cut:.{digits}g}" for cut in cuts.tolist()]
        if len(set(words)) == len(words):
            break
    return words
