"""Inference: noise floors, confidence intervals, tests, comparisons and subgroups."""

from believable.inference.compare import Comparison, compare
from believable.inference.cox_test import cox_test
from believable.inference.cumulative_tests import kolmogorov_smirnov_test, kuiper_test
from believable.inference.grouping_loss import GroupingLoss, grouping_loss
from believable.inference.hosmer_lemeshow import hosmer_lemeshow
from believable.inference.interval import Interval, interval
from believable.inference.kernel_calibration_test import kernel_calibration_test
from believable.inference.multicalibration import MulticalibrationError, multicalibration_error
from believable.inference.noise_floor import NoiseFloor, noise_floor
from believable.inference.null import TestResult
from believable.inference.rows_needed import ExpectedPrecision, expected_precision, rows_needed
from believable.inference.safe_hosmer_lemeshow import EValue, safe_hosmer_lemeshow
from believable.inference.segment_errors import SegmentErrors, segment_errors
from believable.inference.segments import Segment, Segments, find_segments
from believable.inference.spiegelhalter import spiegelhalter
from believable.inference.subgroups import Subgroup, Subgroups, subgroups

__all__ = [
    "Comparison",
    "EValue",
    "ExpectedPrecision",
    "GroupingLoss",
    "Interval",
    "MulticalibrationError",
    "NoiseFloor",
    "Segment",
    "SegmentErrors",
    "Segments",
    "Subgroup",
    "Subgroups",
    "TestResult",
    "compare",
    "cox_test",
    "expected_precision",
    "find_segments",
    "grouping_loss",
    "hosmer_lemeshow",
    "interval",
    "kernel_calibration_test",
    "kolmogorov_smirnov_test",
    "kuiper_test",
    "multicalibration_error",
    "noise_floor",
    "rows_needed",
    "safe_hosmer_lemeshow",
    "segment_errors",
    "spiegelhalter",
    "subgroups",
]
