"""`summarize`: count a data frame on its own engine into a statistic that every metric can be read from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import narwhals as nw
import numpy as np

from believable import _check
from believable._check import ROW_SUM_TOLERANCE
from believable._types import Notion, Spacing
from believable.binning import Edges
from believable.engines.cells import either, flag, number
from believable.engines.columns import (
    FrameColumns,
    is_listed,
    label_rules,
    numeric,
    present,
    score_columns,
    score_type,
    scored,
    width_of,
)
from believable.engines.frames import NUMBER_TYPES, SEQUENCE_TYPES, Frame
from believable.engines.rows import REASONS_IN_WORDS, reasons_in_words, refuse_rows, rows_in_words
from believable.engines.sums import (
    Tallied,
    assembled,
    counts_of,
    good_part,
    levels_of,
    planned,
    reasons_of,
    second_class,
)
from believable.engines.tally import GroupBy
from believable.errors import Hint, InputError
from believable.predictions.view import PAIRS_ARE_1D
from believable.stats.bins import BinStats
from believable.stats.layout import Layout
from believable.stats.summary import MAX_SUBGROUP_LEVELS, Summary

COUNTED_NOTIONS = ("binary", "confidence", "top_label", "classwise")


def summarize(
    frame: Any,
    prob: str | Sequence[str] = "p",
    label: str = "y",
    *,
    weight: str | None = None,
    by: str | Sequence[str] = (),
    bins: int | Edges | None = None,
    cells: int | None = None,
    spacing: Spacing | Sequence[Spacing] | None = None,
    notions: Notion | Sequence[Notion] | None = None,
    from_logits: bool = False,
    pos_label: Any = None,
    neg_label: Any = None,
    classes: Sequence[Any] | None = None,
    on_invalid: Literal["error", "drop"] = "error",
    pairs: bool = False,
    python_workers: bool = False,
) -> Summary | BinStats:
    """Count the rows of a data frame on its own engine: one group-by by cell, of which only the result is collected.

    The frame may be of polars (eager or lazy), pandas, pyarrow, duckdb, ibis, dask or pyspark. Bins and uniform cells
    are exactly those of `Edges` and `Grid` on every engine, also for float32. Logit-spaced cells use the engine's own
    logarithm: a score within rounding of an edge may fall into the neighbouring cell, and so may probabilities that the
    engine computes from logits. Sums agree with `Summary.of` to about 1e-12. Independent columns (multilabel) and soft
    labels are not supported here: pass those as `Predictions` to `Summary.of`.

    Parameters
    ----------
    frame : data frame
    prob : str or sequence of str
        A column of P(y = 1); columns in the order of the classes; the prefix of columns named by class (p_0, p_1, … or
        p_cat, p_dog, …); or a column of lists, arrays or Spark vectors. Decimals are read as float64, text is refused.
    label : str
        A column of 0 and 1, booleans, or class numbers; of any other values with `pos_label` or `classes`.
    weight : str, optional
        A column of importance weights; rows of weight 0 are left out.
    by : str or sequence of str
        Columns of subgroups, with at most 50 values each; rows without a value are the subgroup "missing".
    bins : int or Edges, optional
        Count only these bins, of one notion: the result is a `BinStats`.
    cells, spacing, notions
        What a `Summary` counts; see `Layout.of`. Notions are "binary", "confidence", "classwise" and "top_label".
    from_logits : bool
        Whether the scores are logits; the engine computes the sigmoid or softmax in float64.
    pos_label, neg_label, classes
        The label that counts as 1, and the one that counts as 0 if there are more than two; or the labels in the order
        of the columns. Rows with any other label are invalid.
    on_invalid : {"error", "drop"}
        What to do with invalid rows: those with missing scores, scores outside [0, 1] or that do not sum to 1, missing
        or unknown labels, missing, negative or infinite weights. An error says how many and why; "drop" leaves them
        out, and `Summary.dropped` says how many and why. With `bins`, a warning says so.
    pairs : bool
        The scores are confidences in answers, and the labels say whether they were right; see `Predictions`.
    python_workers : bool
        On pyspark, let Python workers count the partitions, up to twice as fast as a query. This package must be
        installed on the workers.

    Returns
    -------
    Summary or BinStats
        A `Summary` without `bins`: pass it to `evaluate` and `audit`, or add it to other summaries.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"p": [0.1, 0.8, 0.7, None], "y": [0, 1, 0, 1], "site": ["a", "b", "b", "b"]})
    >>> summary = summarize(frame, by="site", on_invalid="drop")
    >>> summary
    Summary(n=3, kind='binary', cells of binary, binary (logit), by site)
    >>> summary.dropped, summary.by["site"]["b"].n
    ({'missing score': 1}, 2)
    >>> summarize(frame.lazy().drop_nulls(), bins=5).n
    array([1, 2])
    """
    _check.choice(on_invalid, ("error", "drop"), "on_invalid")
    _check.flag(pairs, "pairs")
    opened = Frame.of(frame, python_workers)
    by = (by,) if isinstance(by, str) else tuple(by)
    asked = _Asked(prob, label, weight, by, bool(from_logits), pos_label, neg_label, classes)
    columns, names = _columns(opened, asked)
    if pairs and columns.kind != "binary":
        raise InputError(PAIRS_ARE_1D, argument="pairs")
    opened = opened.only([*columns.scores, label, *asked.weights], by)
    if bins is not None:
        if by or cells is not None or spacing is not None:
            raise InputError("bins= counts only bins, of all rows: leave out either bins, or by, cells and spacing")
        counted = _bins(opened, columns, bins, notions, on_invalid)
        return counted.as_pairs() if pairs else counted
    layout = _layout(columns, notions, cells, spacing)
    for name in by:
        _few_levels(opened, name)
    summary = _summary(opened, columns, layout, names, on_invalid)
    return summary.as_pairs() if pairs else summary


# --- what to count ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """The columns that were named, and their meaning; see `summarize`."""

    prob: str | Sequence[str]
    label: str
    weight: str | None
    by: tuple[str, ...]
    from_logits: bool
    pos_label: Any
    neg_label: Any
    classes: Sequence[Any] | None

    @property
    def weights(self) -> tuple[str, ...]:
        """The column of weights, as a tuple; empty if there is none."""
        return () if self.weight is None else (self.weight,)


def _columns(frame: Frame, asked: _Asked) -> tuple[FrameColumns, tuple[str, ...] | None]:
    """Return the columns to read, and the names of the classes, if any."""
    schema, label = frame.schema(), asked.label
    present(schema, label, "label")
    scores, classes = score_columns(schema, asked.prob, asked.classes, [label, *asked.by, *asked.weights])
    if label in scores:
        raise InputError(f"column {label!r} cannot hold both the scores and the labels")
    for name in (*asked.by, *asked.weights):
        present(schema, name, "weight" if name == asked.weight else "by")
    frame.can_ask_for(schema, [*scores, label, *asked.by, *asked.weights])
    for name in asked.by:
        objects = schema[name] == nw.Object and isinstance(frame.first(name), (dict, *SEQUENCE_TYPES))
        if objects or schema[name].is_nested():
            raise InputError(f"by column {name!r} is of type {schema[name]}, which has no subgroups")
    for name in (label, *asked.weights):
        schema[name] = frame.settled(name, schema[name])
    for name in scores:
        schema[name] = frame.settled(name, schema[name], (*NUMBER_TYPES, *SEQUENCE_TYPES))
    for name in asked.weights:
        numeric(schema[name], name, "weights", frame.cast_advice)
    dtype, width = score_type(schema, scores, asked.from_logits, frame.cast_advice), None
    if len(scores) == 1:
        dtype, width = _lists(frame, schema[scores[0]], scores[0], dtype, asked, classes)
    ndim, n_classes = (1, 2) if len(scores) == 1 and width is None else (2, width or len(scores))
    _check.refuse_contradictions(ndim, n_classes, asked.pos_label, classes, False, None, False, asked.neg_label)
    if asked.pos_label is not None and asked.neg_label is None:
        _one_negative(frame, label, asked.pos_label)
    columns = FrameColumns(
        scores=tuple(scores),
        label=label,
        weight=asked.weight,
        by=asked.by,
        dtype=dtype,
        width=width,
        from_logits=asked.from_logits,
        **label_rules(schema, label, n_classes, asked.pos_label, classes, asked.neg_label),
    )
    return columns, None if classes is None else tuple(map(str, classes))


def _one_negative(frame: Frame, label: str, pos_label: Any) -> None:
    """Raise if a column has more than two labels, and only the positive one was named."""
    found = [one for one in frame.values(label, MAX_SUBGROUP_LEVELS + 1) if not _check.is_missing(one)]
    if len(found) > 2:
        several = "more than 50" if len(found) > MAX_SUBGROUP_LEVELS else str(len(found))
        raise InputError(
            "column {label!r} has {several} labels ({found}), but {pos_label=} names only one; {hint}",
            argument="pos_label",
            label=label,
            several=several,
            found=_check.in_a_list(sorted(map(_as_written, found))),
            pos_label=pos_label,
            hint=Hint.NAME_THE_NEGATIVE_IN_FILE,
        )


def _as_written(label: Any) -> str:
    """Return a label as a user wrote it: on some engines, whole numbers beside missing ones are floats."""
    return repr(int(label) if isinstance(label, (float, Decimal)) and float(label).is_integer() else label)


def _lists(
    frame: Frame, kind: Any, name: str, dtype: str, asked: _Asked, classes: Sequence[Any] | None
) -> tuple[str, int | None]:
    """Return the type of the scores, and the length of lists (None if the column holds numbers)."""
    first = frame.first(name) if kind in (nw.Object, nw.List) else None
    if not is_listed(kind, first):
        return dtype, None
    if isinstance(first, np.ndarray) and first.dtype in (np.float16, np.float32) and not asked.from_logits:
        dtype = "float32"  # pandas holds lists as objects
    if any(isinstance(one, str) for one in (() if first is None else first)):
        raise InputError(f"column {name!r} holds lists of text, not scores: cast it to numbers first")
    width = len(classes) if classes is not None else width_of(frame.rows, name, first)
    if width < 2:
        raise InputError(f"the lists of column {name!r} have {width} scores: at least two classes are needed")
    return dtype, width


def _layout(
    columns: FrameColumns,
    notions: Notion | Sequence[Notion] | None,
    cells: int | None = None,
    spacing: Spacing | Sequence[Spacing] | None = None,
) -> Layout:
    if isinstance(notions, str):
        notions = [notions]
    for one in notions or ():
        if one not in COUNTED_NOTIONS:
            raise InputError(f"engines count the notions {', '.join(COUNTED_NOTIONS)}, not {one!r}")
    return Layout.of(columns.kind, columns.n_classes, columns.dtype, notions=notions, cells=cells, spacing=spacing)


def _few_levels(frame: Frame, name: str) -> None:
    if len(frame.values(name, MAX_SUBGROUP_LEVELS + 1)) > MAX_SUBGROUP_LEVELS:
        raise InputError(
            f"by column {name!r} has more than {MAX_SUBGROUP_LEVELS} values: choose a column of subgroups, or cut its "
            "numbers into ranges first"
        )


# --- counting ---------------------------------------------------------------------------------------------------------


def _summary(
    frame: Frame, columns: FrameColumns, layout: Layout, names: tuple[str, ...] | None, on_invalid: str
) -> Summary:
    tallies = planned(columns, layout)
    tallied = [frame.tally(tallies[0])]
    dropped = _dropped(frame, columns, tallied[0], on_invalid)
    tallied += [frame.tally(one) for one in tallies[1:]]
    whole = assembled(layout, tallies, [good_part(one) for one in tallied], names)
    within, levels = layout.for_subgroups(), {}
    for j, name in enumerate(columns.by):
        tallies = planned(columns, within, by=j)
        parts = [levels_of(good_part(frame.tally(one))) for one in tallies]
        levels[name] = {level: assembled(within, tallies, [part[level] for part in parts], names) for level in parts[0]}
    return replace(whole, by=levels, dropped=dropped)


def _bins(
    frame: Frame, columns: FrameColumns, bins: int | Edges, notions: Notion | Sequence[Notion] | None, on_invalid: str
) -> BinStats:
    views = list(dict.fromkeys(view for view, _ in _layout(columns, notions).views))
    if notions is not None and len(views) > 1:
        raise InputError("bins= counts one notion: pass one, such as notions=['classwise']")
    if isinstance(bins, tuple) and len(bins) == 1:  # a BinStats has edges
        bins = bins[0]
    view, edges = views[0], bins if isinstance(bins, Edges) else Edges.uniform(bins, columns.dtype)
    if edges.dtype != columns.dtype:
        raise InputError(
            f"edges rounded to {edges.dtype} cannot sort {columns.dtype} scores: make them with dtype={columns.dtype!r}"
        )
    of_two = view.notion == "binary" and columns.kind == "multiclass"  # use the second of two columns
    pairing: Any = "classwise" if of_two else view.notion
    tallied = frame.tally(GroupBy(columns=columns, pairing=pairing, sorts=(edges,), scores=False))
    if pairing == "classwise":  # the rows were filtered, so count the others separately
        reasons = frame.tally(
            GroupBy(columns=columns, pairing="confidence", sorts=(Edges.uniform(1, columns.dtype),), scores=False)
        )
    else:
        reasons = tallied
    dropped = _dropped(frame, columns, reasons, on_invalid)
    if dropped:
        warnings.warn(f"{rows_in_words(dropped, int(reasons['n'].sum()))} and were left out", stacklevel=3)
    part = good_part(tallied)
    part = second_class(part, (edges,)) if of_two else part
    return BinStats.from_columns(view, edges, counts_of(part, (edges,), 0))


def _dropped(frame: Frame, columns: FrameColumns, tallied: Tallied, on_invalid: str) -> dict[str, int]:
    """Return the number of invalid rows by reason; raise unless they may be dropped, or if no row is left."""
    dropped = reasons_in_words(reasons_of(tallied), columns.from_logits)
    part = good_part(tallied)
    counted = int(part["n"].sum())
    if dropped and on_invalid == "error":
        refuse_rows(dropped, int(tallied["n"].sum()), _advice(frame, columns, dropped))
    if not counted:
        left = f"; {sum(dropped.values()):,} rows were dropped" if dropped else ""
        raise InputError(f"the frame has no rows to count{left}")
    if columns.pos_label and columns.named is not None and not part["ny"].any():
        raise InputError(
            "{pos_label=} does not occur in the valid rows of column {label!r}; if there are truly no positives, pass "
            "labels as 0 and 1",
            pos_label=columns.named[0],
            argument="pos_label",
            label=columns.label,
        )
    return dropped


# --- advice about invalid scores: logits, percentages, or labels in the wrong column ----------------------------------


def _advice(frame: Frame, columns: FrameColumns, dropped: Mapping[str, int]) -> str:
    """Return a clause for the message, or ""; this takes one more pass over the rows."""
    outside, unknown = REASONS_IN_WORDS[2] in dropped, REASONS_IN_WORDS[5] in dropped
    if not outside and not (unknown and columns.kind == "binary" and columns.named is None):
        return ""
    seen = frame.tally(_Range(columns))
    low, high = float(seen["low"].min()), float(seen["high"].max())
    if outside and low >= 0 and 10 < high <= 100:
        return f"; {Hint.PERCENTAGES}"
    if outside and (low < -1 or high > 1 + ROW_SUM_TOLERANCE):
        return f"; {Hint.LOGITS_IN_FRAME}"
    if unknown and not seen["broken"].sum():
        return f"; the columns look swapped: {columns.scores[0]!r} holds whole numbers, {columns.label!r} does not"
    if unknown:
        return (
            "; labels must be 0 and 1: for others, pass pos_label=...; for shares of annotators, use arrays and "
            "Predictions(..., soft_labels=True)"
        )
    return ""


class _Range:
    """The smallest and largest score, and how many are not integers."""

    def __init__(self, columns: FrameColumns) -> None:
        self.columns = columns

    def __call__(self, frame: Any) -> Any:
        names = self.columns.names
        frame = scored(frame, self.columns).select(*(nw.col(name).fill_null(0.0) for name in names))
        usable = [~nw.col(name).is_nan() & (nw.col(name).abs() < number(float("inf"))) for name in names]
        frame = frame.with_columns(
            *(either(u, nw.col(n), number(0)).alias(n) for u, n in zip(usable, names, strict=True))
        )
        frame = frame.with_columns(
            nw.min_horizontal(*names, names[0]).alias("low"),  # Spark has no minimum over a single column
            nw.max_horizontal(*names, names[0]).alias("high"),
            flag(nw.col(names[0]) != nw.col(names[0]).floor()).alias("broken"),
            nw.lit(0, dtype=nw.Int64).alias("key"),
        )
        frame = frame.select("key", "low", "high", "broken")
        return frame.group_by("key").agg(nw.col("low").min(), nw.col("high").max(), nw.col("broken").sum())
