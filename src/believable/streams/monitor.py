"""`CalibrationMonitor`: calibration over time, in windows, with a drift alarm."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal

import numpy as np

from believable import _check
from believable._check import generator
from believable._types import Array, Int64s, Notion
from believable.errors import InputError, MergeError, SchemaError, UndefinedError
from believable.inference.interval import interval
from believable.inference.noise_floor import noise_floor
from believable.predictions import Predictions
from believable.stats import CellStats, Layout
from believable.stats.saved import field_of, open_saved
from believable.streams.batch import BatchFormat, as_classes, refused
from believable.streams.drift import DriftAlarm
from believable.streams.history import Clock, History, Window, panes_in, window_in, window_out
from believable.streams.meter import CalibrationMeter, MeterSettings

MONITOR_SCHEMA = "believable.CalibrationMonitor"
SAVED_COUNTERS = ("n", "n_late", "n_ignored", "_first", "_last", "_first_open", "_ended", "_positive")
WATCHED_METRIC = "expected_calibration_error"


class CalibrationMonitor:
    """Watch a stream: the calibration error of each window, with interval and noise floor, and a drift alarm.

    The stream is cut into panes of `every` rows, or of a length of time. A window is the last `windows` panes: with 1,
    windows follow each other; with more, they slide by one pane. When a pane is complete, its window is measured and
    the alarm is updated with its rows, once, so that results do not depend on how rows were batched.

    Parameters
    ----------
    every : int, float or timedelta
        The length of a pane: in rows, if `update` is called without `at`; otherwise in the unit of `at`. Panes start at
        multiples of it (for times, counted from 1970, UTC, so that days start at midnight).
    windows : int
        The number of panes in a window.
    wait : int
        With `at`, rows may arrive out of order: a pane is complete once a row has arrived that is more than `wait`
        panes later. Rows that arrive for a complete pane are late.
    late : {"count", "refuse"}
        Leave late rows out and count them in `n_late`, or refuse a batch with late rows.
    history : int
        How many windows to keep. Older ones are dropped, so memory does not grow.
    n_bins : int
        The number of uniform bins of the expected calibration error.
    level : float
        Confidence level of the intervals; windows are flagged at 1 - level.
    alarm : DriftAlarm, optional
        Your own alarm. By default `DriftAlarm(alpha=alpha, tolerance=tolerance, n_bins=n_bins)`.
    alpha, tolerance : float
        The probability of ever raising a false alarm, and the error that is tolerated.
    notion : str, optional
        The notion to watch. By default "binary" for 1-D scores, "confidence" for a matrix, "classwise" for multilabel.
    n_resamples : int
        The number of resamples for each interval and noise floor.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    n_classes, from_logits, pos_label, classes, soft_labels, ignore_label, multilabel, dtype, neg_label
        As for `CalibrationMeter`.

    Attributes
    ----------
    history : History
        The complete windows; `print` it, or use `.to_frame()`.
    alarm : DriftAlarm
        The drift alarm.
    n, n_late, n_ignored : int
        The number of rows counted, and of rows left out because they were late or had the label to ignore.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> monitor = CalibrationMonitor(1000, tolerance=0.02, random_state=0)
    >>> for hour in range(40):
    ...     p = rng.random(250)
    ...     monitor.update(p, rng.random(250) < (p if hour < 20 else p**2))
    >>> [window.alarm for window in monitor.history]
    [False, False, False, False, False, True, True, True, True, True]
    >>> monitor.alarm.alarm.direction
    'too high'
    """

    def __init__(
        self,
        every: int | float | timedelta,
        *,
        windows: int = 1,
        wait: int = 0,
        late: Literal["count", "refuse"] = "count",
        history: int = 1000,
        n_bins: int = 10,
        level: float = 0.95,
        alarm: DriftAlarm | None = None,
        alpha: float = 0.01,
        tolerance: float = 0.0,
        notion: Notion | None = None,
        n_resamples: int = 1000,
        random_state: Any = None,
        n_classes: int | None = None,
        from_logits: bool = False,
        pos_label: Any = None,
        classes: Sequence[Any] | None = None,
        soft_labels: bool = False,
        ignore_label: Any = None,
        multilabel: bool = False,
        dtype: Literal["float32", "float64"] | None = None,
        neg_label: Any = None,
    ) -> None:
        self._clock = Clock(every)
        self.windows = _check.positive_integer(windows, "windows")
        self.wait = _check.positive_integer(wait, "wait", 0)
        _check.choice(late, ("count", "refuse"), "late")
        self.late = late
        self.n_bins = _check.positive_integer(n_bins, "n_bins")
        self.level = _check.level(level)
        if alarm is not None and not isinstance(alarm, DriftAlarm):
            raise InputError("{argument} must be a DriftAlarm, got a {got}", argument="alarm", got=type(alarm).__name__)
        self.alarm = (
            DriftAlarm(alpha=alpha, tolerance=tolerance, n_bins=n_bins, notion=notion) if alarm is None else alarm
        )
        self._n_resamples = _check.positive_integer(n_resamples, "n_resamples", 100)
        self._random = generator(random_state)
        self._settings = MeterSettings.of(
            n_classes,
            BatchFormat(
                from_logits,
                pos_label,
                as_classes(classes),
                soft_labels,
                ignore_label,
                multilabel,
                dtype,
                owner="CalibrationMonitor",
                neg_label=neg_label,
            ),
            notions=None if notion is None else [notion],
            spacing="uniform",
        )
        self._layout: Layout | None = None
        self._lock = threading.Lock()
        self._rows: deque[Window] = deque(maxlen=_check.positive_integer(history, "history"))
        self._open: dict[int, CalibrationMeter] = {}
        self._closed: dict[int, CellStats] = {}  # the panes that later windows still need
        self._by_rows: bool | None = None
        self._last = self._first_open = -(2**62)
        self._first = 2**62
        self._ended = self._positive = False
        self._negative: Any = None
        self.n = self.n_late = self.n_ignored = 0

    # --- watching ---

    def update(self, predictions: Any, actuals: Any = None, sample_weight: Any = None, *, at: Any = None) -> None:
        """Count a batch; `at` is its time or number, one for the batch or one for each row.

        Weights are used for the windows, not for the alarm. An invalid batch changes nothing.
        """
        rows, ignored, positive, negative = self._settings.format.check(predictions, actuals, sample_weight)
        if rows is None:
            with self._lock:
                self.n_ignored += ignored
            return
        kept = None if isinstance(predictions, Predictions) else self._settings.format.kept(actuals, sample_weight)
        if rows.borrowed:
            rows = rows.take(np.arange(len(rows)))
        with self._lock:
            layout = self._checked_stream(rows, at)
            try:
                panes = self._panes(len(rows), at, kept)
            except InputError as error:
                raise refused(error) from error
            n_late = int(np.count_nonzero(panes < self._first_open))
            if n_late and self.late == "refuse":
                raise refused(
                    f"{n_late} of its rows are late, because their pane is complete; pass wait=…, or late='count', to "
                    "CalibrationMonitor"
                )
            self._negative = self._settings.format.same_negative(self._negative, negative)
            self._layout, self._by_rows = layout, at is None
            self._positive |= positive
            self.n_ignored += ignored
            self.n_late += n_late
            self.n += len(rows) - n_late
            self._place(rows, panes)
            complete = (
                self.n // self._rows_per_pane() if self._by_rows else max(self._open, default=self._last) - self.wait
            )
            self._complete_before(complete)

    def close(self) -> History:
        """End the stream, measure the panes that are still open as they are, and return the history."""
        with self._lock:
            self._complete_before(max(self._open, default=0) + 1)
            self._ended = True
        return self.history

    @property
    def history(self) -> History:
        """The complete windows, oldest first."""
        with self._lock:
            if self._rows and not self._positive:
                pos_label = self._settings.format.pos_label
                raise UndefinedError(
                    "{pos_label=} has not occurred in {n:,} rows; if there are truly no positives, pass "
                    "classes=[negative, positive] instead",
                    pos_label=pos_label,
                    argument="pos_label",
                    n=self.n,
                )
            layout = self._layout
            notion = "" if layout is None else layout.views[0][0].notion
            return History(tuple(self._rows), self.n_bins, notion, self.level, self.alarm.alpha)

    def __str__(self) -> str:
        return f"{self.history}\n{self.alarm}"

    __repr__ = __str__

    # --- saving ---

    def state_dict(self) -> dict[str, Any]:
        """Return open panes, windows and alarm as a dictionary for JSON; see `load_state_dict`."""
        with self._lock:
            layout = self._layout
            return {
                "schema": MONITOR_SCHEMA,
                "version": 1,
                "settings": self._saved_settings(),
                "stream": None if layout is None else [layout.kind, layout.n_classes, layout.views[0][1].dtype],
                "by_rows": self._by_rows,
                "negative": self._negative,
                "counters": {name: int(getattr(self, name)) for name in SAVED_COUNTERS},
                "open": {str(pane): meter.state_dict() for pane, meter in self._open.items()},
                "closed": {str(pane): cells.to_dict() for pane, cells in self._closed.items()},
                "windows": [window_out(one) for one in self._rows],
                "alarm": self.alarm.state_dict(),
            }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from the state of a monitor with the same settings; a damaged or foreign state changes nothing.

        Resampling for later intervals restarts with this monitor's `random_state`.
        """
        open_saved(saved, MONITOR_SCHEMA, 1)
        if saved.get("settings") != self._saved_settings():
            raise SchemaError("the saved monitor was made with other settings")
        counters = {name: field_of(field_of(saved, "counters", dict), name, int) for name in SAVED_COUNTERS}
        by_rows, stream = saved.get("by_rows"), saved.get("stream")
        if by_rows not in (None, True, False) or any(counters[name] < 0 for name in SAVED_COUNTERS if name[0] != "_"):
            raise SchemaError("the saved monitor is damaged: its counts are not counts")
        closed = {pane: CellStats.from_dict(one) for pane, one in panes_in(saved, "closed").items()}
        windows = [window_in(one) for one in field_of(saved, "windows", list)]
        panes = {}
        try:
            layout = None if stream is None else self._settings.layout_of(*stream)
            for pane, one in panes_in(saved, "open").items():
                panes[pane] = CalibrationMeter._made(self._settings)
                panes[pane].load_state_dict(one)
        except (TypeError, InputError) as error:
            raise SchemaError(f"the saved monitor is damaged: {error}") from error
        wanted = None if layout is None else layout.views[0]
        if any((one.view, one.grid) != wanted for one in closed.values()) or any(
            one._layout is None or one._layout != layout for one in panes.values()
        ):
            raise SchemaError("the saved monitor is damaged: its panes and its stream count different things")
        if (by_rows is None) != (layout is None) or not self._are_all(
            sum(one.n for one in panes.values()), counters, by_rows
        ):
            raise SchemaError("the saved monitor is damaged: its panes do not have the rows that it counted")
        with self._lock:
            self.alarm.load_state_dict(field_of(saved, "alarm", dict))
            self._layout, self._by_rows = layout, by_rows
            self._open, self._closed = panes, closed
            self._negative = saved.get("negative")
            self._rows = deque(windows, maxlen=self._rows.maxlen)
            for name, value in counters.items():
                setattr(self, name, bool(value) if name in ("_ended", "_positive") else value)

    def _are_all(self, n_open: int, counters: dict[str, int], by_rows: bool | None) -> bool:
        """Return whether the number of rows in open panes agrees with the rows counted."""
        n = counters["n"]
        if by_rows and not counters["_ended"]:
            return n < 2**62 and n_open == n % self._rows_per_pane()
        return n_open <= n

    def _saved_settings(self) -> dict[str, Any]:
        every = self._clock.every
        length = {"microseconds": every // timedelta(microseconds=1)} if isinstance(every, timedelta) else every
        chosen = {name: getattr(self, name) for name in ("windows", "wait", "late", "n_bins", "level")}
        return chosen | {"every": length, "history": self._rows.maxlen, "meter": self._settings.to_dict()}

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = {name: value for name, value in self.__dict__.items() if name != "_lock"}
            return state | {"_open": dict(self._open), "_closed": dict(self._closed), "_rows": self._rows.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    # --- internals; the lock is held ---

    def _checked_stream(self, rows: Predictions, at: Any) -> Layout:
        """Return the layout, or raise if a batch does not belong to this stream."""
        if self._ended:
            raise refused("the stream was closed; make a new CalibrationMonitor")
        if self._by_rows is not None and self._by_rows != (at is None):
            raise refused("pass at with every batch, or with none")
        layout = self._settings.layout_for(rows, self._layout)
        if self._layout is None:
            view, grid = layout.views[0]
            try:
                self.alarm.check(view, grid)
            except (InputError, MergeError) as error:
                raise refused(error) from error
            if grid.n_cells % self.n_bins:
                raise refused(f"{self.n_bins} bins do not consist of whole cells of {grid}; choose another number")
        return layout

    def _rows_per_pane(self) -> int:
        if isinstance(self._clock.every, timedelta):
            raise InputError("{argument} is a length of time: pass the times of the rows as at=…", argument="every")
        return _check.positive_integer(self._clock.every, "every, without at,")

    def _panes(self, n: int, at: Any, kept: Array | None) -> Int64s:
        if at is None:
            return np.asarray((self.n + np.arange(n)) // self._rows_per_pane())
        if kept is None:
            return self._clock.panes(at, n)
        return np.asarray(self._clock.panes(at, len(kept))[kept])

    def _place(self, rows: Predictions, panes: Int64s) -> None:
        """Add each row to its pane; leave out late ones."""
        order = np.argsort(panes, kind="stable")
        found, starts = np.unique(panes[order], return_index=True)
        for pane, part in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
            if pane >= self._first_open:
                self._open.setdefault(pane, CalibrationMeter._made(self._settings)).update(rows.take(part))
                self._last = max(self._last, pane)

    def _complete_before(self, boundary: int) -> None:
        if self._open:
            self._first = min(self._first, min(self._open))
        for pane in sorted(pane for pane in self._open if pane < boundary):
            cells = self._open.pop(pane).summary.cells[0]
            self._closed = {k: one for k, one in self._closed.items() if k > pane - self.windows} | {pane: cells}
            self.alarm.update(cells)
            self._rows.append(self._measured(pane, sum(self._closed.values())))
        self._first_open = max(self._first_open, boundary)

    def _measured(self, pane: int, cells: Any) -> Window:
        draws: dict[str, Any] = {"n_resamples": self._n_resamples, "random_state": self._random}
        bins = cells.coarsen(self.n_bins)
        ends = interval(WATCHED_METRIC, bins, level=self.level, **draws)
        floor = noise_floor(WATCHED_METRIC, bins, **draws)
        assert floor.p_value is not None
        first = max(pane - self.windows + 1, self._first)  # at the start there are fewer panes than in a window
        start, end = self._clock.start(first), self._clock.start(pane + 1)
        if self._by_rows:
            end = min(end, self.n)
        weight = float(cells.w.sum())
        return Window(
            start,
            end,
            int(cells.n.sum()) // cells.view.pairs_per_row,
            float(cells.wp.sum()) / weight,
            float(cells.wy.sum()) / weight,
            ends.value,
            ends.low,
            ends.high,
            floor.mean,
            floor.p_value,
            floor.p_value <= 1 - self.level,
            self.alarm.capital,
            self.alarm.alarm is not None,
        )
