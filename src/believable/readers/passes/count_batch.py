"""Count a batch of rows: interpret its columns, leave out rows, and return a `Summary`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from believable._check import in_a_list, one_negative
from believable._types import Array, Ints, Notion
from believable.errors import Hint, InputError
from believable.predictions import Predictions
from believable.readers import cells
from believable.readers.columns import Columns, are_pairs
from believable.readers.files import (
    Interpretation,
    as_in,
    named,
    refuse_another_order,
    refuse_text,
    scale_of_scores,
    tidied,
)
from believable.readers.passes.batches import RowBatch
from believable.readers.passes.level_rules import LevelRule, with_levels
from believable.stats import Summary
from believable.stats.layout import Layout

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, slots=True)
class CountSettings:
    """How every batch is read, and what is counted; see `summarize_files`."""

    columns: Columns
    means: Interpretation
    drop_missing: bool = False
    cells: int | None = None
    notions: tuple[Notion, ...] | None = None
    pairs: bool | None = None


@dataclass(frozen=True, slots=True)
class FirstRows:
    """What the columns contain in the first rows; all other rows must agree.

    Attributes
    ----------
    meaning : str
        The scale of the scores: "" for probabilities, "logits" or "percentages".
    text : bool
        Whether labels are text.
    words : tuple of str
        Some of the labels, for messages.
    n_classes : int
        Number of scores per row if they are a matrix; 0 for one score per row.
    other : str
        The label that counts as 0, if the positive one was named; "" if it has not occurred yet.
    """

    meaning: str
    text: bool
    words: tuple[str, ...]
    n_classes: int
    other: str = ""

    def refuse_other(self, here: FirstRows, columns: Columns) -> None:
        """Raise if these rows differ from the first ones."""
        if self.meaning != here.meaning:
            with_sign, without = ("in these rows", "before") if here.meaning else ("before", "in these rows")
            raise InputError(
                "column {column!r} has percent signs {with_sign} but none {without}",
                column=columns.prob[0],
                with_sign=with_sign,
                without=without,
                hint=Hint.READ_AS_PERCENTAGES,
            )
        if self.text != here.text:
            first, now = ("text", "numbers") if self.text else ("numbers", "text")
            raise InputError(
                f"column {columns.label!r} has {now} ({in_a_list(here.words, 3)}), but it had {first} before"
            )
        if self.n_classes != here.n_classes:
            raise InputError(
                "lists in column {column!r} must have the same length, got {got} at {row} and {before} before",
                column=columns.prob[0],
                got=here.n_classes,
                row=0,
                before=self.n_classes,
            )


@dataclass(frozen=True, slots=True)
class Counted:
    """A batch that was counted; the summary is None if all rows were left out."""

    rows: int
    summary: Summary | None
    dropped: Mapping[str, int]
    seen: FirstRows | None


def count_batch(
    batch: RowBatch, settings: CountSettings, rules: Mapping[str, LevelRule], seen: FirstRows | None
) -> Counted:
    """Read and count a batch; errors name the file, the columns and the row."""
    columns = settings.columns
    frame = batch.read(columns.names)
    with batch.said_of(columns):
        scale = scale_of_scores(frame, columns, settings.means)
        by = frame.select(columns.by)
        frame = tidied(frame, replace(columns, by=()), settings.means)
        rows, dropped = _rows_with_values(frame, columns, settings.drop_missing)
    if rows is not None:
        frame, by = frame[rows], by[rows] if rules else by
    if not frame.height:
        return Counted(batch.rows, None, dropped, None)
    with batch.said_of(columns, rows):
        scores, labels, classes, words, other = _arrays(frame, settings)
        n_classes = scores.shape[1] if scores.ndim == 2 else 0
        here = FirstRows(scale, frame[columns.label].dtype == _string(), words, n_classes, other)
        if seen is not None:
            seen.refuse_other(here, columns)
        weights = None if columns.weight is None else cells.array(frame[columns.weight])
        empty = weights is not None and not weights.any()
        weighing = None if empty else weights  # weights that are all 0 are an error in a table, but not in a batch
        pairs = are_pairs(columns, "binary" if scores.ndim == 1 else "multiclass", settings.pairs)
        if settings.means.from_logits:
            predictions = Predictions(scores, labels, sample_weight=weighing, from_logits=True, pairs=pairs)
        else:
            predictions = Predictions.borrowing(scores, labels, weighing, pairs)
        layout = layout_for(predictions, settings)
        n = 0 if empty else len(predictions)
        summary = Summary.of(predictions, layout) if n else None  # this also checks borrowed rows
    if weights is not None and n < frame.height:
        dropped["weight 0"] = frame.height - n
        by = by.filter(weights > 0) if rules else by
    if summary is None:
        return Counted(batch.rows, None, dropped, here)
    summary = replace(summary, classes=None if classes is None else tuple(map(str, classes)))
    if rules:
        summary = with_levels(summary, by, predictions, layout, rules)
    return Counted(batch.rows, summary, dropped, here)


def layout_for(predictions: Predictions, settings: CountSettings) -> Layout:
    """Return the layout: what is counted for such predictions."""
    return Layout.of(
        predictions.kind, predictions.n_classes, predictions.score_type, notions=settings.notions, cells=settings.cells
    )


def _string() -> Any:
    import polars

    return polars.String


def _rows_with_values(
    frame: polars.DataFrame, columns: Columns, drop_missing: bool
) -> tuple[Ints | None, dict[str, int]]:
    """Return the rows without missing values (None: all of them), and how many were left out for which reason."""
    left = np.ones(frame.height, bool)
    dropped: dict[str, int] = {}
    for what, names in {"score": columns.prob, "label": (columns.label,), "weight": (columns.weight,)}.items():
        for name in names:
            if name is None or _is_whole(frame[name]) or not (gone := cells.missing(frame[name])).any():
                continue
            if not drop_missing:
                raise InputError(
                    "column {column!r} has a missing {what} at {row}",
                    column=name,
                    what=what,
                    row=int(gone.argmax()),
                    hint=Hint.REPAIR_OR_LEAVE_OUT,
                )
            gone &= left
            dropped[f"missing {what}"] = dropped.get(f"missing {what}", 0) + int(gone.sum())
            left &= ~gone
    return (np.flatnonzero(left) if dropped else None), {what: n for what, n in dropped.items() if n}


def _is_whole(column: polars.Series) -> bool:
    """Return whether a plain column has no missing values; a quick check, because most have none."""
    if column.null_count() or column.dtype.is_nested():
        return False
    return not (column.dtype.is_float() and column.is_nan().any())


class BatchArrays(NamedTuple):
    """Scores, labels as numbers, names of the classes, some labels for messages, and the label that counts as 0."""

    scores: Array
    labels: Array
    classes: Sequence[Any] | None
    words: tuple[str, ...]
    other: str = ""


def _arrays(frame: polars.DataFrame, settings: CountSettings) -> BatchArrays:
    columns, column = settings.columns, frame[settings.columns.label]
    arrays = [cells.array(frame[name]) for name in columns.prob]
    scores = arrays[0] if len(arrays) == 1 else np.column_stack(arrays)
    is_text = column.dtype == _string()
    words = tuple(sorted({repr(value) for value in column.head(1000).to_list()}))
    if scores.ndim == 1:
        if settings.means.pos_label is not None:
            labels, other = _positive(column, settings.means)
            return BatchArrays(scores, labels, None, words, other)
        if is_text:
            refuse_text(column.unique().to_list(), columns, 1)
        return BatchArrays(scores, cells.array(column), None, words)
    if settings.means.pos_label is not None:
        raise InputError("{argument} is for one score per row", argument="pos_label", hint=Hint.CLASSES_OF_COLUMNS)
    classes = settings.means.classes
    if classes is not None:
        refuse_another_order(columns, classes)
        if column.dtype.is_integer():
            column = _counted_classes(column, columns, classes)
    elif columns.classes is not None:
        numbered = isinstance(columns.classes[0], int)
        classes = tuple(map(str, columns.classes)) if is_text and numbered else columns.classes
    elif is_text:
        refuse_text(column.unique().to_list(), columns, 2)
    labels = cells.array(column) if classes is None else _codes(column, classes)
    return BatchArrays(scores, labels, classes, words)


def _positive(column: polars.Series, means: Interpretation) -> tuple[Array, str]:
    """Return 1 for the positive label and 0 for others, and the other label.

    Whether the positive label occurs at all is known only after the last batch.
    """
    import polars

    if column.dtype == polars.String:
        pos_label, neg_label = str(means.pos_label), None if means.neg_label is None else str(means.neg_label)
        positive, array = (column == pos_label).to_numpy(), column.to_numpy()
    else:
        array = cells.array(column)
        pos_label, neg_label = as_in(array, means.pos_label), as_in(array, means.neg_label, "neg_label")
        positive = np.asarray(array == pos_label)
    others = column.filter(~polars.Series(positive))
    other = "" if len(others) == 0 else repr(others[0])
    negative = others[0] if neg_label is None and len(others) else neg_label
    if len(others) and bool((others != negative).any()):
        one_negative(array, positive, pos_label, neg_label)
    return positive.view(np.uint8), other


def _codes(column: polars.Series, classes: Sequence[Any]) -> Array:
    """Return the position of each label among the classes."""
    import polars

    text = isinstance(classes[0], str)
    known = polars.Series(list(classes), dtype=polars.String if text else polars.Int64)
    if text != (column.dtype == polars.String):
        code = polars.repeat(None, len(column), dtype=polars.Int32, eager=True)
    else:
        same = column if text or column.dtype.is_float() else column.cast(polars.Int64)
        known = known.cast(same.dtype)
        code = same.replace_strict(known, list(range(len(known))), default=None, return_dtype=polars.Int32)
    if code.null_count():
        row = int(code.is_null().arg_max() or 0)
        raise InputError(
            "the label {got!r} at {row} is not in {argument} {known!r}",
            argument="classes",
            got=column[row],
            row=row,
            known=list(classes),
        )
    return code.to_numpy()


def _counted_classes(column: polars.Series, columns: Columns, classes: Sequence[Any]) -> polars.Series:
    """Return the names of classes for labels that are numbers, if the classes have names."""
    import polars

    found = named(cells.array(column), columns, classes)
    return polars.Series(column.name, found.tolist()) if found.dtype == object else column
