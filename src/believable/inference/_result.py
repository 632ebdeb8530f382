"""`TestResult`: what every test of calibration returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TestResult:
    """A test of the hypothesis that the scores are calibrated: outcomes happen at the rates of the scores.

    Attributes
    ----------
    statistic : float
    p_value : float
        Probability of a statistic at least as extreme if the scores are calibrated.
    df : float or None
        Degrees of freedom, where the reference distribution has any.
    n : int
        Rows.
    method : str
        Where the p-value comes from.
    """

    statistic: float
    p_value: float
    df: float | None
    n: int
    method: str

    __test__ = False  # not a class of tests

    def __str__(self) -> str:
        df = "" if self.df is None else f", df {self.df:g}"
        return f"statistic {self.statistic:.4g}{df}, p = {self.p_value:.3g} (n = {self.n:,}, {self.method})"

    __repr__ = __str__
