"""Two files that must hold predictions for the same rows."""

from __future__ import annotations

import numpy as np

from believable.errors import InputError
from believable.readers.loaded import Loaded


def refuse_other_rows(a: Loaded, b: Loaded, name_a: str, name_b: str) -> None:
    """An error that says how the rows of two files differ: in number, classes, labels or weights."""
    one, other = a.predictions, b.predictions
    needed = "a comparison needs the same rows in the same order"
    if one.kind != other.kind:
        kinds = " and ".join(
            f"{name} {'one score per row' if each.kind == 'binary' else 'a score for each class'}"
            for name, each in ((name_a, one), (name_b, other))
        )
        raise InputError(f"the predictions differ in kind: {kinds}")
    if len(one) != len(other):
        raise InputError(f"{name_a} has {len(one):,} rows and {name_b} {len(other):,}: {needed}")
    if one.scores.ndim == 2 and (one.n_classes != other.n_classes or one.classes != other.classes):
        names = [", ".join(each.class_name(k) for k in range(each.n_classes)) for each in (one, other)]
        raise InputError(f"the classes differ: {name_a} has {names[0]}, {name_b} has {names[1]}")
    different = np.flatnonzero(one.labels != other.labels)
    if len(different):
        row = int(different[0])
        more = "" if len(different) == 1 else f", and at {len(different) - 1:,} more"
        raise InputError(f"the labels of {name_a} and {name_b} differ at row {row}{more}: {needed}")
    weights = [np.ones(len(one)) if each.weights is None else each.weights for each in (one, other)]
    if not np.array_equal(weights[0], weights[1]):
        raise InputError(f"the weights of {name_a} and {name_b} differ: {needed}")
