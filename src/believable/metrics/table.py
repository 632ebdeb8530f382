"""The table of metrics: each carries its own facts, and the command line, report, docs and law tests read them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from believable._types import Kind, Needs, Spacing
from believable.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
ALL_KINDS: tuple[Kind, ...] = ("binary", "multiclass", "multilabel")


@dataclass(frozen=True, slots=True)
class Metric:
    """What is known about a metric besides its formula.

    Attributes
    ----------
    name, alias : str
        The function's name, and a short one for the command line.
    function : callable
        Takes (predictions, actuals), a `Predictions`, or a statistic it can be read from.
    needs : {"sums", "bins", "cells", "pairs"}
        The smallest thing it can be computed from: `ScoreSums`, `BinStats`, `CellStats`, or the predictions themselves.
    low, high, best : float
        Range, and the value of a perfect model; best is None where more is neither better nor worse. It may lie inside
        the range, as 1 does for a slope.
    kinds : tuple of str
        The predictions it is defined for.
    repeats : bool
        Whether a row of weight 2 is the same as the row twice (true of plug-in values).
    bins : str
        How its bins are made, unless asked otherwise: "uniform", "quantile", "own" (it chooses), or "" without bins.
    of : str
        The notion it has for a matrix.
    power : float or None
        The degree to which it grows with the residuals, outcomes less scores: 1 for errors, 2 for squared ones. Its
        interval is then made by inverting a test, because the plain value is too large near 0. None for other numbers.
    fixed_point : str
        The option that turns it into a plain norm of the residuals where it is the fixed point of one (smECE).
    spacing : {"uniform", "logit"}
        The grid of cells that it is best read from: "logit" where it looks at logits, or at the order of small scores.
    target : str
        The metric whose value in the population it estimates, if that is not its own.
    reference : str
    elsewhere : tuple of (str, str)
        Other libraries that compute it, or something of its name, and how that differs from this;
        `tests/oracle/verify_elsewhere.py` runs them.
    """

    name: str
    alias: str
    function: Callable[..., Any]
    needs: Needs
    low: float
    high: float
    best: float | None
    kinds: tuple[Kind, ...]
    repeats: bool
    bins: str
    of: str
    power: float | None
    fixed_point: str
    spacing: Spacing
    target: str
    reference: str
    elsewhere: tuple[tuple[str, str], ...]

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def direction(self) -> Literal["lower", "higher"] | None:
        """Which way is better; None where neither is, as for a slope, which is best at 1."""
        return "lower" if self.best == self.low else "higher" if self.best == self.high else None

    @property
    def options(self) -> frozenset[str]:
        """The names of the function's choices."""
        return frozenset(inspect.signature(self.function).parameters) - {"predictions", "actuals", "sample_weight"}


METRICS: dict[str, Metric] = {}


def metric(
    *,
    alias: str,
    needs: Needs,
    reference: str,
    low: float = 0.0,
    high: float = 1.0,
    best: float | None = 0.0,
    kinds: tuple[Kind, ...] = ALL_KINDS,
    repeats: bool = True,
    bins: str = "",
    of: str = "",
    power: float | None = None,
    fixed_point: str = "",
    spacing: Spacing = "uniform",
    target: str = "",
    elsewhere: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Function], Function]:
    """Enter a function into the table."""

    def enter(function: Function) -> Function:
        name = function.__name__
        METRICS[name] = Metric(
            name=name,
            alias=alias,
            function=function,
            needs=needs,
            low=low,
            high=high,
            best=best,
            kinds=kinds,
            repeats=repeats,
            bins=bins,
            of=of,
            power=power,
            fixed_point=fixed_point,
            spacing=spacing,
            target=target,
            reference=reference,
            elsewhere=tuple(elsewhere.items()),
        )
        return function

    return enter


def find_metric(name: str) -> Metric:
    """The row of a metric, by name or alias."""
    for row in METRICS.values():
        if name in (row.name, row.alias):
            return row
    known = ", ".join(f"{row.name} ({row.alias})" for row in METRICS.values())
    raise InputError(f"there is no metric {name!r}; known are {known}")


# --- `Estimate`: a number that comes with its interval ----------------------------------------------------------------


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
