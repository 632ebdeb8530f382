"""Calibration curves: the observed frequency as a function of the score."""

from believable.curves.binned import ReliabilityTable, binned_curve, calibration_curve, reliability_table
from believable.curves.corp import corp_curve
from believable.curves.curve import Curve
from believable.curves.logistic import logistic_calibration_curve
from believable.curves.smoothed import kernel_calibration_curve, smoothed_calibration_curve

__all__ = [
    "Curve",
    "ReliabilityTable",
    "binned_curve",
    "calibration_curve",
    "corp_curve",
    "kernel_calibration_curve",
    "logistic_calibration_curve",
    "reliability_table",
    "smoothed_calibration_curve",
]
