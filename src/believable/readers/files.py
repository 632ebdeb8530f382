"""CSV, TSV and Parquet files, read with polars."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from believable._types import Array
from believable.errors import InputError, MissingDependencyError
from believable.predictions import Predictions
from believable.readers.columns import Columns, choose_columns

if TYPE_CHECKING:
    import polars

SEPARATORS = {".csv": ",", ".tsv": "\t"}
SCHEMA_ROWS = 10_000  # rows a CSV column's type is first guessed from


def read_table(path: str | os.PathLike[str]) -> polars.DataFrame:
    """A whole file as a polars frame; the ending of its name says what it is."""
    try:
        import polars
    except ImportError as error:
        raise MissingDependencyError("reading files needs polars: pip install polars") from error
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}" if not path.exists() else f"{path} is a folder, not a file")
    kind = path.suffix.lower()
    if kind not in (*SEPARATORS, ".parquet"):
        raise InputError(f"{path}: the file must end in .csv, .tsv or .parquet")
    try:
        if kind == ".parquet":
            frame = polars.read_parquet(path, glob=False)
        else:
            options: dict[str, Any] = {
                "separator": SEPARATORS[kind],
                "null_values": ["", "NA", "N/A", "n/a", "NaN", "nan", "null"],
            }
            try:
                frame = polars.read_csv(path, infer_schema_length=SCHEMA_ROWS, glob=False, **options)
            except polars.exceptions.ComputeError:  # a later row does not fit the guess
                frame = polars.read_csv(path, infer_schema_length=None, glob=False, **options)
    except polars.exceptions.NoDataError as error:
        raise InputError(f"{path} is empty") from error
    except (polars.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path} cannot be read as {kind[1:]}: {str(error).splitlines()[0]}") from error
    if frame.height == 0:
        raise InputError(f"{path} has a header and no rows")
    only = frame.columns[0]
    if frame.width == 1 and any(mark in only for mark in ";\t|,"):
        raise InputError(f"{path} has one column, {only!r}: .csv files are separated by commas, .tsv files by tabs")
    for name in frame.columns:  # so polars renames a column that is there twice
        base, found, number = name.rpartition("_duplicated_")
        if found and number.isdecimal() and base in frame.columns:
            raise InputError(f"{path} has several columns called {base!r}: rename them")
    return frame


def read_predictions(
    path: str | os.PathLike[str],
    *,
    prob: str | None = None,
    prob_prefix: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    from_logits: bool = False,
    pos_label: Any = None,
) -> Predictions:
    """Checked predictions from a CSV, TSV or Parquet file with one row per prediction.

    Parameters
    ----------
    path : path
    prob : str, optional
        The column of P(y = 1). Guessed if left out: p, prob, probability, score, y_prob, y_score, y_pred, pred,
        prediction, confidence.
    prob_prefix : str, optional
        The beginning of the names of one column per class; p_, prob_ and proba_ are known. The ends are the classes.
    label : str, optional
        The column of outcomes. Guessed if left out: y, label, target, actual, outcome, y_true, truth, correct.
    weight : str, optional
        The column of sample weights; never guessed.
    from_logits : bool
        The scores are logits.
    pos_label : optional
        The label that counts as 1.

    Returns
    -------
    Predictions
    """
    frame = read_table(path)
    columns = columns_of(
        path, frame, prob=prob, prob_prefix=prob_prefix, label=label, weight=weight, logits=from_logits
    )
    return predictions_from(path, frame, columns, from_logits=from_logits, pos_label=pos_label)


def columns_of(path: str | os.PathLike[str], frame: polars.DataFrame, **asked: Any) -> Columns:
    """The columns to take; an error names the file."""
    try:
        return choose_columns(frame.columns, **asked)
    except InputError as error:
        raise InputError(f"{os.fspath(path)}: {error}") from error


def predictions_from(
    path: str | os.PathLike[str],
    frame: polars.DataFrame,
    columns: Columns,
    *,
    from_logits: bool = False,
    pos_label: Any = None,
) -> Predictions:
    """Check the columns of a frame; an error names the file and the columns."""
    try:
        labels = _array(frame[columns.label])
        classes = columns.classes
        if classes is not None and labels.dtype.kind in "OU" and isinstance(classes[0], int):
            classes = tuple(map(str, classes))
        weight = None if columns.weight is None else _array(frame[columns.weight])
        _say_what_is_positive(labels, columns, pos_label)
        return Predictions(
            _scores(frame, columns),
            labels,
            sample_weight=weight,
            from_logits=from_logits,
            pos_label=_as_in(labels, pos_label),
            classes=classes,
        )
    except InputError as error:
        raise InputError(f"{os.fspath(path)} ({columns}): {_with_lines(path, str(error))}") from error


def _with_lines(path: str | os.PathLike[str], sentence: str) -> str:
    """Rows count from 0 after the header; an editor counts lines from 1."""
    if Path(path).suffix.lower() not in SEPARATORS:
        return sentence
    return re.sub(r"at row (\d+)", lambda found: f"{found[0]} (line {int(found[1]) + 2})", sentence)


def _scores(frame: polars.DataFrame, columns: Columns) -> Array:
    arrays = [_numbers(frame, name) for name in columns.prob]
    return arrays[0] if len(arrays) == 1 else np.column_stack(arrays)


def _numbers(frame: polars.DataFrame, name: str) -> Array:
    """A column of scores; where it holds text, an error names the first cell that is no number."""
    import polars

    column = frame[name]
    if column.dtype == polars.String:
        numbers = column.cast(polars.Float64, strict=False)
        bad = column.is_not_null() & numbers.is_null()
        if bad.any():
            row = int(bad.arg_max() or 0)
            raise InputError(f"column {name!r} must hold numbers, got the text {column[row]!r} at row {row}")
        column = numbers  # its first rows were empty, so its type was not known
    return _array(column)


def _array(column: polars.Series) -> Array:
    import polars

    try:
        return column.to_numpy()
    except (polars.exceptions.PolarsError, OverflowError) as error:
        raise InputError(f"column {column.name!r} of type {column.dtype} cannot be read: {error}") from error


def _say_what_is_positive(labels: Array, columns: Columns, pos_label: Any) -> None:
    if columns.classes is None and pos_label is None and labels.dtype.kind in "OU":
        words = sorted({str(value) for value in labels[:1000] if isinstance(value, str)})
        if words:
            raise InputError(
                f"column {columns.label!r} holds text ({', '.join(words[:5])}): say which is positive with pos_label"
            )


def _as_in(labels: Array, pos_label: Any) -> Any:
    """A positive label given as text, for a column of numbers or truth values."""
    if isinstance(pos_label, str) and labels.dtype.kind == "b" and pos_label.lower() in ("true", "false"):
        return pos_label.lower() == "true"
    if isinstance(pos_label, str) and labels.dtype.kind in "iufb":
        try:
            return float(pos_label)
        except ValueError as error:
            raise InputError(f"pos_label={pos_label!r} is text, but the labels are numbers") from error
    return pos_label
