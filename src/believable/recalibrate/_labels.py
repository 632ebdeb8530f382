"""From labels to numbers of columns, and the sentences about labels that no map can be learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from believable import _check
from believable._types import Array, Ints
from believable.errors import InputError


def encoded(
    y: Array, n_classes: int, classes: Sequence[Any] | None, columns: Sequence[str] | None
) -> tuple[Ints, Array]:
    """Numbers of columns, and the label of each column; `columns` are the names of a data frame."""
    if classes is not None:
        if len(classes) != n_classes:
            raise InputError(f"classes must name {n_classes} classes in the order of the columns, got {len(classes)}")
        return _check.named_labels(y, classes, None), np.asarray(classes)
    if y.dtype.kind in "iuf" and y.min() >= 0 and y.max() <= n_classes - 1:
        return y.astype(np.intp, copy=False), np.arange(n_classes).astype(y.dtype)
    found, labels = np.unique(y, return_inverse=True)
    if len(found) == n_classes:
        words = [str(label) for label in found.tolist()]
        if columns is None or set(words) != set(columns):
            return labels, found
        place = [list(columns).index(word) for word in words]  # columns that are called what the labels are
        return np.asarray(place)[labels], found[np.argsort(place)]
    if y.dtype.kind == "b" and n_classes == 2:  # one of the two is missing
        return y.astype(np.intp), np.array([False, True])
    what = f"{n_classes} columns" if n_classes > 2 else "two classes"
    raise InputError(
        f"X has scores of {what}, y holds {len(found)} labels that are not numbers of columns; pass classes=[...], "
        "the labels in the order of the columns"
    )


def encoded_columns(y: Array, n_labels: int, classes: Sequence[Any] | None) -> tuple[Array, Array]:
    """Whether each label is in each row, and the names of the labels."""
    if y.ndim != 2 or y.shape[1] != n_labels:
        raise InputError(f"multilabel=True needs y with {n_labels} columns, as X has, got shape {y.shape}")
    if y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        raise InputError("multilabel=True needs y of zeros and ones: whether each label is in each row")
    if classes is not None and len(classes) != n_labels:
        raise InputError(f"classes must name {n_labels} labels in the order of the columns, got {len(classes)}")
    return y.astype(bool), np.arange(n_labels) if classes is None else np.asarray(classes)


def fewest_rows(labels: Array, classes: Array, multilabel: bool) -> int:
    """Rows of the rarest class that occurs; an error where one class is all there is."""
    if multilabel:
        happened = labels.sum(axis=0)
        counts = np.minimum(happened, len(labels) - happened)
    else:
        counts = np.bincount(labels, minlength=len(classes))
    present = np.flatnonzero(counts)
    if multilabel and len(present) == 0:
        raise InputError("every label is in all rows of y or in none, so no map can be learnt")
    if not multilabel and len(present) == 1:
        raise InputError(
            f"y holds one class only, {classes.tolist()[present[0]]!r}: there is nothing to tell it from, so no map "
            "can be learnt; collect rows of the other class too"
        )
    return int(counts[present].min())
