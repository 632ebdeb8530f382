"""Read files as frames and as checked predictions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._check import in_a_list
from believable._types import Array, Ints
from believable.errors import Hint, InputError, Row, Sentence
from believable.predictions import Predictions
from believable.readers import cells
from believable.readers.columns import Columns, ColumnsAsked, are_pairs, columns_of_table, listed
from believable.readers.formats import open_table
from believable.readers.formats.base import Table, called

if TYPE_CHECKING:
    import polars

# Hints that differ for files, because their users have other options than users of arrays.
HINTS_FOR_FILES = {
    Hint.DROP_OR_REPAIR: Hint.REPAIR_OR_LEAVE_OUT,
    Hint.DROP_OR_IGNORE: Hint.REPAIR_OR_LEAVE_OUT,
    Hint.LOGITS: Hint.LOGITS_IN_FILE,
    Hint.PERCENTAGES: Hint.PERCENTAGES_IN_FILE,
    Hint.NAME_THE_NEGATIVE: Hint.NAME_THE_NEGATIVE_IN_FILE,
}


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The arguments of `load` that say what the scores and labels of a file mean."""

    from_logits: bool = False
    percent: bool = False
    pos_label: Any = None
    classes: Sequence[Any] | None = None
    neg_label: Any = None


def read_table(path: str | os.PathLike[str], *, format: str | None = None) -> polars.DataFrame:
    """Read a whole file ("-": standard input) as a polars frame; its ending, or `format`, tells the format."""
    return open_table(path, format).read()


def read_predictions(
    path: str | os.PathLike[str],
    *,
    prob: str | None = None,
    prob_prefix: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    from_logits: bool = False,
    percent: bool = False,
    pos_label: Any = None,
    neg_label: Any = None,
    pairs: bool | None = None,
    format: str | None = None,
) -> Predictions:
    """Read checked predictions from a file with one row per prediction.

    Parameters
    ----------
    path : path
        The file. Its ending tells the format: .csv, .tsv, .parquet, .jsonl or .ndjson (one object per line), or .npz
        (arrays by name; one of shape (n, K) has a column per class); .gz may follow. "-" is standard input.
    prob : str, optional
        The column of P(y = 1), or of lists with one probability per class. By default, the column with one of these
        names: p, prob, proba, probability, score, y_prob, y_score, y_pred, pred, prediction, confidence, probs,
        probs64, probabilities, scores. Text such as "85 %" is a percentage.
    prob_prefix : str, optional
        The prefix of the names of one column per class; the rest of each name is the class. By default, `p_`, `prob_`
        or `proba_`.
    label : str, optional
        The column of outcomes. By default, the column with one of these names: y, label, target, actual, outcome,
        y_true, truth, correct, labels, targets, actuals, outcomes.
    weight : str, optional
        The column of sample weights; never guessed.
    from_logits : bool
        The scores are logits. The names `logit`, `logits` and `z` and the prefixes `logit_`, `logits_` and `z_` are
        then tried first.
    percent : bool
        The scores are percentages, from 0 to 100.
    pos_label : optional
        The label that counts as 1. All other rows must share one label.
    neg_label : optional
        The label that counts as 0, next to `pos_label`. Rows with any other label are an error.
    pairs : bool, optional
        Whether the scores are confidences in answers, and the labels say whether they were right; see `Predictions`. By
        default, if there is one column of scores and that of labels is called correct, is_correct, was_correct,
        correctness or is_right.
    format : str, optional
        The format of the file, whatever its name: "csv", "tsv", "parquet", "jsonl", "npz", or another of
        `believable.readers.formats.FORMAT_NAMES`.

    Returns
    -------
    Predictions

    Notes
    -----
    `believable.readers.load` also reads clusters and subgroups, and can leave out and count rows with missing values.
    """
    table = open_table(path, format)
    asked = ColumnsAsked(prob, prob_prefix, label, weight, logits=from_logits)
    with said_of(table):
        columns, _ = columns_of_table(table, asked)
    frame = table.read(columns.names)
    means = Interpretation(from_logits, percent, pos_label, neg_label=neg_label)
    predictions = predictions_from(table, frame, columns, means)
    return predictions.as_pairs() if are_pairs(columns, predictions.kind, pairs) else predictions


def predictions_from(
    path: str | os.PathLike[str] | Table,
    frame: polars.DataFrame,
    columns: Columns,
    means: Interpretation,
) -> Predictions:
    """Return predictions from the columns of a frame; errors name the file, the columns, the row and its line."""
    with said_of(path, columns):
        scale_of_scores(frame, columns, means)  # raises if they are both
        return checked(tidied(frame, columns, means), columns, means)


def scale_of_scores(frame: polars.DataFrame, columns: Columns, means: Interpretation) -> str:
    """Return "logits" or "percentages" for such scores, and "" for probabilities."""
    signed = True in {cells.with_percent_sign(frame[name], means.percent) for name in columns.prob}
    if means.from_logits and (means.percent or signed):
        raise InputError(Sentence("scores are percentages ({percent}) or logits ({from_logits}), not both"))
    return "logits" if means.from_logits else "percentages" if means.percent or signed else ""


def tidied(frame: polars.DataFrame, columns: Columns, means: Interpretation) -> polars.DataFrame:
    """Return the frame with scores and weights as numbers, and labels stripped of spaces and as numbers if they can be.

    Missing values are NaN or null. Scores are divided by 100 if every cell ends in a percent sign, or with `percent`.
    """
    new = {name: cells.names(frame[name]) for name in (columns.cluster, *columns.by) if name is not None}
    if columns.cluster is not None:
        cells.refuse_rounded(new[columns.cluster])
    if columns.weight is not None:
        new[columns.weight] = cells.numbers(frame[columns.weight])
    by_name = columns.classes is not None and not isinstance(columns.classes[0], int)
    new[columns.label] = cells.labels(frame[columns.label], by_name=by_name)
    new |= {name: cells.scores(frame[name], means.percent) for name in columns.prob}
    return frame.with_columns(new.values())


def checked(frame: polars.DataFrame, columns: Columns, means: Interpretation) -> Predictions:
    """Return predictions from a frame that `tidied` returned."""
    labels, classes = cells.array(frame[columns.label]), means.classes
    arrays = [cells.array(frame[name]) for name in columns.prob]
    scores = arrays[0] if len(arrays) == 1 else np.column_stack(arrays)
    if classes is None and columns.classes is not None:
        words = labels.dtype.kind in "OU" and isinstance(columns.classes[0], int)
        classes = tuple(map(str, columns.classes)) if words else columns.classes
    elif classes is not None:
        refuse_another_order(columns, classes)
        labels = named(labels, columns, classes)
    if classes is None and means.pos_label is None and labels.dtype.kind in "OU":
        refuse_text(labels.tolist(), columns, scores.ndim)
    return Predictions(
        scores,
        labels,
        sample_weight=None if columns.weight is None else cells.array(frame[columns.weight]),
        from_logits=means.from_logits,
        pos_label=as_in(labels, means.pos_label),
        neg_label=as_in(labels, means.neg_label, "neg_label"),
        classes=classes,
    )


@contextmanager
def said_of(
    path: str | os.PathLike[str] | Table, columns: Columns | None = None, rows: Ints | None = None
) -> Iterator[None]:
    """Reword errors for files: add the file, the columns, and the line of the row; `rows` are those not left out."""
    try:
        yield
    except InputError as error:
        table = path if isinstance(path, Table) else None if error.row is None else _opened_again(path)

        def with_line(row: Row) -> Row:
            """Add the line, which an editor counts from 1; rows count from 0, below the header."""
            number = row.number if rows is None else int(rows[row.number])
            return Row(number, None if table is None else table.line(number))

        name = path.source.name if isinstance(path, Table) else called(path)
        what = "" if columns is None else f" ({columns})"
        sentence = in_words_of_files(error.sentence, with_line)
        raise InputError("{file}{what}: {sentence}", file=name, what=what, sentence=sentence) from error


def in_words_of_files(sentence: Sentence, place: Callable[[Row], Row]) -> Sentence:
    """Reword a message about arrays for files; `place` adds the line, or the file, to a row."""
    return sentence.with_parts(lambda part: place(part) if isinstance(part, Row) else HINTS_FOR_FILES.get(part, part))


def _opened_again(path: str | os.PathLike[str]) -> Table | None:
    """Open a file again to find a line; None for standard input and pipes, which can be read only once."""
    try:
        return open_table(path) if os.path.isfile(path) else None
    except InputError:
        return None


def refuse_text(labels: Sequence[Any], columns: Columns, ndim: int) -> None:
    """Raise if labels are text and it is not known which one is positive."""
    words = sorted({value for value in labels if isinstance(value, str)})
    if words:
        raise InputError(
            "column {column!r} holds text ({words}): {hint}",
            column=columns.label,
            words=in_a_list(words),
            hint=Sentence("name the one that counts as 1 with {pos_label}") if ndim == 1 else Hint.CLASSES_OF_TEXT,
        )


def refuse_another_order(columns: Columns, classes: Sequence[Any]) -> None:
    """Raise if `classes` has the classes of the columns in another order."""
    ends = [str(end) for end in columns.classes or ()]
    if len(ends) != len(classes):
        return  # the check of the matrix raises an error for this
    for end, name in zip(ends, map(str, classes), strict=True):
        if name != end and name in ends:
            raise InputError(
                f"the columns are those of {listed(ends)}, in this order, but classes has {name!r} in place of "
                f"{end!r}: leave classes out, or list them in the order of the columns"
            )


def named(labels: Array, columns: Columns, classes: Sequence[Any]) -> Array:
    """Return the names of classes for labels that are numbers: from 0, or the numbers of the columns."""
    if labels.dtype.kind not in "iu" or not all(isinstance(name, str) for name in classes):
        return labels
    ends = columns.classes or ()
    if len(ends) == len(classes) and isinstance(ends[0], int) and ends != tuple(range(len(ends))):
        name_of = dict(zip(ends, classes, strict=True))
        unknown = ~np.isin(labels, np.array(ends))
        if unknown.any():
            row = int(unknown.argmax())
            raise InputError(
                "column {column!r} must hold the numbers of the columns, {names}, got {got} at {row}",
                column=columns.label,
                names=listed([*map(str, ends)]),
                got=labels[row],
                row=row,
            )
        return np.array([name_of[label] for label in labels.tolist()], dtype=object)
    outside = (labels < 0) | (labels >= len(classes))
    if outside.any():
        row = int(outside.argmax())
        raise InputError(
            "column {column!r} must count the {needed} classes from 0, got {got} at {row}",
            column=columns.label,
            needed=len(classes),
            got=labels[row],
            row=row,
        )
    return np.array(classes, dtype=object)[labels]


def as_in(labels: Array, given: Any, argument: str = "pos_label") -> Any:
    """Return a label that was given as text as a number or boolean, if the labels of the file are such."""
    if isinstance(given, str) and labels.dtype.kind == "b" and given.lower() in ("true", "false"):
        return given.lower() == "true"
    if isinstance(given, str) and labels.dtype.kind in "iufb":
        try:
            return float(given)
        except ValueError as error:
            said = f"{{{argument}=}} is text, but the labels are numbers"
            raise InputError(said, argument=argument, **{argument: given}) from error
    return given
