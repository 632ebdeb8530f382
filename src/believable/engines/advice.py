"""What the scores of a refused frame look like: logits, percentages, or labels in the wrong place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw

from believable._check import ROW_SUM_TOLERANCE
from believable.engines.columns import Columns
from believable.engines.expressions import either, flag, number
from believable.engines.frames import Frame
from believable.engines.lists import scored
from believable.engines.reasons import REASONS


def advice_on(frame: Frame, columns: Columns, dropped: Mapping[str, int]) -> str:
    """A clause for the message, or nothing; it costs one more look at the rows, which were refused anyway."""
    outside, unknown = REASONS[2] in dropped, REASONS[5] in dropped
    if not outside and not (unknown and columns.kind == "binary" and columns.named is None):
        return ""
    seen = frame.tally(_Range(columns))
    low, high = float(seen["low"].min()), float(seen["high"].max())
    if outside and low >= 0 and 10 < high <= 100:
        return "; these look like percentages: divide by 100"
    if outside and (low < -1 or high > 1 + ROW_SUM_TOLERANCE):
        return "; these look like logits: pass from_logits=True"
    if unknown and not seen["broken"].sum():
        return f"; the columns look swapped: {columns.scores[0]!r} holds whole numbers, {columns.label!r} does not"
    if unknown:
        return (
            "; labels are 0 and 1 here: pass pos_label=... for others, and shares of annotators as arrays to "
            "Predictions(..., soft_labels=True)"
        )
    return ""


class _Range:
    """The smallest and largest score, and how many are no whole numbers."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def __call__(self, frame: Any) -> Any:
        names = self.columns.names
        frame = scored(frame, self.columns).select(*(nw.col(name).fill_null(0.0) for name in names))
        usable = [~nw.col(name).is_nan() & (nw.col(name).abs() < number(float("inf"))) for name in names]
        frame = frame.with_columns(
            *(either(u, nw.col(n), number(0)).alias(n) for u, n in zip(usable, names, strict=True))
        )
        frame = frame.with_columns(
            nw.min_horizontal(*names, names[0]).alias("low"),  # Spark has no smallest of one column
            nw.max_horizontal(*names, names[0]).alias("high"),
            flag(nw.col(names[0]) != nw.col(names[0]).floor()).alias("broken"),
            nw.lit(0, dtype=nw.Int64).alias("key"),
        )
        frame = frame.select("key", "low", "high", "broken")
        return frame.group_by("key").agg(nw.col("low").min(), nw.col("high").max(), nw.col("broken").sum())
