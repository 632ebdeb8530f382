"""The table of metrics: each entry holds the facts that the command line, report, docs and law tests read.

A metric has two halves: `counts(source, **options) -> statistic` reduces the data, and
`says(statistic, **options) -> value` computes the value from the statistic. The metric's function calls one after the
other. Resampling uses the halves separately: it counts once, then evaluates a thousand statistics in a single call.
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
    """Sampling variation of a metric of `ScoreSums`, for intervals and noise floors where the rows are gone.

    Attributes
    ----------
    mean_of : str
        The field of `ScoreSums` whose mean over rows is the metric, apart from a constant factor; "" if there is none.
    without_labels : bool
        Whether the metric ignores the outcomes.
    of_predicted : bool
        Whether only the predicted class matters, so that for a matrix the variance follows from the pairs (confidence,
        correct).
    is_share : bool
        Whether the metric is a share of rows, so that its interval is Wilson's.
    is_skill : bool
        Whether the metric is 1 minus a ratio of two losses, so that its interval is that of the ratio's logarithm.
    variance : callable, optional
        `sums -> float`: the variance for a multiclass matrix, from second moments of rows, if it is not that of a mean.
    by_chance : callable, optional
        `(sums, **options) -> (mean, variance)` under perfect calibration, with the options of `says`. The variance is
        None if it was not counted.
    """

    mean_of: str = ""
    without_labels: bool = False
    of_predicted: bool = False
    is_share: bool = False
    is_skill: bool = False
    variance: Callable[[ScoreSums], float] | None = None
    by_chance: Callable[..., tuple[float, float | None]] | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """Facts about a metric: its names, range, inputs and references.

    Attributes
    ----------
    name, alias : str
        The function's name, and a short name for the command line.
    function : callable
        The public function. It takes (predictions, actuals), a `Predictions`, or a statistic that holds enough, and
        calls `counts`, then `says`. Options that neither half takes apply to the rows themselves.
    counts, says : callable
        The two halves. `counts` takes a source and the options in its signature, and returns what `needs` names: a
        `ScoreSums`, a `BinStats`, a `PointStats`, or the pairs of rows that kernels compare. `says` takes that and the
        options in its own signature. For errors, and for metrics of bins, it works along the last axis, so that the
        leading axes can be replicates.
    needs : {"sums", "bins", "cells", "rows", "pairs"}
        The smallest input that suffices: `ScoreSums`, `BinStats`, `CellStats`, or the predictions themselves. "rows"
        stands for a weighted mean of scores of rows, which `counts` returns; "pairs" compares rows with each other.
    low, high, best : float
        The range, and the value of a perfect model; `best` is None if larger is neither better nor worse. It may lie
        inside the range, as 1 does for a slope.
    kinds : tuple of str
        The kinds of predictions for which the metric is defined.
    ordered : bool
        Whether the classes must be in order, from the lowest to the highest. Such a metric is computed only if it is
        named.
    repeats : bool
        Whether a row of weight 2 counts the same as two copies of the row (true of plug-in values).
    bins : str
        The default bins: "uniform", "quantile", "own" (chosen by the metric), or "" for a metric without bins.
    of : str
        The notion used for a matrix.
    power : float or None
        The degree to which the metric grows with the residuals, outcome minus score: 1 for errors, 2 for squared
        errors. Their intervals come from inverting a test, because the plug-in value is biased upwards near 0. None for
        other metrics, and for errors that can be 0 although one of a few bins is miscalibrated.
    in_halves : callable, optional
        `(source, options) -> options or None`, for options that neither half takes, such as `convention`: options of
        the halves with the same value on these rows, if there are any.
    proportional : bool
        Whether residuals twice as large make the error exactly 2^power times as large, unless rates stop at 0 and 1.
    fixed_point : str
        For a metric that is the fixed point of a norm of the residuals (smECE): the option that fixes the norm.
    signed_by : str
        The option that makes an error signed. Noise then no longer inflates it, and `power` does not apply.
    largest_gap : bool
        Whether the metric is the largest gap of any bin, whatever the norm.
    interval : callable, optional
        `(source, level, options, cluster) -> Estimate`, for a metric with its own kind of interval; None says that
        these data get the usual kind. `cluster` is the number of each row's cluster, or None.
    sums : SumFacts
        The sampling variation, for a metric of `ScoreSums`.
    spacing : {"uniform", "logit"}
        The grid of cells that suits the metric: "logit" if it uses logits, or the order of small scores.
    target : str
        The metric whose population value is estimated, if that is another one.
    reference : str
        The publication to cite.
    elsewhere : tuple of (str, str)
        Other libraries that compute this metric, or one of the same name, and how their value differs;
        `tests/oracle/verify_elsewhere.py` checks these claims.
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
    ordered: bool
    repeats: bool
    bins: str
    of: str
    power: float | None
    in_halves: Callable[[Any, Mapping[str, Any]], dict[str, Any] | None] | None
    proportional: bool
    fixed_point: str
    signed_by: str
    largest_gap: bool
    interval: Callable[..., Estimate | None] | None
    sums: SumFacts
    spacing: Spacing
    target: str
    reference: str
    elsewhere: tuple[tuple[str, str], ...]

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def direction(self) -> Literal["lower", "higher"] | None:
        """Direction that is better; None if there is none, as for a slope, which is best at 1."""
        return "lower" if self.best == self.low else "higher" if self.best == self.high else None

    @property
    def options(self) -> frozenset[str]:
        """Names of the function's options."""
        return _keywords(self.function) - {"predictions", "actuals", "sample_weight"}

    @property
    def defaults(self) -> dict[str, Any]:
        """Defaults of the function's options."""
        parameters = inspect.signature(self.function).parameters
        return {name: parameters[name].default for name in self.options}

    def counting(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that `counts` takes."""
        return {name: value for name, value in options.items() if name in _keywords(self.counts)}

    def saying(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that `says` takes."""
        return {name: value for name, value in options.items() if name in _keywords(self.says)}

    def is_halved(self, options: Mapping[str, Any]) -> bool:
        """Return whether the two halves take all these options; any other option applies to the rows themselves."""
        return set(options) <= _keywords(self.counts) | _keywords(self.says)

    def growth(self, options: Mapping[str, Any]) -> float | None:
        """Return `power`, or None if these options make the metric something other than an error."""
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
    ordered: bool = False,
    repeats: bool = True,
    bins: str = "",
    of: str = "",
    power: float | None = None,
    in_halves: Callable[[Any, Mapping[str, Any]], dict[str, Any] | None] | None = None,
    proportional: bool = True,
    fixed_point: str = "",
    signed_by: str = "",
    largest_gap: bool = False,
    interval: Callable[..., Estimate | None] | None = None,
    sums: SumFacts = SumFacts(),
    spacing: Spacing = "uniform",
    target: str = "",
    elsewhere: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Function], Function]:
    """Register a function in the table of metrics."""

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
            ordered=ordered,
            repeats=repeats,
            bins=bins,
            of=of,
            power=power,
            in_halves=in_halves,
            proportional=proportional,
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
    "kuiper": ("cutoff_calibration_error", "cutoff_error", "ecce_r"),
    "nll": ("log_loss", "logloss", "logarithmic_loss", "log_score", "cross_entropy", "crossentropy"),
    "oe": ("observed_to_expected_ratio", "o_e_ratio", "oe_ratio", "o_e"),
    "ordlog": ("ranked_ignorance_score", "ordinal_logarithmic_score"),
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
    """Return a metric's entry in the table, by its name, its alias, or what scikit-learn calls it.

    Capitals and spaces do not matter. A negated loss, such as scikit-learn's "neg_log_loss", is an error that names the
    loss: here it is not negated.

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
    raise InputError(f"there is no metric {name!r}{instead_of(name)}; choose from {known}")


def known_metric(name: Any) -> Metric | None:
    """Return a metric's entry by any of its names, or None."""
    return _by_any_name(len(METRICS)).get(plain_metric_name(name))


def instead_of(name: Any, others: Mapping[str, Metric] = MappingProxyType({})) -> str:
    """Suggest what was meant by an unknown name, as " (did you mean ece?)"; "" where nothing is like it.

    Parameters
    ----------
    name : str
        The unknown name.
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
    """Return a name in the form that names are compared in: lower case, words joined by underscores."""
    return re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_")


@cache
def _by_any_name(n_metrics: int) -> dict[str, Metric]:
    """Return every metric by every name; the argument makes the cache forget when a metric is added."""
    found = {called: row for row in METRICS.values() for called in (row.name, row.alias)}
    rows = {row.alias: row for row in METRICS.values()}
    for alias, names in SYNONYMS.items():
        if alias in rows:
            found |= {other: rows[alias] for other in names if other not in found}
    return found


# --- `Estimate`: a number that comes with its interval ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimate:
    """A fitted number with its confidence interval.

    Attributes
    ----------
    value : float
        The estimate; infinite where the fit diverges, for example when the classes are separable.
    low, high : float
        Ends of the confidence interval.
    level : float
        Confidence level of the interval.
    method : str
        How the interval was computed.
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
