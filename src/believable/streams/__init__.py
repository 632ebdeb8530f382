"""Streams: count calibration batch by batch, follow it over time, and raise an alarm on drift."""

from believable.streams.drift import Drift, DriftAlarm
from believable.streams.history import History, Window
from believable.streams.meter import CalibrationMeter
from believable.streams.monitor import CalibrationMonitor
from believable.streams.prometheus import MetricFamily, Sample, metric_families, prometheus_text

__all__ = [
    "CalibrationMeter",
    "CalibrationMonitor",
    "Drift",
    "DriftAlarm",
    "History",
    "MetricFamily",
    "Sample",
    "Window",
    "metric_families",
    "prometheus_text",
]
