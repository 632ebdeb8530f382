"""The counts of meters, monitors and alarms as metrics of Prometheus, in its text format or in OpenMetrics.

Counters add over instances and over time, so PromQL computes the calibration error of all instances together, exactly
(docs/integrations/prometheus.md). Intervals and noise floors do not add: they are gauges of one meter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from believable import _check
from believable._types import Array, Notion
from believable.errors import InputError, UndefinedError
from believable.inference.interval import interval
from believable.inference.noise_floor import noise_floor
from believable.stats import BinStats, Summary
from believable.stats.source import BinsAsked, count_asked
from believable.streams.drift import DriftAlarm
from believable.streams.meter import CalibrationMeter
from believable.streams.monitor import CalibrationMonitor

Kind = Literal["counter", "gauge", "histogram"]
LABEL_NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
METRIC_NAME = re.compile("[a-zA-Z_:][a-zA-Z0-9_:]*")
OWN_LABELS = ("bin", "class", "end", "le")
NOT_IN_UTF8 = re.compile("[\ud800-\udfff]")  # halves of surrogate pairs
ECE = "expected_calibration_error"


@dataclass(frozen=True, slots=True)
class Sample:
    """A number with its labels; the suffix follows the name of the family, as in `_bucket`."""

    suffix: str
    labels: Mapping[str, str]
    value: float


@dataclass(slots=True)
class MetricFamily:
    """A metric of Prometheus: all samples of one name.

    Attributes
    ----------
    name : str
        The name, without `_total`.
    kind : {"counter", "gauge", "histogram"}
    help : str
        What it measures.
    samples : list of Sample
    """

    name: str
    kind: Kind
    help: str
    samples: list[Sample] = field(default_factory=list)


def prometheus_text(
    meters: Any,
    *,
    labels: Mapping[str, str] | None = None,
    openmetrics: bool = False,
    n_bins: int = 10,
    notion: Notion | None = None,
    intervals: bool = True,
    level: float = 0.95,
    prefix: str = "believable",
    random_state: Any = 0,
) -> str:
    """Return the counts of meters, monitors or alarms in the text format of Prometheus, for a /metrics page.

    Parameters
    ----------
    meters : CalibrationMeter, CalibrationMonitor, DriftAlarm, or mapping of names to these
        What to report. The names of a mapping become the label `model`.
    labels : mapping of str to str, optional
        Labels of every sample, such as {"version": "2026-11"}.
    openmetrics : bool
        Whether to write OpenMetrics 1.0 (application/openmetrics-text) in place of the Prometheus format (text/plain;
        version=0.0.4).
    n_bins : int
        The number of uniform bins of meters. Instances that are added must have the same.
    notion : str, optional
        The notion of meters to report, among those they count. By default "binary" for 1-D scores, "confidence" for a
        matrix.
    intervals : bool
        Whether to compute the interval and the noise floor of the calibration error, which takes about 0.1 seconds.
    level : float
        Confidence level of the intervals.
    prefix : str
        The beginning of every name.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.

    Examples
    --------
    >>> from believable import CalibrationMeter
    >>> meter = CalibrationMeter()
    >>> meter.update([0.15, 0.85, 0.75], [0, 1, 1])
    >>> print(prometheus_text({"fraud": meter}, n_bins=2, intervals=False))  # doctest: -NORMALIZE_WHITESPACE
    # HELP believable_rows_total Rows counted.
    # TYPE believable_rows_total counter
    believable_rows_total{model="fraud"} 3
    ...
    """
    families = metric_families(
        meters,
        labels=labels,
        n_bins=n_bins,
        notion=notion,
        intervals=intervals,
        level=level,
        prefix=prefix,
        random_state=random_state,
    )
    _check.flag(openmetrics, "openmetrics")
    lines = [line for family in families for line in _lines(family, openmetrics)]
    return "\n".join([*lines, *(["# EOF"] if openmetrics else [])]) + "\n"


def metric_families(
    meters: Any,
    *,
    labels: Mapping[str, str] | None = None,
    n_bins: int = 10,
    notion: Notion | None = None,
    intervals: bool = True,
    level: float = 0.95,
    prefix: str = "believable",
    random_state: Any = 0,
) -> list[MetricFamily]:
    """Return what `prometheus_text` writes, as values; the parameters are the same."""
    named = _named(meters)
    constant = _checked_labels(labels, (*OWN_LABELS, *(["model"] if isinstance(meters, Mapping) else [])))
    if not isinstance(prefix, str) or not METRIC_NAME.fullmatch(prefix):
        raise InputError(
            "{argument} must be letters, digits and _, and not start with a digit, got {got!r}",
            argument="prefix",
            got=prefix,
        )
    n_bins, level = _check.positive_integer(n_bins, "n_bins"), _check.level(level)
    _check.notion(notion)
    _check.flag(intervals, "intervals")
    found: dict[str, MetricFamily] = {}
    for name, one in named.items():
        own = constant if name is None else {"model": name, **constant}
        writer = _Writer(found, prefix, own)
        if isinstance(one, CalibrationMeter):
            _report_meter(writer, one, n_bins, notion, intervals, level, random_state)
        elif isinstance(one, CalibrationMonitor):
            _report_monitor(writer, one)
        elif isinstance(one, DriftAlarm):
            _report_alarm(writer, one)
        else:
            raise InputError(
                "{argument} must be a CalibrationMeter, a CalibrationMonitor, a DriftAlarm, or a mapping of names to "
                "these, got a {got}",
                argument="meters",
                got=type(one).__name__,
            )
    return list(found.values())


def _named(meters: Any) -> dict[str | None, Any]:
    """Return what to report, by the text of its name; None for what has no name."""
    if not isinstance(meters, Mapping):
        return {None: meters}
    named: dict[str | None, Any] = {str(name): one for name, one in meters.items()}
    if len(named) < len(meters):
        twice = next(name for name in named if [*map(str, meters)].count(str(name)) > 1)
        raise InputError("{argument} has two names that are written {got!r}", argument="meters", got=twice)
    return named


def _checked_labels(labels: Mapping[str, str] | None, taken: Sequence[str]) -> dict[str, str]:
    labels = {} if labels is None else labels
    if not isinstance(labels, Mapping):
        raise InputError(
            "{argument} must be a mapping of names to texts, got a {got}", argument="labels", got=type(labels).__name__
        )
    for name in labels:
        if not isinstance(name, str) or not LABEL_NAME.fullmatch(name) or name.startswith("__"):
            raise InputError(
                "{argument}: names of labels have letters, digits and _, and start with neither a digit nor __, got "
                "{got!r}",
                argument="labels",
                got=name,
            )
        if name in taken:
            raise InputError("{argument}: {got!r} is a label of the metrics themselves", argument="labels", got=name)
    return {name: str(value) for name, value in labels.items()}


@dataclass(frozen=True, slots=True)
class _Writer:
    """Adds samples with the labels of one meter; families are shared by all meters, as the format demands."""

    families: dict[str, MetricFamily]
    prefix: str
    labels: Mapping[str, str]

    def add(self, name: str, kind: Kind, help: str, value: float, suffix: str = "", **labels: str) -> None:
        """Add a sample."""
        full = f"{self.prefix}_{name}"
        family = self.families.setdefault(full, MetricFamily(full, kind, help))
        family.samples.append(Sample(suffix, {**self.labels, **labels}, value))

    def count(self, name: str, help: str, value: float, **labels: str) -> None:
        """Add a sample of a counter."""
        self.add(name, "counter", help, value, "_total", **labels)

    def gauge(self, name: str, help: str, value: float | None, **labels: str) -> None:
        """Add a sample of a gauge, unless its value is undefined."""
        if value is not None and not math.isnan(value):
            self.add(name, "gauge", help, value, **labels)

    def histogram(self, name: str, help: str, edges: Array, counts: Array, total: float, **labels: str) -> None:
        """Add the cumulative buckets of a histogram, whose sum is given."""
        for edge, value in zip([*edges.tolist(), math.inf], [*np.cumsum(counts), counts.sum()], strict=True):
            self.add(name, "histogram", help, float(value), "_bucket", **labels, le=_number(float(f"{edge:.6g}")))
        self.add(name, "histogram", help, total, "_sum", **labels)
        self.add(name, "histogram", help, float(counts.sum()), "_count", **labels)


# --- what is reported -------------------------------------------------------------------------------------------------


def _report_meter(
    writer: _Writer,
    meter: CalibrationMeter,
    n_bins: int,
    notion: Notion | None,
    intervals: bool,
    level: float,
    random_state: Any,
) -> None:
    counted, positive, ignored = meter._counted()
    writer.count("rows", "Rows counted.", 0 if counted is None else counted.n)
    writer.count("ignored_rows", "Rows left out because of their label.", ignored)
    if counted is None or not positive:  # no metric is defined before the first row, and the first positive label
        return
    summary = counted
    options: dict[str, Any] = {"n_bins": n_bins, "notion": notion}
    stats = count_asked(summary, BinsAsked(**options), squares=True)
    whole = not summary.weighted, not summary.weighted and not meter._settings.format.soft_labels
    _report_bins(writer, summary, stats, *whole)
    weight = float(stats.w.sum())
    writer.gauge("mean_prediction", "Average prediction (confidence, for classes).", float(stats.wp.sum()) / weight)
    writer.gauge("observed_rate", "Observed rate (accuracy, for classes).", float(stats.wy.sum()) / weight)
    values = dict(_values(summary, n_bins, notion))
    writer.gauge(ECE, "Expected calibration error.", values.get(ECE))
    if intervals:
        _report_uncertainty(writer, summary, options, level, random_state)
    writer.gauge("brier_score", "Brier score.", values.get("brier_score"))
    writer.gauge("log_loss", "Log loss.", values.get("negative_log_likelihood"))


def _values(summary: Summary, n_bins: int, notion: Notion | None) -> Iterator[tuple[str, float]]:
    """Yield the metrics of a summary that are defined."""
    from believable.metrics.evaluate import evaluate

    for name in (ECE, "brier_score", "negative_log_likelihood"):
        try:
            yield name, float(evaluate(summary, metrics=[name], n_bins=n_bins, notion=notion)[name])
        except UndefinedError:
            continue


def _report_uncertainty(
    writer: _Writer, summary: Summary, options: dict[str, Any], level: float, random_state: Any
) -> None:
    how = {"options": options, "random_state": random_state}
    ends = interval(ECE, summary, level=level, **how)
    floor = noise_floor(ECE, summary, **how)
    about = f"Ends of the {100 * level:.4g} % interval of the true calibration error."
    writer.gauge(f"{ECE}_interval", about, ends.low, end="low")
    writer.gauge(f"{ECE}_interval", about, ends.high, end="high")
    writer.gauge(
        f"{ECE}_noise_floor", "Calibration error that a perfectly calibrated model would show on average.", floor.mean
    )


def _report_bins(writer: _Writer, summary: Summary, stats: BinStats, whole_rows: bool, whole_events: bool) -> None:
    """Report what adds over instances: sums by bin, and histograms of the scores of all rows and of events.

    Histograms count in whole numbers (OpenMetrics demands it), so there are none of weights and of soft labels.
    """
    for k in range(stats.view.n_strata):
        labels = {"class": summary.class_name(k)} if stats.view.n_strata > 1 else {}
        edges = np.asarray(stats.edges_of(k).values)
        here = stats.stratum == k
        at = stats.index[here]
        columns = {name: np.zeros(len(edges) - 1) for name in ("w", "wp", "wy")}
        for name, column in columns.items():
            column[at] = getattr(stats, name)[here]
        for i, (start, end) in enumerate(zip(edges.tolist(), edges[1:].tolist(), strict=False)):
            named = {**labels, "bin": f"{'(' if i else '['}{start:.6g}, {end:.6g}]"}
            writer.count("bin_rows", "Rows in each bin of scores, by weight.", columns["w"][i], **named)
            writer.count("bin_predicted", "Sum of the scores in each bin, by weight.", columns["wp"][i], **named)
            writer.count("bin_observed", "Sum of the outcomes in each bin, by weight.", columns["wy"][i], **named)
        scores, events = float(stats.wp[here].sum()), float(stats.wpy[here].sum())
        if whole_rows:
            writer.histogram("score", "Scores of all rows.", edges[1:], columns["w"], scores, **labels)
        if whole_events:
            of_events = "Scores of the rows where the event happened."
            writer.histogram("event_score", of_events, edges[1:], columns["wy"], events, **labels)


def _report_monitor(writer: _Writer, monitor: CalibrationMonitor) -> None:
    writer.count("rows", "Rows counted.", monitor.n)
    writer.count("ignored_rows", "Rows left out because of their label.", monitor.n_ignored)
    writer.count("late_rows", "Rows left out because they came too late.", monitor.n_late)
    try:
        history = monitor.history
    except UndefinedError:  # no positive label yet
        history = None
    if history is not None and len(history):
        last, level = history[-1], f"{100 * history.level:.4g} %"
        writer.gauge("window_rows", "Rows of the last complete window.", last.n)
        if isinstance(last.end, datetime):
            end = last.end.replace(tzinfo=UTC).timestamp()
            writer.gauge("window_end_timestamp_seconds", "End of the last complete window.", end)
        writer.gauge("window_mean_prediction", "Average prediction in the window.", last.mean_score)
        writer.gauge("window_observed_rate", "Observed rate in the window.", last.rate)
        writer.gauge(f"window_{ECE}", "Expected calibration error in the window.", last.value)
        about = f"Ends of the {level} interval of the true calibration error in the window."
        writer.gauge(f"window_{ECE}_interval", about, last.low, end="low")
        writer.gauge(f"window_{ECE}_interval", about, last.high, end="high")
        floor = "Calibration error that a perfectly calibrated model would show in such a window on average."
        writer.gauge(f"window_{ECE}_noise_floor", floor, last.floor)
        writer.gauge("window_flagged", f"1 if the window is miscalibrated beyond noise (at {level}).", last.flagged)
    _report_alarm(writer, monitor.alarm)


def _report_alarm(writer: _Writer, alarm: DriftAlarm) -> None:
    writer.gauge("drift_alarm", "1 once the drift alarm has been raised, until it is reset.", alarm.alarm is not None)
    writer.gauge("drift_capital", "Betting capital of the drift alarm.", alarm.capital)
    writer.gauge("drift_capital_limit", "Betting capital at which the drift alarm is raised.", 1 / alarm.alpha)


# --- the text ---------------------------------------------------------------------------------------------------------


def _lines(family: MetricFamily, openmetrics: bool) -> Iterator[str]:
    name = family.name if openmetrics or family.kind != "counter" else f"{family.name}_total"
    yield f"# HELP {name} {_escaped(family.help, quotes=openmetrics)}"
    yield f"# TYPE {name} {family.kind}"
    for sample in family.samples:
        labels = ",".join(f'{label}="{_escaped(value)}"' for label, value in sample.labels.items())
        yield f"{family.name}{sample.suffix}{f'{{{labels}}}' if labels else ''} {_value(sample.value)}"


def _escaped(text: str, quotes: bool = True) -> str:
    text = NOT_IN_UTF8.sub("�", text).replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quotes else text


def _value(value: float) -> str:
    """Write a number: integers without a point, which both formats read exactly."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else _number(value)


def _number(value: float) -> str:
    """Write a number as a float, as the label `le` has to be."""
    return "+Inf" if value == math.inf else "-Inf" if value == -math.inf else repr(float(value))
