"""`Estimate`: a number that comes with its interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A fitted number and how well it is known.

    Attributes
    ----------
    value : float
        Infinite where the fit runs off to infinity (separable data, say).
    low, high : float
        Its confidence interval.
    level : float
        The level of the interval.
    method : str
        How the interval was made.
    """

    value: float
    low: float
    high: float
    level: float
    method: str

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4g}, {100 * self.level:.4g} % interval {self.low:.4g} … {self.high:.4g}"
