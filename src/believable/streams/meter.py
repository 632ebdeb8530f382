"""`CalibrationMeter`: statistics of a stream, counted batch by batch."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, Literal, Self, final, get_args

import numpy as np

from believable import _check
from believable._types import Bins, Kind, Notion, Spacing
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.metrics.evaluate import Evaluation, evaluate
from believable.predictions import Predictions, View
from believable.predictions.view import MIXED_PAIRS
from believable.stats import Layout, RunningTotal, Summary
from believable.stats.layout import check_spacing
from believable.stats.saved import field_of, open_saved
from believable.streams.batch import BatchFormat, as_classes, refused

METER_SCHEMA = "believable.CalibrationMeter"


@final
@dataclass(frozen=True, slots=True)
class MeterSettings:
    """The settings of a meter.

    Attributes
    ----------
    n_classes : int or None
        If given, batches with another number of classes are refused.
    format : BatchFormat
        How to read the arrays of a batch.
    notions, cells, spacing
        What to count, as for `Layout.of`.
    """

    n_classes: int | None
    format: BatchFormat
    notions: tuple[Notion | View, ...] | None
    cells: int | None
    spacing: Spacing | tuple[Spacing, ...] | None

    @classmethod
    def of(
        cls,
        n_classes: int | None,
        format: BatchFormat,
        *,
        notions: Sequence[Notion | View] | None = None,
        cells: int | None = None,
        spacing: Spacing | Sequence[Spacing] | None = None,
    ) -> MeterSettings:
        """Check the settings as far as possible before the first batch."""
        n_classes = None if n_classes is None else _check.positive_integer(n_classes, "n_classes", 2)
        of_none = isinstance(notions, Sized) and not len(notions)
        if notions is not None and (isinstance(notions, (str, View)) or not isinstance(notions, Iterable) or of_none):
            raise InputError("{argument} must be a list of notions, got {got!r}", argument="notions", got=notions)
        notions = None if notions is None else tuple(notions)
        for one in notions or ():
            if not isinstance(one, View):
                _check.choice(one, get_args(Notion), "notions")
        check_spacing(spacing)
        settings = cls(
            n_classes,
            format,
            notions,
            cells,
            spacing if spacing is None or isinstance(spacing, str) else tuple(spacing),
        )
        if notions is None and (cells is not None or spacing is not None):
            settings.layout_of("binary", 2, "float64")  # raises now if they are invalid
        return settings

    def layout_of(self, kind: Kind, n_classes: int, dtype: str) -> Layout:
        """Return the layout for predictions of a kind."""
        return Layout.of(kind, n_classes, dtype, notions=self.notions, cells=self.cells, spacing=self.spacing)

    def layout_for(self, rows: Predictions, layout: Layout | None = None) -> Layout:
        """Return the layout for these rows: that of the stream, or a new one for the first batch."""
        dtype = rows.scores.dtype.name
        if self.n_classes is not None and rows.n_classes != self.n_classes:
            raise refused(f"it has {rows.n_classes} classes, but the meter was made for {self.n_classes}")
        if rows.classes != self.format.classes:
            raise refused(f"its classes are {rows.classes}, but those of the meter are {self.format.classes}")
        if layout is None:
            try:
                return self.layout_of(rows.kind, rows.n_classes, dtype)
            except InputError as error:
                raise refused(error) from error
        if (layout.kind, layout.n_classes) != (rows.kind, rows.n_classes):
            raise refused(
                f"it has {rows.kind} predictions of {rows.n_classes} classes, but the stream has {layout.kind} "
                f"predictions of {layout.n_classes}"
            )
        counted = layout.views[0][1].dtype
        if counted != dtype:
            raise refused(
                f"its scores are {dtype}, but earlier ones were {counted}, and bins differ between the two; pass "
                f"{self.format.owner}(..., dtype={counted!r}) to convert every batch"
            )
        return layout

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON, to check that saved counts have the same settings."""
        format, notions = self.format, self.notions
        return {
            "n_classes": self.n_classes,
            "from_logits": format.from_logits,
            "pos_label": _label_as_text(format.pos_label),
            "classes": None if format.classes is None else [_label_as_text(name) for name in format.classes],
            "soft_labels": format.soft_labels,
            "ignore_label": _label_as_text(format.ignore_label),
            "multilabel": format.multilabel,
            "notions": None if notions is None else [v.to_dict() if isinstance(v, View) else v for v in notions],
            "cells": self.cells,
            "spacing": list(self.spacing) if isinstance(self.spacing, tuple) else self.spacing,
            "dtype": format.dtype,
            # Counts that were saved before this setting existed can still be loaded.
            **({} if format.neg_label is None else {"neg_label": _label_as_text(format.neg_label)}),
        }


def _label_as_text(value: Any) -> str | None:
    return None if value is None else repr(value.item() if isinstance(value, np.generic) else value)


class CalibrationMeter:
    """Count predictions and outcomes batch by batch; every metric, interval and audit can be read at any time.

    A batch is checked as by `Predictions` and added to a `Summary` of fixed size. Small batches are checked and kept
    until there are as many scores as cells, and then counted together. The result does not depend on how rows were
    batched (counts exactly, sums up to rounding). Several threads may update one meter; with several processes, use a
    meter in each, and pickle and merge them.

    Parameters
    ----------
    n_classes : int, optional
        If given, batches with another number of classes are refused (2 for 1-D scores). By default the first batch
        decides: binary or a matrix, and how many classes.
    from_logits, pos_label, classes, soft_labels, ignore_label, multilabel
        How to read the arrays of a batch, as for `Predictions`. A batch may lack the positive label; a stream without
        it has no metrics. Ignored rows are counted in `summary.dropped`.
    neg_label : optional
        The label that counts as 0 beside `pos_label`. By default the first other label of the stream; a batch with any
        other label is refused.
    notions, cells, spacing
        What to count, as for `Layout.of`.
    dtype : {"float32", "float64"}, optional
        The type of the scores. Bin edges are rounded to that type (0.3 in float32 is another number than in float64),
        so one stream has one type: that of the first batch, and a later batch of the other type is refused. With
        `dtype` every batch is converted: to float32 by rounding, which keeps 0.3 in the bin of 0.3; to float64 exactly,
        so that the 0.3 of float32, which is slightly larger, goes to the bin above. Logits give float64 scores.

    Attributes
    ----------
    n : int
        The number of rows counted.
    summary : Summary
        The counts so far; later batches do not change it.

    Notes
    -----
    An invalid batch is refused as a whole: the error says why, and the meter does not change. A batch without rows, or
    with only ignored rows or rows of weight 0, is valid and adds nothing.

    Examples
    --------
    >>> meter = CalibrationMeter()
    >>> meter.update([0.1, 0.8], [0, 1])
    >>> meter.update([0.7], [1])
    >>> {name: round(value, 4) for name, value in meter.compute(["ece", "brier"]).items()}
    {'expected_calibration_error': 0.2, 'brier_score': 0.0467}
    >>> other = CalibrationMeter()
    >>> other.update([0.4], [0])
    >>> (meter + other).n
    4
    """

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        from_logits: bool = False,
        pos_label: Any = None,
        classes: Sequence[Any] | None = None,
        soft_labels: bool = False,
        ignore_label: Any = None,
        multilabel: bool = False,
        notions: Sequence[Notion | View] | None = None,
        cells: int | None = None,
        spacing: Spacing | Sequence[Spacing] | None = None,
        dtype: Literal["float32", "float64"] | None = None,
        neg_label: Any = None,
    ) -> None:
        described = BatchFormat(
            from_logits,
            pos_label,
            as_classes(classes),
            soft_labels,
            ignore_label,
            multilabel,
            dtype,
            neg_label=neg_label,
        )
        self._settings = MeterSettings.of(n_classes, described, notions=notions, cells=cells, spacing=spacing)
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Reset the counts; the settings stay."""
        with self._lock:
            self._layout: Layout | None = None
            self._total: RunningTotal[Summary] = RunningTotal()
            self._waiting: list[Predictions] = []
            self._scores_waiting = self._rows_waiting = self._rows_counted = self._ignored = 0
            self._positive = False
            self._negative: Any = None
            self._are_pairs: bool | None = None  # None before the first row

    # --- counting ---

    def update(self, predictions: Any, actuals: Any = None, sample_weight: Any = None) -> None:
        """Count a batch: (predictions, actuals) arrays, or a `Predictions`. An invalid one changes nothing."""
        rows, ignored, positive, negative = self._settings.format.check(predictions, actuals, sample_weight)
        if rows is None:
            with self._lock:
                self._ignored += ignored
            return
        if rows.borrowed:
            rows = rows.take(np.arange(len(rows)))
        counted = None
        with self._lock:
            layout = self._settings.layout_for(rows, self._layout)
        if rows.scores.size >= _enough(layout):  # checked outside the lock, so that other threads need not wait
            counted = Summary.of(rows, layout)
        with self._lock:
            layout = self._settings.layout_for(rows, self._layout)
            if self._are_pairs not in (None, rows.are_pairs):
                raise refused(MIXED_PAIRS)
            self._negative = self._settings.format.same_negative(self._negative, negative)
            if counted is not None:
                self._add(counted)
            else:
                self._waiting.append(rows)
                self._rows_waiting += len(rows)
                self._scores_waiting += rows.scores.size
                if self._scores_waiting >= _enough(layout):
                    self._fold()
            self._layout, self._are_pairs = layout, rows.are_pairs
            self._ignored += ignored
            self._positive |= positive

    def consume(self, batches: Iterable[Any]) -> Self:
        """Update with every batch of an iterator of (predictions, actuals) or (predictions, actuals, weight).

        With a model and a loader: `meter.consume((model(x), y) for x, y in loader)`. If a batch is refused, the error
        names it; earlier batches are counted.

        Examples
        --------
        >>> CalibrationMeter().consume([([0.1, 0.8], [0, 1]), ([0.7], [1])]).n
        3
        """
        if not isinstance(batches, Iterable) and not hasattr(batches, "__getitem__"):
            raise InputError(
                "{argument} must be an iterator of (predictions, actuals), got a {got}",
                argument="batches",
                got=type(batches).__name__,
            )
        for i, batch in enumerate(batches):
            try:
                if isinstance(batch, Predictions):
                    self.update(batch)
                elif isinstance(batch, (tuple, list)) and len(batch) in (2, 3):
                    self.update(*batch)
                else:
                    raise InputError("it must be (predictions, actuals) or (predictions, actuals, sample_weight)")
            except InputError as error:
                raise InputError(f"batch {i} of the stream (from 0): {error}") from error
        return self

    def merge(self, other: CalibrationMeter | Summary) -> Self:
        """Add the counts of another meter, or of a pass over a file or a partition."""
        if not isinstance(other, (CalibrationMeter, Summary)):
            raise InputError(f"a CalibrationMeter or a Summary can be merged, got a {type(other).__name__}")
        positive, negative = True, None
        if isinstance(other, CalibrationMeter):
            summary, positive, ignored = other._counted()
            negative = other._negative
        else:
            summary, ignored = replace(other, dropped={}), other.dropped.get("ignored label", 0)
        with self._lock:
            if summary is not None:
                self._check_mergeable(summary)
                if None not in (self._negative, negative) and self._negative != negative:
                    raise MergeError(
                        f"cannot merge statistics: {self._negative!r} counted as 0 in one, {negative!r} in the other"
                    )
                if self._are_pairs not in (None, summary.are_pairs):
                    raise MergeError(f"cannot merge statistics: {MIXED_PAIRS}")
                self._fold()
                self._add(summary)
                self._layout, self._are_pairs = summary.layout, summary.are_pairs
            self._ignored += ignored
            self._positive |= positive
            self._negative = negative if self._negative is None else self._negative
        return self

    def __add__(self, other: CalibrationMeter | Summary) -> CalibrationMeter:
        """Return a new meter with the counts of both."""
        if not isinstance(other, (CalibrationMeter, Summary)):
            return NotImplemented
        return self._made(self._settings).merge(self).merge(other)

    # --- reading ---

    @property
    def n(self) -> int:
        """The number of rows counted."""
        with self._lock:
            return self._rows_waiting + self._rows_counted

    @property
    def summary(self) -> Summary:
        """The counts so far, for `audit`, `interval`, `evaluate`, saving, or merging."""
        summary, positive, ignored = self._counted()
        if summary is None:
            raise UndefinedError("the meter has counted no rows yet")
        if not positive:
            raise UndefinedError(
                "{pos_label=} has not occurred in {n:,} rows; if there are truly no positives, pass "
                "classes=[negative, positive] instead",
                pos_label=self._settings.format.pos_label,
                argument="pos_label",
                n=summary.n,
            )
        return replace(summary, dropped={"ignored label": ignored} if ignored else {})

    def compute(
        self, metrics: Iterable[str] | None = None, *, n_bins: Bins | None = None, notion: Notion | None = None
    ) -> Evaluation:
        """Return metrics by name, by default all that the counts allow; as `evaluate`."""
        return evaluate(self.summary, metrics=metrics, n_bins=n_bins, notion=notion)

    def __repr__(self) -> str:
        kind = "" if self._layout is None else f", kind={self._layout.kind!r}"
        return f"CalibrationMeter(n={self.n:,}{kind})"

    # --- saving ---

    def state_dict(self) -> dict[str, Any]:
        """Return the counts as a dictionary for JSON, with the name and version of its schema."""
        summary, positive, ignored = self._counted()
        return {
            "schema": METER_SCHEMA,
            "version": 1,
            "settings": self._settings.to_dict(),
            "summary": None if summary is None else summary.to_dict(),
            "ignored": ignored,
            "positive": int(positive),
            "negative": self._negative,
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Replace the counts with those saved by a meter with the same settings.

        A damaged or foreign state, or one of other settings, is refused and changes nothing.
        """
        open_saved(saved, METER_SCHEMA, 1)
        settings = self._settings.to_dict()
        if saved.get("settings") != settings:
            found = saved.get("settings")
            differ = [name for name in settings if not isinstance(found, dict) or found.get(name) != settings[name]]
            raise SchemaError(f"the saved meter was made with other settings of {', '.join(differ) or 'settings'}")
        ignored, positive = field_of(saved, "ignored", int), field_of(saved, "positive", int)
        if "summary" not in saved:
            raise SchemaError("the saved meter is damaged: it has no summary")
        summary = None if saved.get("summary") is None else Summary.from_dict(field_of(saved, "summary", dict))
        negative = saved.get("negative")  # absent from counts that were saved before
        if ignored < 0 or positive not in (0, 1) or not isinstance(negative, (str, int, float, NoneType)):
            raise SchemaError("the saved meter is damaged: its counts are not counts")
        other = self._made(self._settings)
        if summary is not None:
            try:
                other.merge(summary)
            except MergeError as error:
                raise SchemaError(f"the saved meter is damaged: {error}") from error
        with self._lock:
            self._layout, self._total, self._waiting = other._layout, other._total, []
            self._are_pairs = other._are_pairs
            self._rows_counted, self._scores_waiting, self._rows_waiting = other._rows_counted, 0, 0
            self._ignored, self._positive, self._negative = ignored, bool(positive), negative

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            self._fold()
            state = {name: value for name, value in self.__dict__.items() if name != "_lock"}
            # Copies, because other threads go on filling the list and the total.
            return state | {"_waiting": [], "_total": RunningTotal(self._total.value)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"_are_pairs": None} | state)  # pickles of earlier versions do not say
        self._lock = threading.Lock()

    # --- internals; the lock is held while state is read or written ---

    def _fold(self) -> None:
        """Count the waiting rows."""
        if not self._waiting:
            return
        rows, layout = _joined(self._waiting), self._layout or self._settings.layout_for(self._waiting[0])
        self._add(Summary.of(rows, layout))
        self._waiting, self._scores_waiting, self._rows_waiting = [], 0, 0

    def _add(self, summary: Summary) -> None:
        self._total.add(replace(summary, dropped={}))  # ignored rows are counted separately
        self._rows_counted += summary.n

    def _counted(self) -> tuple[Summary | None, bool, int]:
        """Return the summary of all rows, whether a positive label occurred, and the ignored rows, consistently."""
        with self._lock:
            self._fold()
            return self._total.value, self._positive, self._ignored

    def _check_mergeable(self, summary: Summary) -> None:
        if self._settings.n_classes is not None and summary.n_classes != self._settings.n_classes:
            raise MergeError(f"cannot merge {summary!r}: the meter was made for {self._settings.n_classes} classes")
        if summary.by:
            raise MergeError("cannot merge a summary by subgroups into a meter, which has none")
        names = None if self._settings.format.classes is None else tuple(map(str, self._settings.format.classes))
        if summary.classes != names:
            raise MergeError(f"cannot merge statistics: their classes differ, {names} and {summary.classes}")
        dtype = summary.cells[0].grid.dtype
        wanted = self._layout or self._settings.layout_of(
            summary.kind, summary.n_classes, self._settings.format.dtype or dtype
        )
        if (summary.kind == "multilabel") != self._settings.format.multilabel or summary.layout != wanted:
            raise MergeError(
                f"cannot merge statistics: {summary!r} of {dtype} scores has another layout than the meter"
            )

    @classmethod
    def _made(cls, settings: MeterSettings) -> Self:
        """Return an empty meter with these settings."""
        new = cls.__new__(cls)
        new._settings, new._lock = settings, threading.Lock()
        new.reset()
        return new


def _enough(layout: Layout) -> int:
    """Return how many scores to collect: as many as cells, so that counting costs more than adding tables."""
    return sum(view.n_strata * len(grid) for view, grid in layout.views)


def _joined(batches: list[Predictions]) -> Predictions:
    """Return checked batches of one kind as one."""
    if len(batches) == 1:
        return batches[0]
    weights = None
    if any(batch.weights is not None for batch in batches):
        weights = np.concatenate([np.ones(len(one)) if one.weights is None else one.weights for one in batches])
    return batches[0].trusting(
        scores=np.concatenate([one.scores for one in batches]),
        labels=np.concatenate([one.labels for one in batches]),
        weights=weights,
        n_ignored=0,
        borrowed=False,
    )
