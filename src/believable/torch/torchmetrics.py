"""`CalibrationError`: any metric of this package as a `torchmetrics.Metric`."""

from __future__ import annotations

import zlib
from typing import Any

import torch
from torch import Tensor

from believable import _check, _optional
from believable._types import Notion
from believable.errors import InputError, MergeError, UndefinedError
from believable.metrics.table import find_metric
from believable.torch.counting.meter import COUNTING_LOCK, device_after
from believable.torch.counting.reader import TallyReader
from believable.torch.counting.rows import rows_of, whole_or_none
from believable.torch.counting.state import count
from believable.torch.counting.tally import Tally, layout_for

try:
    from torchmetrics import Metric
except ImportError as error:
    raise _optional.missing("CalibrationError needs", "torchmetrics") from error

SCORE_TYPES = ("float32", "float64")
# The notion for classes, if a metric names none.
DEFAULT_NOTION = {"sums": "confidence", "bins": "confidence", "cells": "classwise"}


class CalibrationError(Metric):
    """A calibration metric by name, with the states, syncing and logging of torchmetrics.

    The states are sums in float64 of fixed size: for a metric with uniform bins, a few numbers per bin. Bins are
    right-closed, and the last includes 1, as everywhere in this package, so values differ from those of
    `torchmetrics.CalibrationError` where scores lie on edges.

    Parameters
    ----------
    metric : str
        A name or alias of `believable.METRICS`: "ece", "mce", "rmsce", "brier", ...
    n_bins : int
        The number of bins, for binned metrics.
    n_classes : int, optional
        The number K of columns on axis 1. By default one event, with predictions in the shape of the targets.
    notion : str, optional
        "confidence", "classwise" or "top_label" for classes, if the metric leaves the choice.
    from_logits : bool
        Whether predictions are logits; this is never guessed.
    ignore_index : int, optional
        The target of rows to leave out.
    **kwargs
        Arguments of `torchmetrics.Metric`: `dist_sync_on_step`, `process_group`, `sync_on_compute` and so on.

    Notes
    -----
    The value is NaN where it is undefined, for example without rows. On a GPU, invalid rows are reported by `compute`.

    Examples
    --------
    >>> ece = CalibrationError("ece", n_bins=10)
    >>> ece.update(torch.tensor([0.1, 0.8, 0.7]), torch.tensor([0, 1, 1]))
    >>> round(ece.compute().item(), 4)
    0.2
    """

    is_differentiable = False
    higher_is_better = False  # no annotation: as text, which the import above makes it, TorchScript cannot read it
    full_state_update = False

    def __init__(
        self,
        metric: str = "ece",
        *,
        n_bins: int = 15,
        n_classes: int | None = None,
        notion: Notion | None = None,
        from_logits: bool = False,
        ignore_index: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        row = find_metric(metric)
        if row.needs in ("rows", "pairs"):
            raise InputError(f"{row.name} is read from the predictions themselves: it cannot be counted in batches")
        self.metric = row.name
        self.n_bins = _check.positive_integer(n_bins, "n_bins")
        self.n_classes = None if n_classes is None else _check.positive_integer(n_classes, "n_classes", 2)
        kind = "binary" if n_classes is None else "multiclass"
        if kind not in row.kinds:
            raise InputError(f"{row.name} is defined for {' and '.join(row.kinds)} predictions, not for {kind} ones")
        if notion is not None and ("notion" not in row.options or n_classes is None):
            why = "one event has" if n_classes is None else f"{row.name} has"
            raise InputError(f"{why} no choice of notion, got notion={notion!r}: leave it out")
        self.notion, self.from_logits, self.ignore_index = notion, bool(from_logits), whole_or_none(ignore_index)
        # torchmetrics has this as a constant of the class; here it depends on the metric.
        self.__dict__["higher_is_better"] = {"lower": False, "higher": True, None: None}[row.direction]
        self._seen: tuple[str, Any] = ("", None)  # the last type of scores, and the state in which it is noted
        self._layouts = {name: self._layout(name) for name in SCORE_TYPES}
        self._tally = Tally.empty(self._layouts["float64"])
        self.add_state("counts", self._tally.buffer.clone(), dist_reduce_fx="sum")
        # Which types of scores were seen, and a number for the settings: a collection updates one metric for all with
        # equal states after the first batch, so metrics that would read later batches differently must not look equal.
        self._choices = zlib.crc32(repr([self._tally.layout, self.from_logits, self.ignore_index]).encode())
        self.add_state("facts", torch.tensor([0, 0, self._choices, -self._choices]), dist_reduce_fx="max")

    def update(self, predictions: Tensor, targets: Tensor) -> None:
        """Count a batch."""
        rows = rows_of(predictions, targets, from_logits=self.from_logits, ignore_index=self.ignore_index)
        if not len(rows):
            return
        if rows.kind == "binary" if self.n_classes else rows.kind == "multiclass":
            shape = tuple(torch.as_tensor(predictions).shape)
            raise InputError(
                "{argument} of shape {shape} do not fit n_classes={n_classes}",
                argument="predictions",
                shape=shape,
                n_classes=self.n_classes,
            )
        if self.n_classes and rows.n_classes != self.n_classes:
            raise InputError(
                "{argument} have {n_classes} classes, the metric was made for {made_for}",
                argument="predictions",
                n_classes=rows.n_classes,
                made_for=self.n_classes,
            )
        if not torch.is_inference_mode_enabled():
            for name in self._defaults:  # after a reset in inference mode the tensors cannot be added to
                if (state := getattr(self, name)).is_inference():
                    setattr(self, name, state.clone())
        with COUNTING_LOCK:
            count(self._counts(rows.dtype), rows)
        seen_type, seen_in = self._seen
        if seen_type != rows.dtype or seen_in is not self.facts:  # a launch that most updates need not make
            self.facts[SCORE_TYPES.index(rows.dtype)] = 1
            self._seen = (rows.dtype, self.facts)

    def compute(self) -> Tensor:
        """Return the value in float64."""
        single, double, *choices = self.facts.tolist()
        if choices != [self._choices, -self._choices]:
            raise MergeError("the state was counted by a metric with other arguments, or merged with that of one")
        if single and double:
            raise InputError("some scores were float32, others float64, and bins differ between the two: convert them")
        reader = TallyReader(self._counts("float32" if single else "float64"))
        row = find_metric(self.metric)
        asked = {"n_bins": self.n_bins, "notion": self.notion}
        options = {name: value for name, value in asked.items() if value is not None and name in row.options}
        reader.refuse_invalid()
        try:
            value = float(row.function(reader, **options))
        except UndefinedError:
            value = float("nan")
        return torch.tensor(value, dtype=torch.float64, device=self.device)

    def _apply(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Move states between devices but keep their type: sums in half precision would be wrong."""
        return super()._apply(lambda tensor: tensor.to(device_after(fn, tensor.device)), *args, **kwargs)

    def _counts(self, dtype: str) -> Tally:
        """Return the state as a tally of such scores, the same one until torchmetrics replaces the state."""
        layout = self._layouts[dtype]
        if self.counts.shape != self._tally.buffer.shape:
            raise MergeError("the state was counted by a metric with other arguments")
        if self._tally.buffer is not self.counts or self._tally.layout is not layout:
            self._tally = Tally(layout, self.counts, weighted=False)
        return self._tally

    def _layout(self, dtype: str) -> Any:
        row = find_metric(self.metric)
        kind, n_classes = ("binary", 2) if self.n_classes is None else ("multiclass", self.n_classes)
        notion = None if self.n_classes is None else self.notion or row.of or DEFAULT_NOTION[row.needs]
        binned = row.needs == "sums" or (row.needs == "bins" and row.bins == "uniform")
        notions = None if notion is None else (notion,)
        cells, spacing = (self.n_bins, "uniform") if binned else (None, None)
        return layout_for(kind, n_classes, dtype, notions, cells, spacing)  # type: ignore[arg-type]
