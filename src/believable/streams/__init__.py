"""Streams: count calibration batch by batch, follow it over time, and raise an alarm on drift."""

from believable.streams.drift import Drift, DriftAlarm
from believable.streams.history import History, Window
from believable.streams.meter import CalibrationMeter
from believable.streams.monitor import CalibrationMonitor

__all__ = ["CalibrationMeter", "CalibrationMonitor", "Drift", "DriftAlarm", "History", "Window"]
