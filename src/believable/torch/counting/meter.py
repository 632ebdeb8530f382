"""`CalibrationMeter`: counts a stream of tensors on their device, with the interface of torchmetrics."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Literal, Self

import torch
from torch import nn

from believable import _check
from believable._types import Bins, Notion, Spacing
from believable.errors import InputError, MergeError, UndefinedError
from believable.metrics.evaluate import Evaluation, evaluate
from believable.metrics.table import METRICS
from believable.predictions.view import View
from believable.stats import Summary
from believable.streams.batch import refused
from believable.torch.counting.compiling import new_number, outside_graphs
from believable.torch.counting.reader import NO_ROWS, TallyReader
from believable.torch.counting.rows import Rows, check_rows, rows_of, whole_or_none
from believable.torch.counting.state import (
    MeterState,
    from_tensors,
    is_distributed,
    summed_over_processes,
    to_tensors,
)
from believable.torch.counting.tally import layout_for

MAX_CELLS_TAKEN_AS_BINS = 100  # a request for no more cells than this is a request for that many bins
COUNTING_LOCK = threading.Lock()  # updates are not atomic, and a lock per meter could not be copied or pickled


class CalibrationMeter(nn.Module):
    """Count predictions and outcomes on the device of the model; every metric can be read at any time.

    The meter keeps sums over rows in float64. Their size is fixed, and they do not depend on how rows were batched
    (counts exactly, sums up to rounding). They are read as a `believable.Summary`, so that metrics, intervals and
    audits are those of the rest of the package. No gradient flows through an update. Several threads may update one
    meter; read it when they are done.

    Parameters
    ----------
    n_classes : int, optional
        The number K of classes, if predictions have one column per class on axis 1: (N, K) with targets (N,),
        (N, K, L) with (N, L), (N, K, H, W) with (N, H, W). By default predictions are of one event, in the shape of the
        targets.
    from_logits : bool
        Whether predictions are logits; the sigmoid or softmax is then computed in float64. This is never guessed: a
        probability outside [0, 1] is an error.
    notions : sequence of str or View, optional
        What to count, as for `believable.Layout.of`. By default "binary" for one event and "confidence" for classes.
        Class-wise counts cost one addition per entry of the matrix instead of one per row, so they must be requested:
        ("confidence", "classwise", "top_label").
    cells, spacing
        As for `believable.Layout.of`. By default 50,400 cells, so that bins can be chosen later, and for one event the
        logit-spaced grid too. `cells=15, spacing="uniform"` counts 15 bins only.
    ignore_index : int, optional
        The target of rows to leave out; they are counted in `summary.dropped`.
    dtype : {"float32", "float64"}, optional
        The type of the scores. Bin edges are rounded to that type, so one stream has one type: float64 for float64 and
        for logits, float32 for all shorter ones. A batch of the other type is refused, or converted if `dtype` is
        given.
    persistent : bool
        Whether the counts are part of the checkpoint of a model that contains this meter. By default they are not, so
        that checkpoints load with and without meters; `meter.state_dict()` always has them.
    sync_on_compute : bool
        Whether `compute` and `summary` add up the counts of all processes if torch.distributed is initialised. Then
        every process must call them.
    process_group : optional
        The processes to add up, if not all.

    Attributes
    ----------
    n : int
        The number of rows counted by this process.
    summary : Summary
        What all processes have counted so far; later batches do not change it.
    device : torch.device
        The device of the counts. Batches must be on it too; `to(device)` moves the counts.

    Notes
    -----
    On the CPU an invalid batch is refused as a whole, and the error names the row. On a GPU that would mean waiting for
    the device, so invalid rows are left out and counted separately, and `compute` and `summary` raise.

    The counts are not buffers of the module, because DistributedDataParallel would overwrite those of every process
    with those of the first, and `half()` would round them. They move between devices with the model and stay in
    float64.

    Examples
    --------
    >>> meter = CalibrationMeter()
    >>> meter.update(torch.tensor([0.1, 0.8]), torch.tensor([0, 1]))
    >>> meter.update(torch.tensor([0.7]), torch.tensor([1]))
    >>> {name: round(value, 4) for name, value in meter.compute(["ece", "brier"]).items()}
    {'expected_calibration_error': 0.2, 'brier_score': 0.0467}
    >>> pixels = CalibrationMeter(3, from_logits=True, ignore_index=255)
    >>> pixels.update(torch.zeros(2, 3, 4, 4), torch.zeros(2, 4, 4, dtype=torch.uint8))
    >>> round(pixels.compute(["ece"], n_bins=15)["ece"], 4), pixels.n
    (0.6667, 32)
    """

    process_group: Any

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        from_logits: bool = False,
        notions: Sequence[Notion | View] | None = None,
        cells: int | None = None,
        spacing: Spacing | Sequence[Spacing] | None = None,
        ignore_index: int | None = None,
        dtype: Literal["float32", "float64"] | None = None,
        persistent: bool = False,
        sync_on_compute: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__()
        self.n_classes = None if n_classes is None else _check.positive_integer(n_classes, "n_classes", 2)
        self.from_logits, self.ignore_index = _check.flag(from_logits, "from_logits"), whole_or_none(ignore_index)
        if dtype is not None:
            _check.choice(dtype, ("float32", "float64"), "dtype")
        if from_logits and dtype == "float32":
            raise InputError("dtype='float32' cannot be used with from_logits=True: softmax is computed in float64")
        self.dtype = dtype
        self.sync_on_compute, self.process_group = _check.flag(sync_on_compute, "sync_on_compute"), process_group
        self._persistent = _check.flag(persistent, "persistent")
        self._cells = cells
        kind, columns = ("binary", 2) if self.n_classes is None else ("multiclass", self.n_classes)
        notions = notions if notions is None or isinstance(notions, (str, View)) else tuple(notions)
        spacing = spacing if spacing is None or isinstance(spacing, str) else tuple(spacing)
        self._layouts = {  # depends on the type of the scores
            name: layout_for(kind, columns, name, notions, cells, spacing)  # type: ignore[arg-type]
            for name in ("float32", "float64")
        }
        self._state = MeterState.empty(self._layouts["float64"])
        self._reader: TallyReader | None = None  # of the counts since the last update
        self._captured = False  # whether a CUDA graph contains an update
        with torch.inference_mode(False):
            self._order, self._number = torch.zeros((), dtype=torch.int64), new_number(self)  # for torch.compile

    def reset(self) -> None:
        """Reset the counts; settings and device stay."""
        if torch.compiler.is_compiling():
            torch.ops.believable.reset_meter(self._order, self._number)
            return
        with COUNTING_LOCK:
            self._hold(self._state.cleared())

    # --- counting ---

    def update(self, predictions: Any, targets: Any, sample_weight: Any = None) -> None:
        """Count a batch; a compiled pass on a GPU does not block."""
        if torch.compiler.is_compiling():
            given = (predictions, targets, sample_weight)
            tensors = [None if one is None else torch.as_tensor(one).detach() for one in given]
            torch.ops.believable.update_meter(*tensors, self._order, self._number)
            return
        rows = self._rows(predictions, targets, sample_weight)
        if len(rows):
            if rows.scores.is_cuda and torch.cuda.is_current_stream_capturing():
                self._captured = True
            with COUNTING_LOCK:
                self._hold(self._added(self._state, rows))

    @outside_graphs
    def forward(self, predictions: Any, targets: Any, sample_weight: Any = None) -> Evaluation:
        """Count a batch, and return the metrics of this batch alone (empty without rows); `update` is faster."""
        rows = self._rows(predictions, targets, sample_weight)
        batch = MeterState.empty(self._state.tally.layout, self.device, typed=self._state.typed)
        if len(rows):
            batch = self._added(batch, rows)
        reader = TallyReader(batch.tally)
        reader.refuse_invalid()
        values = self._evaluated(reader, None, None, None) if reader.n else Evaluation({}, {}, None, None)
        with COUNTING_LOCK:
            self._hold(self._state.merged(batch))
        return values

    @outside_graphs
    def merge_state(self, other: CalibrationMeter | Sequence[CalibrationMeter]) -> Self:
        """Add the counts of another meter, or of several, made with the same settings."""
        others = list(other) if isinstance(other, Iterable) else [other]
        for one in others:
            if not isinstance(one, CalibrationMeter):
                raise MergeError(f"a CalibrationMeter of believable.torch can be merged, got a {type(one).__name__}")
            if one._layouts != self._layouts:
                raise MergeError("cannot merge meters that count different things: make them with the same arguments")
        with COUNTING_LOCK:
            state = self._state
            for one in others:
                state = state.merged(one._state)
            self._hold(state)  # after an error the meter is unchanged
        return self

    def __add__(self, other: CalibrationMeter) -> CalibrationMeter:
        """Return a new meter with the counts of both."""
        if not isinstance(other, CalibrationMeter):
            return NotImplemented
        return deepcopy(self).merge_state(other)

    # --- reading ---

    @property
    @outside_graphs
    def n(self) -> int:
        """The number of rows counted by this process; on a GPU this waits for pending work."""
        return self._state.n

    @property
    def device(self) -> Any:
        """The device of the counts."""
        return self._state.device

    @property
    @outside_graphs
    def summary(self) -> Summary:
        """The counts of all processes, for `audit`, `interval`, `evaluate`, saving, or merging.

        It is fetched from the device once, and remembered until the next update.
        """
        return self._read().read_all()

    @outside_graphs
    def compute(
        self, metrics: Sequence[str] | str | None = None, *, n_bins: Bins | None = None, notion: Notion | None = None
    ) -> Evaluation:
        """Return metrics by name, by default all that the counts allow; as `believable.evaluate`.

        By default `n_bins` is 10, or the number of cells if no more than 100 were requested.
        """
        return self._evaluated(self._read(), metrics, n_bins, notion)

    def extra_repr(self) -> str:
        """Return the settings, for `print(model)`."""
        kind = "one event" if self.n_classes is None else f"{self.n_classes} classes"
        return f"{kind}{', from logits' if self.from_logits else ''}"

    # --- moving and saving ---

    def persistent(self, mode: bool = True) -> None:
        """Set whether the counts are part of a model's checkpoint from now on."""
        self._persistent = bool(mode)

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        super()._apply(fn, recurse)
        self._hold(self._state.to(device_after(fn, self.device)))
        with torch.inference_mode(False):
            self._order = torch.zeros((), dtype=torch.int64, device=self.device)
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        if not self._persistent and prefix:
            return
        for name, tensor in to_tensors(self._state, self._settings()).items():
            destination[prefix + name] = tensor

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        own = {name: prefix + name for name in ("settings", *self._state.tally.named())}
        found = {key for key in state_dict if key.startswith(prefix)}
        if not found and prefix:
            return  # the checkpoint does not have this meter
        missing, more = sorted(set(own.values()) - found), sorted(found - set(own.values()))
        if strict:
            missing_keys.extend(missing)
            unexpected_keys.extend(more)
        if not missing and not (more and strict):
            found_here = {name: state_dict[key] for name, key in own.items()}
            self._hold(from_tensors(found_here, self._settings(), self._layouts, self.device))

    def __deepcopy__(self, memo: dict[int, Any]) -> CalibrationMeter:
        new = self.__class__.__new__(self.__class__)
        memo[id(self)] = new
        shared = ("process_group",)  # a process group cannot be copied
        with torch.inference_mode(False):
            new.__dict__ = {n: v if n in shared else deepcopy(v, memo) for n, v in self.__getstate__().items()}
        new._number = new_number(new)
        return new

    def __copy__(self) -> CalibrationMeter:
        return deepcopy(self)  # counts that two meters share would be counted twice

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_reader": None, "_captured": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._number = new_number(self)

    # --- inside ---

    def _hold(self, state: MeterState) -> None:
        """Take over a state, and forget what was read from the one before.

        Where the numbers fit into the tensor that is there, they are copied into it: a CUDA graph knows its address.
        """
        own = self.__dict__  # `Module.__setattr__` takes longer than everything else here
        before: MeterState | None = own.get("_state")
        if before is not None and before.tally.buffer is not state.tally.buffer:
            state = state.in_place_of(before)
            if own.get("_captured") and state.tally.buffer is not before.tally.buffer:
                raise InputError(
                    "a CUDA graph contains an update of this meter, and would count into tensors that are no longer "
                    "used: capture it after the first weights, and on its final device"
                )
        own["_state"], own["_reader"] = state, None

    def _read(self) -> TallyReader:
        """Return a reader of the counts of all processes, the same one until the next update."""
        if self.sync_on_compute and is_distributed(self.process_group):
            reader = TallyReader(summed_over_processes(self._state, self.process_group).tally)
        else:
            with COUNTING_LOCK:
                counts = self._state.tally
                # A CUDA graph that is replayed, or another process, counts without this object knowing.
                shared = counts.buffer.is_cpu and counts.buffer.is_shared()
                known = None if self._captured or shared else self._reader
                reader = self._reader = known or TallyReader(counts)
        reader.refuse_invalid()
        return reader

    def _rows(self, predictions: Any, targets: Any, sample_weight: Any) -> Rows:
        try:
            rows = rows_of(
                predictions, targets, sample_weight, from_logits=self.from_logits, ignore_index=self.ignore_index
            )
            self._check_fits(rows)
            if self.dtype is None or rows.dtype == self.dtype:
                return rows  # the pass checks their values
            if rows.scores.device.type == "cpu":
                check_rows(rows)  # before they are rounded
        except InputError as error:
            raise refused(error) from error
        return replace(rows, scores=rows.scores.to(getattr(torch, self.dtype)))

    def _check_fits(self, rows: Rows) -> None:
        if self.n_classes is None and rows.kind == "multiclass":
            raise InputError(
                f"it has {rows.n_classes} columns, the meter was made for one event: CalibrationMeter("
                f"{rows.n_classes}) counts classes"
            )
        if self.n_classes is not None and rows.kind == "binary":
            raise InputError(
                "{argument} have the shape of the targets, as for one event; the meter was made for {n_classes} "
                "classes in axis 1, with targets that are class numbers: targets.argmax(1) if they are one-hot",
                argument="predictions",
                n_classes=self.n_classes,
            )
        if self.n_classes is not None and rows.n_classes != self.n_classes:
            raise InputError(f"it has {rows.n_classes} classes, the meter was made for {self.n_classes}")
        if rows.scores.device != self.device:
            raise InputError(
                f"it is on {rows.scores.device}, the meter on {self.device}: meter.to({str(rows.scores.device)!r})"
            )

    def _added(self, state: MeterState, rows: Rows) -> MeterState:
        try:
            return state.add(rows, self._layouts[rows.dtype])
        except InputError as error:
            raise refused(error) from error

    def _evaluated(self, counts: TallyReader, metrics: Any, n_bins: Bins | None, notion: Notion | None) -> Evaluation:
        binned = self._cells is not None and self._cells <= MAX_CELLS_TAKEN_AS_BINS
        n_bins = self._cells if binned and n_bins is None else n_bins
        finer = [row.name for row in METRICS.values() if row.needs == "cells" or row.bins == "quantile"]
        named = [name for name in METRICS if name not in finer] if binned and metrics is None else metrics
        found = evaluate(counts, metrics=named, n_bins=n_bins, notion=notion)
        if not found and not counts.n:
            raise UndefinedError(NO_ROWS)
        if not binned or metrics is not None:
            return found
        why = f"it is read from fine cells, of which there are {self._cells}: ask for it by name, or count more"
        return Evaluation(found, {**found.skipped, **dict.fromkeys(finer, why)}, found.notion, found.n_bins)

    def _settings(self) -> dict[str, Any]:
        views = self._layouts["float64"].views
        return {
            "n_classes": self.n_classes,
            "from_logits": self.from_logits,
            "ignore_index": self.ignore_index,
            "dtype": self.dtype,
            "notions": [view.to_dict() for view, _ in views],
            "cells": [grid.n_cells for _, grid in views],
            "spacing": [grid.spacing for _, grid in views],
        }


def device_after(fn: Any, device: Any) -> Any:
    """Return the device that a function of `Module._apply` moves tensors to; its effect on types is ignored."""
    return fn(torch.empty(0, dtype=torch.uint8, device=device)).device
