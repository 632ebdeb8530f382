"""Columns of subgroups that have too many values to be subgroups."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from believable._types import Array, Float64s
from believable.errors import InputError
from believable.readers.clusters import CLUSTER_NAMES
from believable.readers.columns import plain_name

MOST_LEVELS = 50
MOST_NUMBERS = 12  # as many as there are months; a column with more different numbers is a quantity
PARTS = 4


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
    if len(distinct) <= MOST_NUMBERS:
        return values, []
    numbers = None if _is_identifier(name) else _numbers(values, there)
    if numbers is not None:
        return _in_ranges(name, numbers, len(distinct))
    if len(distinct) <= MOST_LEVELS:
        return values, []
    if 2 * len(distinct) > len(values):
        raise InputError(
            f"column {name!r} has {len(distinct):,} values in {len(values):,} rows: it names rows, not subgroups"
        )
    kept = distinct[np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
    others = there & ~np.isin(values.astype(str), kept)
    left = len(distinct) - MOST_LEVELS
    columns = values.astype(object)
    columns[others] = f"the other {left:,} values"
    said = (
        f"column {name} has {len(distinct):,} values: the {MOST_LEVELS} with the most rows are shown, the other "
        f"{left:,} ({int(others.sum()):,} rows) together"
    )
    return columns, [said]


def _is_identifier(name: str) -> bool:
    """Whether numbers under this name are names: those of patients are no quantity."""
    plain = plain_name(name)
    return plain in ("id", *CLUSTER_NAMES) or plain.endswith("_id")


def _numbers(values: Array, there: Array) -> Float64s | None:
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
    shares = np.arange(1, PARTS) / PARTS
    cuts = np.unique(np.quantile(numbers[there], shares, method="inverted_cdf"))
    most = numbers[there].max()
    cuts = cuts[cuts < most]
    if not len(cuts):  # most rows have the largest number
        cuts = numbers[there & (numbers < most)].max(keepdims=True)
    words = _written(cuts)
    ranges = [f"up to {words[0]}", *map(" to ".join, pairwise(words)), f"above {words[-1]}"]
    labels = np.full(len(numbers), None, object)
    labels[there] = np.array(ranges, object)[np.searchsorted(cuts, numbers[there])]
    said = (
        f"column {name} has {n_distinct:,} different numbers: it was cut into "
        f"{'quarters' if len(cuts) == PARTS - 1 else 'ranges'} (each with its upper end) at {', '.join(words)}"
    )
    return labels, [said]


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
