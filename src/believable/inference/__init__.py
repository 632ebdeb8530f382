"""Inference: noise floors, confidence intervals, tests, comparisons and subgroups."""

from believable.inference.compare import Comparison, compare
from believable.inference.cox_test import cox_test
from believable.inference.cumulative_tests import kolmogorov_smirnov_test, kuiper_test
from believable.inference.hosmer_lemeshow import hosmer_lemeshow
from believable.inference.interval import Interval, interval
from believable.inference.kernel_calibration_test import kernel_calibration_test
from believable.inference.noise_floor import NoiseFloor, noise_floor
from believable.inference.null import TestResult
from believable.inference.rows_needed import ExpectedPrecision, expected_precision, rows_needed
from believable.inference.safe_hosmer_lemeshow import EValue, safe_hosmer_lemeshow
from believable.inference.spiegelhalter import spiegelhalter
from believable.inference.subgroups import Subgroup, Subgroups, subgroups

__all__ = [
    "Comparison",
    "EValue",
    "ExpectedPrecision",
    "Interval",
    "NoiseFloor",
    "Subgroup",
    "Subgroups",
    "TestResult",
    "compare",
    "cox_test",
    "expected_precision",
    "hosmer_lemeshow",
    "interval",
    "kernel_calibration_test",
    "kolmogorov_smirnov_test",
    "kuiper_test",
    "noise_floor",
    "rows_needed",
    "safe_hosmer_lemeshow",
    "spiegelhalter",
    "subgroups",
]
