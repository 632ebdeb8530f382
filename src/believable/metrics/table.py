"""The table of metrics: each carries its own facts, and the command line, report, docs and law tests read them.

A metric has two halves: what it counts, `counts(source, **options) -> statistic`, and what it says of that,
`says(statistic, **options) -> value`. Its function is the second after the first. What resamples takes them apart: it
counts once, and asks a stack of a thousand statistics with one call.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from believable._types import Kind, Needs, Spacing
from believable.errors import InputError
from believable.stats import ScoreSums

Function = TypeVar("Function", bound=Callable[..., Any])
ALL_KINDS: tuple[Kind, ...] = ("binary", "multiclass", "multilabel")


@dataclass(frozen=True, slots=True)
class SumFacts:
    """How a metric of `ScoreSums` varies: what its intervals and floors are made from where the rows are gone.

    Attributes
    ----------
    mean_of : str
        The field of `ScoreSums` whose mean over rows it is, up to a constant factor; "" for others.
    without_labels : bool
        Whether outcomes do not enter it.
    of_predicted : bool
        Whether it is about the predicted class alone, so that of a matrix the pairs (confidence, correct) say how it
        varies.
    variance : callable, optional
        `sums -> float`: its variance for a multiclass matrix, from second moments of rows, if it is not that of a mean.
    by_chance : callable, optional
        `(sums, **options) -> (mean, variance)` that calibrated rows would have, with the options of `says`; None for a
        variance that was not counted.
    """

    mean_of: str = ""
    without_labels: bool = False
    of_predicted: bool = False
    variance: Callable[[ScoreSums], float] | None = None
    by_chance: Callable[..., tuple[float, float | None]] | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """What is known about a metric besides its formula.

    Attributes
    ----------
    name, alias : str
        The function's name, and a short one for the command line.
    function : callable
        Takes (predictions, actuals), a `Predictions`, or a statistic it can be read from, and is `says` after `counts`;
        options that neither half takes are about the rows themselves.
    counts, says : callable
        The two halves. `counts` takes a source and the options in its signature, and returns what `needs` says: a
        `ScoreSums`, a `BinStats`, a `PointStats`, or the pairs of rows that kernels compare. `says` takes that and the
        options in its own signature; that of an error, and of what reads bins, works along the last axis, so that
        leading ones may be replicates.
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
        interval is then made by inverting a test, because the plain value is too large near 0. None for other numbers,
        and for errors that can be 0 where scores are not calibrated.
    fixed_point : str
        The option that turns it into a plain norm of the residuals where it is the fixed point of one (smECE).
    signed_by : str
        The option that makes an error signed, so that chance does not add to it, and `power` is not about it.
    largest_gap : bool
        Whether it is the largest gap of any bin, whatever the norm.
    interval : callable, optional
        `(predictions, level, options) -> (low, high, estimate)`, for a metric that brings its own interval.
    sums : SumFacts
        How it varies, for a metric of `ScoreSums`.
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
    counts: Callable[..., Any]
    says: Callable[..., Any]
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
    signed_by: str
    largest_gap: bool
    interval: Callable[..., tuple[float, float, float]] | None
    sums: SumFacts
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
        return _keywords(self.function) - {"predictions", "actuals", "sample_weight"}

    def counting(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that say what is counted."""
        return {name: value for name, value in options.items() if name in _keywords(self.counts)}

    def saying(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that say what is read from it."""
        return {name: value for name, value in options.items() if name in _keywords(self.says)}

    def is_halved(self, options: Mapping[str, Any]) -> bool:
        """Whether the halves answer all that is asked: an option that neither takes is about the rows themselves."""
        return set(options) <= _keywords(self.counts) | _keywords(self.says)

    def growth(self, options: Mapping[str, Any]) -> float | None:
        """`power`, if it is an error with these options too."""
        return None if not self.is_halved(options) or options.get(self.signed_by) else self.power


@cache
def _keywords(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


METRICS: dict[str, Metric] = {}


def metric(
    *,
    alias: str,
    counts: Callable[..., Any],
    says: Callable[..., Any],
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
    signed_by: str = "",
    largest_gap: bool = False,
    interval: Callable[..., tuple[float, float, float]] | None = None,
    sums: SumFacts = SumFacts(),  # noqa: B008 - a value
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
            counts=counts,
            says=says,
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
            signed_by=signed_by,
            largest_gap=largest_gap,
            interval=interval,
            sums=sums,
            spacing=spacing,
            target=target,
            reference=reference,
            elsewhere=tuple(elsewhere.items()),
        )
        return function

    return enter


# What other packages call the metrics of the table, scikit-learn's functions and scorers above all; by alias.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "acc": ("accuracy_score", "top_1_accuracy"),
    "auc": ("roc_auc", "roc_auc_score", "auroc", "c_statistic", "area_under_the_curve"),
    "brier": ("brier_score_loss", "brier_loss"),
    "bss": ("brier_skill", "d2_brier_score"),
    "nll": ("log_loss", "logloss", "logarithmic_loss", "log_score", "cross_entropy", "crossentropy"),
    "oe": ("observed_to_expected_ratio", "o_e_ratio", "oe_ratio", "o_e"),
    "slope": ("calibration_slope", "calibration_intercept"),
    "smece": ("smooth_ece",),
}
NEAREST_TO_OTHERS = {  # metrics that the table does not have, and what it has for the same question
    "auc": ("average_precision", "average_precision_score", "pr_auc", "auprc"),
    "acc": ("balanced_accuracy", "balanced_accuracy_score", "f1", "f1_score", "top_k_accuracy"),
    "bss": ("d2_log_loss_score",),
}
NEGATED = "neg_"  # how scikit-learn's scorers of losses begin


def find_metric(name: str) -> Metric:
    """The row of a metric, by its name, its alias, or what scikit-learn calls it; capitals and spaces do not matter.

    A negated loss, such as scikit-learn's "neg_log_loss", is an error that names the loss: here it is not negated.

    Examples
    --------
    >>> find_metric("log loss").name, find_metric("roc_auc").name, find_metric("ECE").alias
    ('negative_log_likelihood', 'auc', 'ece')
    """
    for row in METRICS.values():
        if name in (row.name, row.alias):
            return row
    if (found := known_metric(name)) is not None:
        return found
    known = ", ".join(f"{row.name} ({row.alias})" for row in METRICS.values())
    raise InputError(f"there is no metric {name!r}{instead_of(name)}; known are {known}")


def known_metric(name: Any) -> Metric | None:
    """The row of a metric by any of its names; None where it has none."""
    return _by_any_name(len(METRICS)).get(plain_metric_name(name))


def instead_of(name: Any, others: Mapping[str, Metric] = MappingProxyType({})) -> str:
    """What was meant by a name that is not known, as " (did you mean ece?)"; "" where nothing is like it.

    Parameters
    ----------
    name : str
    others : mapping of str to Metric
        Further names of metrics, as `plain_metric_name` writes them.
    """
    plain, known = plain_metric_name(name), {**others, **_by_any_name(len(METRICS))}
    loss = known.get(plain.removeprefix(NEGATED))
    if plain.startswith(NEGATED) and loss is not None:
        better = f", for which {loss.direction} is better here" if loss.direction else ""
        return f": use {plain.removeprefix(NEGATED)!r}{better}"
    for alias, names in NEAREST_TO_OTHERS.items():
        if plain in names:
            return f" (the nearest is {alias})"
    close = get_close_matches(plain, known, n=1, cutoff=0.6)
    return f" (did you mean {known[close[0]].alias}?)" if close else ""


def plain_metric_name(name: Any) -> str:
    """A name as names are compared: small letters, with one underscore for all that is no letter or digit."""
    return re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_")


@cache
def _by_any_name(n_metrics: int) -> dict[str, Metric]:
    """Every row by every name; made anew when a metric was entered."""
    found = {called: row for row in METRICS.values() for called in (row.name, row.alias)}
    rows = {row.alias: row for row in METRICS.values()}
    for alias, names in SYNONYMS.items():
        if alias in rows:
            found |= {other: rows[alias] for other in names if other not in found}
    return found


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
