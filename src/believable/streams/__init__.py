"""Streams: calibration counted batch by batch, watched over time, with an alarm that may be looked at every time."""

from believable.streams.drift import Drift, DriftAlarm
from believable.streams.history import History, Window
from believable.streams.meter import CalibrationMeter
from believable.streams.monitor import CalibrationMonitor

__all__ = ["CalibrationMeter", "CalibrationMonitor", "Drift", "DriftAlarm", "History", "Window"]
