"""Inference: what chance alone would show, intervals that cover, tests that hold their level."""

from believable.inference._result import TestResult

__all__ = ["TestResult"]
