"""Invalid rows: the reasons, and the messages about them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

import narwhals as nw

from believable._check import HEAVIEST_WEIGHT, LIGHTEST_WEIGHT, ROW_SUM_TOLERANCE
from believable.engines.cells import either, flag, number, sigmoid
from believable.engines.columns import FrameColumns, scored
from believable.errors import InputError

COUNTABLE, WITHOUT_WEIGHT = 0, 9
REASONS_IN_WORDS = {
    1: "missing score",
    2: "score outside [0, 1]",
    3: "row that does not sum to 1",
    4: "missing label",
    5: "unknown label",
    6: "missing weight",
    7: "weight negative or beyond 1e±100",
}
INFINITE_LOGIT = "infinite logit"


def reasons_in_words(counts: Mapping[int, int], from_logits: bool) -> dict[str, int]:
    """Return the number of rows by reason, in words; rows of weight 0 are not invalid."""
    words = REASONS_IN_WORDS | ({2: INFINITE_LOGIT} if from_logits else {})
    return {words[reason]: counts[reason] for reason in sorted(counts) if reason in words and counts[reason]}


def refuse_rows(dropped: Mapping[str, int], rows: int, advice: str = "") -> None:
    """Raise if rows are invalid."""
    if not dropped:
        return
    raise InputError(
        f"{rows_in_words(dropped, rows)}{advice}; repair them, or pass on_invalid='drop' to leave them out and count "
        "them in summary.dropped"
    )


def rows_in_words(dropped: Mapping[str, int], rows: int) -> str:
    """Return a sentence that says how many rows cannot be counted, and why."""
    why = ", ".join(f"{reason}: {n:,}" for reason, n in dropped.items())
    return f"{sum(dropped.values()):,} of {rows:,} rows cannot be counted ({why})"


# ----------------------------------------------------------------------------------------------------------------------
# checked rows: scores, label and weight of type float64, and a reason for each invalid row


def checked(frame: Any, columns: FrameColumns) -> Any:
    """Return the frame with the columns p0 to pK-1, y, w (1 without weights), reason, and by0, by1, … as they are.

    Where `reason` is not 0 the row is invalid, and its numbers are zeros, so that sums never become NaN.
    """
    names = columns.names
    label = nw.col(columns.label)
    weight = number(1) if columns.weight is None else nw.col(columns.weight).cast(nw.Float64)
    unknown = label.is_null() if columns.text else label.is_null() | _as_number(label, columns).is_nan()
    frame = scored(
        frame,
        columns,
        _label(label, columns).alias("label_"),
        unknown.alias("label_missing"),
        weight.alias("weight_"),
        *(nw.col(name).alias(f"by{j}") for j, name in enumerate(columns.by)),
    )

    parts = [*names, "label_", "weight_"]
    nulls = [nw.col(name).is_null().alias(f"{name}_null") for name in parts]
    frame = frame.with_columns(*nulls, *(nw.col(name).fill_null(0.0) for name in parts))
    missing, outside = (_missing(name) for name in names), (_outside(name, columns) for name in names)
    frame = frame.with_columns(reduce(or_, missing).alias("scores_null"), reduce(or_, outside).alias("scores_outside"))
    if columns.from_logits:
        frame = frame.with_columns(*(_zero_unless_usable(name) for name in names))
        frame = _from_logits(frame, names)
    frame = frame.with_columns(_reason(columns).cast(nw.Int64).alias("reason"))
    good = nw.col("reason") == nw.lit(COUNTABLE, dtype=nw.Int64)
    kept = {"y": "label_", "w": "weight_"} | {name: name for name in names}
    clean = [either(good, nw.col(old), number(0)).alias(new) for new, old in kept.items()]
    return frame.select(*clean, "reason", *(f"by{j}" for j in range(len(columns.by))))


def _missing(name: str) -> nw.Expr:
    """Return whether a value is null or NaN, which some engines distinguish."""
    return nw.col(f"{name}_null") | nw.col(name).is_nan()


def _outside(name: str, columns: FrameColumns) -> nw.Expr:
    p = nw.col(name)
    if columns.from_logits:
        return p.abs() == number(float("inf"))
    return (p < number(0)) | (p > number(1))


def _zero_unless_usable(name: str) -> nw.Expr:
    usable = ~(nw.col("scores_null") | nw.col("scores_outside"))
    return either(usable, nw.col(name), number(0)).alias(name)


def _from_logits(frame: Any, names: list[str]) -> Any:
    if len(names) == 1:
        return frame.with_columns(sigmoid(nw.col(names[0])).alias(names[0]))
    frame = frame.with_columns(nw.max_horizontal(*names).alias("largest"))
    frame = frame.with_columns(*((nw.col(name) - nw.col("largest")).exp().alias(name) for name in names))
    frame = frame.with_columns(nw.sum_horizontal(*names).alias("together"))
    return frame.with_columns(*((nw.col(name) / nw.col("together")).alias(name) for name in names))


def _label(label: nw.Expr, columns: FrameColumns) -> nw.Expr:
    """Return 0 or 1, or the number of the class; -1 for any other value."""
    if columns.named is None:
        return _as_number(label, columns)
    label = label.cast(nw.String) if columns.text else _as_number(label, columns)
    if columns.pos_label:
        return flag(label == _constant(columns.named[0]))
    none = number(len(columns.named))
    places = [  # with names: see `_pairs` in tally.py
        either(label == _constant(one), number(k), none).alias(f"place{k}") for k, one in enumerate(columns.named)
    ]
    place = nw.min_horizontal(*places)
    return either(place == none, number(-1), place)


def _as_number(label: nw.Expr, columns: FrameColumns) -> nw.Expr:
    return (label.cast(nw.Int64) if columns.boolean else label).cast(nw.Float64)


def _constant(value: Any) -> nw.Expr:
    return nw.lit(value, dtype=nw.String) if isinstance(value, str) else number(value)


def _reason(columns: FrameColumns) -> nw.Expr:
    y, w = nw.col("label_"), nw.col("weight_")
    unusable = (w < number(0)) | (w > number(HEAVIEST_WEIGHT)) | ((w > number(0)) & (w < number(LIGHTEST_WEIGHT)))
    tests = [
        (1, nw.col("scores_null")),
        (2, nw.col("scores_outside")),
        (4, nw.col("label_missing") | _missing("label_")),
        (5, (y < number(0)) | (y > number(columns.n_classes - 1)) | (y != y.floor())),
        (6, _missing("weight_")),
        (7, unusable),
        (WITHOUT_WEIGHT, w == number(0)),
    ]
    if len(columns.names) > 1 and not columns.from_logits:
        apart = (nw.sum_horizontal(*columns.names) - number(1)).abs()
        tests.insert(2, (3, apart > number(ROW_SUM_TOLERANCE)))
    made = number(COUNTABLE)
    for reason, test in reversed(tests):
        made = either(test, number(reason), made)
    return made
