"""`load`, which reads a file of predictions, and `Loaded`, the result of every reader."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._check import renamed
from believable._progress import reading
from believable._types import Array, Ints
from believable.errors import LOOK_LIKE_CLASSES, Hint, InputError, Sentence
from believable.predictions import Predictions
from believable.readers import cells
from believable.readers.columns import (
    Columns,
    ColumnsAsked,
    are_pairs,
    calibrated_too,
    clusters_ignored,
    columns_of_table,
    listed,
)
from believable.readers.files import Interpretation, checked, said_of, scale_of_scores, tidied
from believable.readers.formats import open_table, source_of
from believable.readers.formats.base import STDIN, called

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Checked predictions, with clusters, subgroups and notes from their file.

    Attributes
    ----------
    predictions : Predictions
    title : str
        The name of the file, for the report.
    taken : str
        Which columns were read as what, in words: "scores p, labels y".
    clusters : ndarray or None
        The cluster of each row of `predictions`.
    by : dict of str to ndarray
        Columns of subgroups, each with one entry for each row of `predictions`.
    dropped : dict of str to int
        Rows that were left out, by reason.
    notes : tuple of str
        Notes for the report, such as how raw scores became probabilities.
    raw : ndarray or None
        The logits in the file, if it has logits.
    rows : ndarray of int or None
        The rows of the file, from 0, that were not left out; None if none was, or rows do not correspond one to one.
    scaled : str
        "after Platt scaling", for example, if a calibration map turned raw scores into probabilities; "" if the scores
        are those of the file.
    """

    predictions: Predictions
    title: str
    taken: str
    clusters: Array | None = None
    by: Mapping[str, Array] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    raw: Array | None = None
    rows: Ints | None = None
    scaled: str = ""

    @property
    def pairs(self) -> bool:
        """Whether the scores are confidences in an answer, and the labels whether it was correct."""
        return self.predictions.are_pairs

    @property
    def groups(self) -> Array | None:
        """The clusters, under their former name."""
        return self.clusters


# --- `load`: a file of predictions, with clusters, subgroups and notes ------------------------------------------------


@renamed(group="cluster")
def load(
    path: str | os.PathLike[str],
    *,
    prob: str | None = None,
    prob_prefix: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    by: str | Sequence[str] = (),
    from_logits: bool = False,
    percent: bool = False,
    pos_label: Any = None,
    neg_label: Any = None,
    pairs: bool | None = None,
    classes: Sequence[Any] | None = None,
    drop_missing: bool = False,
    format: str | None = None,
    progress: bool | None = None,
) -> Loaded:
    """Read a file of predictions: checked scores and labels, with clusters, subgroups and counts of rows left out.

    Only the columns that are needed are read. Rows of weight 0 are left out and counted. A row in which several values
    are missing is counted once: as a missing score, label, weight or cluster, in this order. Rows with a missing
    subgroup are kept.

    Parameters
    ----------
    path, prob, prob_prefix, label, weight, from_logits, percent, pos_label, neg_label, pairs, format
        As in `read_predictions`.
    cluster : str, optional
        The column of clusters, such as queries or patients, whose rows belong together; never guessed.
    by : str or sequence of str
        Columns of subgroups; never guessed.
    classes : sequence, optional
        The classes of the columns of a matrix, or of the entries of lists, in order. If these are names and the labels
        are numbers, the labels count the classes from 0, or are the numbers of the columns (p_1, p_2, …).
    drop_missing : bool
        Leave out rows with a missing score, label, weight or cluster, and count them in `dropped`. Otherwise they are
        an error.
    progress : bool, optional
        Show that a file is being read. By default, if it is large and the error stream is a terminal.

    Returns
    -------
    Loaded

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "answers.csv"
    >>> _ = path.write_text("confidence,correct,topic\\n85%,1,art\\n,1,law\\n40%,0,law\\n")
    >>> loaded = load(path, by="topic", drop_missing=True)
    >>> loaded.taken
    'scores confidence (percentages), labels correct, subgroups topic'
    >>> loaded.pairs
    True
    >>> loaded.predictions.scores, loaded.by["topic"], loaded.dropped
    (array([0.85, 0.4 ]), array(['art', 'law'], dtype=object), {'missing score': 1})
    >>> folder.cleanup()
    """
    means = Interpretation(from_logits, percent, pos_label, classes, neg_label)
    source = source_of(path, format)
    with reading(source.name, source.size, progress):
        table = open_table(source)
        with said_of(table):
            asked = ColumnsAsked(prob, prob_prefix, label, weight, cluster, by, from_logits)
            columns, left_unread = columns_of_table(table, asked)
        frame = table.read(columns.names, naming=[name for name in (columns.cluster, *columns.by) if name is not None])
    with said_of(table, columns):
        scale = scale_of_scores(frame, columns, means)
        frame = tidied(frame, columns, means)
        rows, dropped = _rows_with_values(frame, columns, drop_missing)
    if rows is not None:
        frame = frame[rows]
    with said_of(table, columns, rows):
        predictions = checked(frame, columns, means)
        predictions = predictions.as_pairs() if are_pairs(columns, predictions.kind, pairs) else predictions
    counted = None if len(predictions) == frame.height else cells.array(frame[columns.weight]) > 0  # type: ignore[index]
    if counted is not None:
        dropped["weight 0"] = frame.height - len(predictions)
    left = rows
    if counted is not None:
        left = np.flatnonzero(counted) if rows is None else rows[counted]
    return Loaded(
        predictions,
        title=STDIN if called(path) == STDIN else Path(path).name,
        taken=columns.words(scale),
        clusters=None if columns.cluster is None else _kept(frame[columns.cluster], counted),
        by={name: _kept(frame[name], counted) for name in columns.by},
        dropped=dropped,
        notes=(
            *table.notes,
            *left_unread,
            *_notes(predictions, columns, means),
            *clusters_ignored(table, columns),
            *([] if prob is not None else calibrated_too(tuple(table.arrays) or table.names, columns)),
        ),
        raw=_raw(frame, columns, counted) if from_logits else None,
        rows=left,
    )


def _rows_with_values(
    frame: polars.DataFrame, columns: Columns, drop_missing: bool
) -> tuple[Ints | None, dict[str, int]]:
    """Return the rows without missing values (None: all of them), and how many were left out for which reason."""
    left = np.ones(frame.height, bool)
    dropped: dict[str, int] = {}
    parts = {
        "score": columns.prob,
        "label": (columns.label,),
        "weight": (columns.weight,),
        "cluster": (columns.cluster,),
    }
    for what, names in parts.items():
        for name in names:
            if name is None or not (gone := cells.missing(frame[name])).any():
                continue
            if not drop_missing:
                _refuse(name, what, gone)
            gone &= left
            dropped[f"missing {what}"] = dropped.get(f"missing {what}", 0) + int(gone.sum())
            left &= ~gone
    if not left.any():
        raise InputError("every row has a missing score, label, weight or cluster: there is nothing to measure")
    return (np.flatnonzero(left) if dropped else None), {what: n for what, n in dropped.items() if n}


def _refuse(name: str, what: str, gone: Array) -> None:
    n = int(gone.sum())
    raise InputError(
        "column {column!r} has a missing {what} at {row}{others}",
        column=name,
        what=what,
        row=int(gone.argmax()),
        others="" if n == 1 else f", and at {n - 1:,} more",
        hint=Hint.REPAIR_OR_LEAVE_OUT,
    )


def _kept(column: polars.Series, counted: Array | None) -> Array:
    values = cells.array_of_names(column)
    return values if counted is None else values[counted]


def _raw(frame: polars.DataFrame, columns: Columns, counted: Array | None) -> Array:
    arrays = [_kept(frame[name], counted) for name in columns.prob]
    return arrays[0] if len(arrays) == 1 else np.column_stack(arrays)


def _notes(predictions: Predictions, columns: Columns, means: Interpretation) -> list[str]:
    notes: list[str] = []
    if means.percent and predictions.scores.max() <= 0.01:
        notes.append(
            Sentence("no percentage is above 1 %: if the scores were probabilities already, leave {percent} out")
        )
    one_event = predictions.kind == "binary" and not predictions.are_pairs  # answers may be certain, all of them
    if one_event and len(predictions) > 1 and np.isin(predictions.scores, (0, 1)).all():
        notes.append(f"every score in column {columns.prob[0]} is 0 or 1: {LOOK_LIKE_CLASSES}")
    if means.from_logits and columns.classes is not None:
        absent = np.flatnonzero(np.bincount(predictions.labels, minlength=predictions.n_classes) == 0)
        if len(absent):
            names = listed([columns.prob[k] for k in absent])
            notes.append(
                f"no row has the class of these columns: {names}; if they are not logits, the results are wrong"
            )
    first = predictions.labels[0]
    if (predictions.labels == first).all():
        notes.append(f"every outcome in column {columns.label} is the same, {predictions.class_name(int(first))}")
    return notes


# --- the data set that ships with the package -------------------------------------------------------------------------


DEMO_MODELS = ("naive_bayes", "logistic")


def load_demo() -> dict[str, Predictions]:
    """Return held-out predictions of two models that a handwritten digit is odd.

    The scores of naive Bayes are too extreme; those of logistic regression are not. There are 1797 rows each, from
    5-fold cross-validation on the digits bundled with scikit-learn.

    Examples
    --------
    >>> import believable
    >>> {name: round(believable.expected_calibration_error(model), 3) for name, model in load_demo().items()}
    {'naive_bayes': 0.111, 'logistic': 0.01}
    """
    with as_file(files("believable") / "data" / "odd_digits.csv") as path:
        columns = np.genfromtxt(path, delimiter=",", names=True)
    return {name: Predictions(columns[name], columns["odd"].astype(np.int64)) for name in DEMO_MODELS}
