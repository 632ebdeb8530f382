"""Check that two files have predictions for the same rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from believable._types import Ints
from believable.errors import InputError
from believable.readers.formats import open_table
from believable.readers.load import Loaded
from believable.stats.levels import plain_name

if TYPE_CHECKING:
    import polars

SAME_ROWS_NEEDED = "a comparison needs the same rows in the same order"
ROW_ID_NAMES = ("id", "qid", "uid", "pid", "index", "row", "key", "doc_hash")


def refuse_other_rows(a: Loaded, b: Loaded, name_a: str, name_b: str) -> None:
    """Raise if the rows of two files differ in number, classes, labels, weights or which ones were left out."""
    one, other = a.predictions, b.predictions
    if one.kind != other.kind:
        kinds = " and ".join(
            f"{name} has {'one score per row' if each.kind == 'binary' else 'a score for each class'}"
            for name, each in ((name_a, one), (name_b, other))
        )
        raise InputError(f"the predictions differ in kind: {kinds}")
    if len(one) != len(other):
        raise InputError(f"{name_a} has {len(one):,} rows and {name_b} {len(other):,}: {SAME_ROWS_NEEDED}")
    if one.scores.ndim == 2 and (one.n_classes != other.n_classes or one.classes != other.classes):
        names = [", ".join(each.class_name(k) for k in range(each.n_classes)) for each in (one, other)]
        raise InputError(f"the classes differ: {name_a} has {names[0]}, {name_b} has {names[1]}")
    different = np.flatnonzero(one.labels != other.labels)
    if len(different):
        row = int(different[0])
        more = "" if len(different) == 1 else f", and at {len(different) - 1:,} more"
        raise InputError(f"the labels of {name_a} and {name_b} differ at row {row}{more}: {SAME_ROWS_NEEDED}")
    weights = [np.ones(len(one)) if each.weights is None else each.weights for each in (one, other)]
    if not np.array_equal(weights[0], weights[1]):
        raise InputError(f"the weights of {name_a} and {name_b} differ: {SAME_ROWS_NEEDED}")
    as_long = len(one) + sum(a.dropped.values()) == len(other) + sum(b.dropped.values())
    left = np.flatnonzero(_rows(a) != _rows(b)) if as_long else np.zeros(0, np.intp)
    if len(left):
        row = min(int(_rows(each)[left[0]]) for each in (a, b))
        raise InputError(
            f"different rows of {name_a} and {name_b} were left out, the first near row {row}: {SAME_ROWS_NEEDED}"
        )


def refuse_other_ids(
    a: Loaded,
    b: Loaded,
    path_a: str | os.PathLike[str],
    path_b: str | os.PathLike[str],
    name_a: str,
    name_b: str,
    format: str | None = None,
) -> None:
    """Raise if both files identify their rows, and the order differs.

    Columns in both files count that are called id, qid, uid, pid, index, row, key or doc_hash, or whose name ends in
    _id, if most of their values occur in both files; other identifiers cannot be compared. Standard input can be read
    only once, so it is not checked.
    """
    if "-" in (os.fspath(path_a), os.fspath(path_b)) or not (os.path.isfile(path_a) and os.path.isfile(path_b)):
        return
    try:
        one, other = open_table(path_a, format), open_table(path_b, format)
    except InputError:  # not a table, but a JSON array, for example
        return
    for name in one.names:
        if name not in other.names or not (plain_name(name) in ROW_ID_NAMES or plain_name(name).endswith("_id")):
            continue
        try:
            columns = [table.read([name], naming=[name])[name] for table in (one, other)]
            ids = [_of_rows(column, loaded) for column, loaded in zip(columns, (a, b), strict=True)]
        except InputError:
            continue
        if ids[0] is None or ids[1] is None or ids[0] == ids[1]:
            continue
        shared = set(ids[0]) & set(ids[1])
        if len(shared) > 1 and 2 * len(shared) > len(set(ids[0]) | set(ids[1])):
            row = next(k for k, pair in enumerate(zip(*ids, strict=True)) if pair[0] != pair[1])
            raise InputError(
                f"column {name} of {name_a} and {name_b} differs at row {row} ({ids[0][row]} and {ids[1][row]}): "
                f"{SAME_ROWS_NEEDED}; sort both by {name}"
            )


def _rows(loaded: Loaded) -> Ints:
    return np.arange(len(loaded.predictions)) if loaded.rows is None else loaded.rows


def _of_rows(column: polars.Series, loaded: Loaded) -> list[str | None] | None:
    """Return the identifiers of the rows that were read; None if the column does not fit them."""
    import polars

    rows = _rows(loaded)
    fits = len(column) > rows.max() if loaded.rows is not None else len(column) == len(rows)
    return column[rows].cast(polars.String).to_list() if fits and not column.dtype.is_nested() else None
