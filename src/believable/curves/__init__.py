"""Curves: how often things happened, as a function of the score."""

from believable.curves.binned import ReliabilityTable, binned_curve, calibration_curve, reliability_table
from believable.curves.curve import Curve

__all__ = ["Curve", "ReliabilityTable", "binned_curve", "calibration_curve", "reliability_table"]
